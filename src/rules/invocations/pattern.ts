/**
 * Patterns of policies: the regular part of regular expressions, matched in linear time. Invariant: what a pattern costs is bounded by
 * its size times the length of the text, whatever both are, since all ways to match are walked at once and never one after the other.
 *
 * Read are literals, `.`, classes such as `[a-z_]` and `[^0-9]`, `\d \w \s \D \W \S`, groups, `|`, `? * + {n} {n,} {n,m}`, `^` and `$`.
 * They mean what they mean to JavaScript's `RegExp` with the flag `u`. References and look-around are not regular, and refused.
 */
import { Refusal } from '../refusal';
import { parsePattern, type Char, type PatternNode } from './pattern-syntax';

/** Most steps of a program: a repetition is written out. */
const MOST_STEPS = 1_000;
/** Most parts that are written out, those that cost no step among them. */
const MOST_PARTS = 20_000;
const LONGEST_PATTERN = 500;

type Step =
  | { readonly op: 'char'; readonly char: Char }
  /** Both ways are walked. */
  | { readonly op: 'split'; readonly next: readonly number[] }
  | { readonly op: 'start' | 'end' | 'match' };

export interface Pattern {
  /** Whether the pattern is found anywhere in the text; `^` and `$` tie it to the ends. */
  test(text: string): boolean;
}

/** Throws a `Refusal` `invalid_policy` that names `field`. */
export function compilePattern(source: string, field: string): Pattern {
  const refuse = (reason: string): never => {
    throw new Refusal('invalid_policy', reason, field);
  };
  if (source.length > LONGEST_PATTERN) return refuse(`is longer than ${LONGEST_PATTERN} characters`);
  const steps = new Program(() => refuse(`needs more than ${MOST_STEPS} steps; use smaller repetitions`));
  steps.write(parsePattern(source, refuse));
  steps.add({ op: 'match' });
  return { test: (text) => isFound(steps.steps, [...text]) };
}

/** A pattern as steps that follow one another, with forks. */
class Program {
  readonly steps: Step[] = [];
  private parts = 0;

  constructor(private readonly tooLarge: () => never) {}

  add(step: Step): number {
    if (this.steps.length >= MOST_STEPS) this.tooLarge();
    return this.steps.push(step) - 1;
  }

  write(node: PatternNode): void {
    this.parts += 1;
    if (this.parts > MOST_PARTS) this.tooLarge();
    switch (node.kind) {
      case 'char':
        this.add({ op: 'char', char: node.char });
        return;
      case 'start':
      case 'end':
        this.add({ op: node.kind });
        return;
      case 'sequence':
        for (const part of node.parts) this.write(part);
        return;
      case 'either':
        return this.fork(node.ways);
      case 'repeat':
        return this.repeat(node.of, node.least, node.most);
    }
  }

  private fork(ways: readonly PatternNode[]): void {
    const split = this.add({ op: 'split', next: [] });
    const begins: number[] = [];
    const leaves: number[] = [];
    for (const way of ways) {
      begins.push(this.steps.length);
      this.write(way);
      leaves.push(this.add({ op: 'split', next: [] }));
    }
    this.steps[split] = { op: 'split', next: begins };
    for (const leave of leaves) this.steps[leave] = { op: 'split', next: [this.steps.length] };
  }

  private repeat(of: PatternNode, least: number, most: number): void {
    for (let times = 0; times < least; times += 1) this.write(of);
    if (most === Infinity) {
      const split = this.add({ op: 'split', next: [] });
      this.write(of);
      this.add({ op: 'split', next: [split] });
      this.steps[split] = { op: 'split', next: [split + 1, this.steps.length] };
      return;
    }
    const splits: number[] = [];
    for (let times = least; times < most; times += 1) {
      splits.push(this.add({ op: 'split', next: [] }));
      this.write(of);
    }
    for (const split of splits) this.steps[split] = { op: 'split', next: [split + 1, this.steps.length] };
  }
}

/** Walks the text once; at each character, all steps that can be reached are known. */
function isFound(steps: readonly Step[], text: readonly string[]): boolean {
  let reached: number[] = [];
  for (let index = 0; index <= text.length; index += 1) {
    const here = new Set<number>();
    // A match may begin at every place.
    if (follow(steps, [...reached, 0], here, index === 0, index === text.length)) return true;
    const point = text[index]?.codePointAt(0);
    if (point === undefined) return false;
    reached = [];
    for (const at of here) {
      const step = steps[at];
      if (step?.op === 'char' && step.char(point)) reached.push(at + 1);
    }
  }
  return false;
}

/** Adds all that is reached without a character; true when that is a match. */
function follow(
  steps: readonly Step[],
  from: readonly number[],
  here: Set<number>,
  atStart: boolean,
  atEnd: boolean,
): boolean {
  const open = [...from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (here.has(at)) continue;
    here.add(at);
    const step = steps[at] as Step;
    if (step.op === 'match') return true;
    if (step.op === 'split') open.push(...step.next);
    if ((step.op === 'start' && atStart) || (step.op === 'end' && atEnd)) open.push(at + 1);
  }
  return false;
}
