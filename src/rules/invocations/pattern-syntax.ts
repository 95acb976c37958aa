/**
 * The syntax of patterns. Invariant: a pattern is read as JavaScript's `RegExp` reads it under the flag `u`, or it is refused; nothing
 * is taken to mean something else.
 */

/** Whether a character, by its code point, is one of those that are meant. */
export type Char = (point: number) => boolean;

export type PatternNode =
  | { readonly kind: 'char'; readonly char: Char }
  | { readonly kind: 'start' | 'end' }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'either'; readonly ways: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly of: PatternNode; readonly least: number; readonly most: number };

type Refuse = (reason: string) => never;

const MOST_TIMES = 500;
const MOST_GROUPS = 50;
const NEWLINES = '\n\r\u2028\u2029';
const SPACES =
  ' \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

const among = (texts: string): Char => {
  const points = new Set([...texts].map(pointOf));
  return (point) => points.has(point);
};
const between =
  (first: number, last: number): Char =>
  (point) =>
    point >= first && point <= last;
const not =
  (char: Char): Char =>
  (point) =>
    !char(point);
const either =
  (chars: readonly Char[]): Char =>
  (point) =>
    chars.some((char) => char(point));

const DIGIT = between(0x30, 0x39);
const SPACE = among(SPACES);
const WORD = either([DIGIT, between(0x41, 0x5a), between(0x61, 0x7a), among('_')]);
const CLASSES: Readonly<Record<string, Char>> = {
  d: DIGIT,
  D: not(DIGIT),
  s: SPACE,
  S: not(SPACE),
  w: WORD,
  W: not(WORD),
};
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', v: '\v', f: '\f' };
const SYNTAX = '^$\\.*+?()[]{}|/';

export function parsePattern(source: string, refuse: Refuse): PatternNode {
  const reader = new Reader([...source], refuse);
  const node = reader.either(0);
  return reader.isDone ? node : refuse('has a ")" that closes nothing');
}

class Reader {
  private at = 0;

  constructor(
    private readonly text: readonly string[],
    private readonly refuse: Refuse,
  ) {}

  get isDone(): boolean {
    return this.at >= this.text.length;
  }

  either(depth: number): PatternNode {
    if (depth > MOST_GROUPS) this.refuse(`nests more than ${MOST_GROUPS} groups`);
    const ways = [this.sequence(depth)];
    while (this.takes('|')) ways.push(this.sequence(depth));
    return ways.length === 1 ? (ways[0] as PatternNode) : { kind: 'either', ways };
  }

  private sequence(depth: number): PatternNode {
    const parts: PatternNode[] = [];
    while (!this.isDone && this.next !== '|' && this.next !== ')') parts.push(this.repeated(depth));
    return { kind: 'sequence', parts };
  }

  private repeated(depth: number): PatternNode {
    const of = this.atom(depth);
    const times = this.times();
    if (times === null) return of;
    if (of.kind === 'start' || of.kind === 'end') this.refuse('repeats an end of the text');
    // A shortest match is found where a longest is.
    this.takes('?');
    if (this.times() !== null) this.refuse('repeats a repetition');
    return { kind: 'repeat', of, ...times };
  }

  private times(): { least: number; most: number } | null {
    if (this.takes('*')) return { least: 0, most: Infinity };
    if (this.takes('+')) return { least: 1, most: Infinity };
    if (this.takes('?')) return { least: 0, most: 1 };
    if (!this.takes('{')) return null;
    const least = this.number() ?? this.refuse('has a "{" that is no repetition; write \\{');
    const most = this.takes(',') ? (this.number() ?? Infinity) : least;
    if (!this.takes('}') || most < least) this.refuse('has a repetition that is not {n}, {n,} or {n,m}');
    if (least > MOST_TIMES || (most !== Infinity && most > MOST_TIMES)) {
      this.refuse(`repeats something more than ${MOST_TIMES} times`);
    }
    return { least, most };
  }

  private atom(depth: number): PatternNode {
    const char = this.take();
    switch (char) {
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '.':
        return { kind: 'char', char: not(among(NEWLINES)) };
      case '(':
        return this.group(depth);
      case '[':
        return { kind: 'char', char: this.set() };
      case '\\':
        return { kind: 'char', char: this.escaped(SYNTAX) };
      default:
        if ('*+?{}]'.includes(char)) this.refuse(`has a "${char}" that follows nothing; write \\${char}`);
        return { kind: 'char', char: among(char) };
    }
  }

  private group(depth: number): PatternNode {
    if (this.takes('?') && !this.takes(':'))
      this.refuse('has a group that looks around or is named; only (…) and (?:…) are read');
    const node = this.either(depth + 1);
    return this.takes(')') ? node : this.refuse('has a "(" that is not closed');
  }

  private set(): Char {
    const negated = this.takes('^');
    const chars: Char[] = [];
    while (!this.takes(']')) {
      const first = this.member();
      if (typeof first === 'number' && this.next === '-' && this.text[this.at + 1] !== ']') {
        this.take();
        const last = this.member();
        if (typeof last !== 'number' || last < first) return this.refuse('has a range in [] that is none');
        chars.push(between(first, last));
      } else {
        if (typeof first !== 'number' && this.next === '-' && this.text[this.at + 1] !== ']') {
          return this.refuse('has a range in [] that is none');
        }
        chars.push(typeof first === 'number' ? between(first, first) : first);
      }
    }
    return negated ? not(either(chars)) : either(chars);
  }

  private member(): number | Char {
    const char = this.take();
    if (char !== '\\') return pointOf(char);
    const next = this.next ?? '';
    if (next in CLASSES) return this.escaped(SYNTAX);
    return this.escapedPoint(`${SYNTAX}-`);
  }

  private escaped(plain: string): Char {
    const known = CLASSES[this.next ?? ''];
    if (known === undefined) {
      const point = this.escapedPoint(plain);
      return between(point, point);
    }
    this.take();
    return known;
  }

  private escapedPoint(plain: string): number {
    const char = this.take();
    if (plain.includes(char)) return pointOf(char);
    const control = CONTROLS[char];
    return control === undefined
      ? this.refuse('has an escape that is not read; references are not regular')
      : pointOf(control);
  }

  private number(): number | null {
    let digits = '';
    while (this.next !== undefined && /^[0-9]$/.test(this.next)) digits += this.take();
    return digits === '' ? null : Number(digits);
  }

  private get next(): string | undefined {
    return this.text[this.at];
  }

  private takes(char: string): boolean {
    if (this.next !== char) return false;
    this.at += 1;
    return true;
  }

  private take(): string {
    const char = this.next ?? this.refuse('ends too early');
    this.at += 1;
    return char;
  }
}

function pointOf(char: string): number {
  return char.codePointAt(0) as number;
}
