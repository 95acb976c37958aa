/**
 * What the command line of a bench asks for. Invariant: a bench measures what was asked for, or nothing: what it does not know is refused
 * in one sentence, with exit code 2.
 */
import { parseArgs } from 'node:util';

/** What a bench knows; positional arguments come in this order, the numbers first. */
export interface Known<Flag extends string, Choice extends string, Count extends string> {
  readonly flags?: readonly Flag[];
  /** Options with a value, by the values that they may have. */
  readonly choices?: Readonly<Record<Choice, readonly string[]>>;
  /** Whole numbers from 1, by what they are where they are not given. */
  readonly counts?: Readonly<Record<Count, number>>;
  /** One text behind the numbers, as a folder. */
  readonly text?: string;
}

export interface Asked<Flag extends string, Choice extends string, Count extends string> {
  readonly has: (flag: Flag) => boolean;
  readonly choices: Readonly<Partial<Record<Choice, string>>>;
  readonly counts: Readonly<Record<Count, number>>;
  readonly text: string | null;
}

export class Misuse extends Error {
  override readonly name = 'Misuse';
}

export function readArguments<Flag extends string, Choice extends string = never, Count extends string = never>(
  args: readonly string[],
  known: Known<Flag, Choice, Count>,
): Asked<Flag, Choice, Count> {
  const { flags = [], choices = {} as Record<Choice, readonly string[]>, counts = {} as Record<Count, number> } = known;
  const names = Object.keys(choices) as Choice[];
  const places = Object.keys(counts) as Count[];
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries([
      ...flags.map((flag) => [flag, { type: 'boolean' as const }] as const),
      ...names.map((name) => [name, { type: 'string' as const }] as const),
    ]),
    ...{ strict: false, allowPositionals: true, tokens: true },
  });
  const set = new Set<string>();
  const chosen: Partial<Record<Choice, string>> = {};
  const given: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') given.push(token.value);
    if (token.kind !== 'option') continue;
    const name = names.find((one) => one === token.name);
    if (name !== undefined) chosen[name] = choiceOf(name, choices[name], token.value);
    else if (!flags.some((flag) => token.rawName === `--${flag}`)) {
      throw new Misuse(`${token.rawName} is no option of this bench; it has ${listed(flags, names)}.`);
    } else if (token.value !== undefined) throw new Misuse(`${token.rawName} takes no value.`);
    set.add(token.name);
  }
  const most = places.length + (known.text === undefined ? 0 : 1);
  const extra = given[most];
  if (extra !== undefined) {
    const takes = [...places, ...(known.text === undefined ? [] : [known.text])].map((place) => `[${place}]`).join(' ');
    throw new Misuse(`"${extra}" is one argument too many; this bench takes ${takes === '' ? 'options only' : takes}.`);
  }
  return {
    has: (flag) => set.has(flag),
    choices: chosen,
    counts: Object.fromEntries(
      places.map((place, at) => [place, given[at] === undefined ? counts[place] : countOf(place, given[at])]),
    ) as Record<Count, number>,
    text: given[places.length] ?? null,
  };
}

/** The same of this process, which ends here where it was asked for something else. */
export function askedFor<Flag extends string, Choice extends string = never, Count extends string = never>(
  known: Known<Flag, Choice, Count>,
): Asked<Flag, Choice, Count> {
  try {
    return readArguments(process.argv.slice(2), known);
  } catch (fault) {
    if (!(fault instanceof Misuse)) throw fault;
    process.stderr.write(`${fault.message}\n`);
    process.exit(2);
  }
}

function choiceOf(name: string, values: readonly string[], value: string | undefined): string {
  if (value !== undefined && values.includes(value)) return value;
  const found = value === undefined ? 'nothing' : `"${value}"`;
  throw new Misuse(`--${name} is ${values.join(' or ')}, and was given ${found}.`);
}

function countOf(place: string, text: string): number {
  const number = Number(text);
  if (/^[0-9]+$/.test(text) && Number.isSafeInteger(number) && number >= 1) return number;
  throw new Misuse(`[${place}] is a whole number from 1, and was given "${text}".`);
}

function listed(flags: readonly string[], choices: readonly string[]): string {
  const all = [...flags.map((flag) => `--${flag}`), ...choices.map((choice) => `--${choice} <value>`)];
  return all.length === 0 ? 'none' : all.join(', ');
}
