/**
 * One row of a vectors folder, and what became of it. Invariant: a row that was not really run never counts as passed.
 */
import { RecoveryError } from '../../src/rules/recovery';

export interface RowResult {
  /** File within the folder, such as `decisions.json`. */
  readonly file: string;
  readonly id: string;
  readonly tags: readonly string[];
  readonly outcome: 'passed' | 'failed';
  /** For a failed row: expected and actual answer, in one line. */
  readonly detail?: string;
}

/** A module that runs rows of one vectors file, given its parsed content. It needs no platform: a sandbox can run it. */
export interface PureRowModule {
  check(content: unknown): Iterable<RowResult>;
}

/** A module that runs rows which need files. */
export interface FolderRowModule {
  run(folder: string): AsyncIterable<RowResult> | Iterable<RowResult> | Promise<Iterable<RowResult>>;
}

/** What every row has. */
export interface RowHead {
  readonly id: string;
  readonly tags: readonly string[];
  readonly error?: string;
}

/** The answer to a row: some named texts, or the one refusal. `undefined` parts are left out of the comparison. */
export type Answer = Readonly<Record<string, unknown>>;

/** Runs one row. When it has an `error`, that exact refusal is expected, else every part of `expected`. */
export function judge(file: string, row: RowHead, expected: Answer, run: () => Answer): RowResult {
  const wanted = row.error === undefined ? expected : { error: row.error };
  return compare(file, row, wanted, answerOf(run));
}

export function answerOf(run: () => Answer): Answer {
  try {
    return run();
  } catch (fault) {
    return { error: textOf(fault) };
  }
}

export function compare(file: string, row: RowHead, wanted: Answer, actual: Answer): RowResult {
  const head = { file, id: row.id, tags: row.tags };
  const [left, right] = [spell(wanted), spell(actual)];
  return left === right
    ? { ...head, outcome: 'passed' }
    : { ...head, outcome: 'failed', detail: `expected ${brief(left)}, got ${brief(right)}` };
}

/** The text of a refusal. Any other error is a fault of ours, and no row expects one. */
export function textOf(fault: unknown): string {
  if (fault instanceof RecoveryError) return fault.message;
  return `unexpected ${fault instanceof Error ? `${fault.name}: ${fault.message}` : String(fault)}`;
}

function spell(answer: Answer): string {
  const parts = Object.entries(answer).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(parts.sort(([left], [right]) => (left < right ? -1 : 1))));
}

function brief(text: string): string {
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}
