/**
 * What a command says. Invariant: with `--json` standard output holds exactly one line, one object; without it people read
 * lines. Neither holds contents but where their store is named, errors never do; they go to standard error unless they are the JSON answer.
 */
import { EXIT, type ExitName } from './exit-codes';
import { exitCode, type Failure } from './failure';

export const PROGRAM = 'countersign';

/** Where output goes, so that tests can listen. */
export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** What a command came to. A failure may still have data: what is known of a parked plan, for instance. */
export interface Answer {
  readonly data?: unknown;
  /** For people; printed after everything that was said on the way. */
  readonly lines?: readonly string[];
  readonly failure?: Failure;
  /** @default `done`, or that of the failure */
  readonly exit?: ExitName;
  /** With `--json`, the one object in place of ours: a contract of its own. */
  readonly document?: object;
}

export class Output {
  constructor(
    private readonly streams: Streams,
    readonly json: boolean,
  ) {}

  /** A line of progress for people. */
  say(line: string): void {
    if (!this.json) this.streams.out(`${line}\n`);
  }

  finish(command: string, answer: Answer): number {
    const { failure } = answer;
    const exit = failure === undefined ? EXIT[answer.exit ?? 'done'] : exitCode(failure);
    if (this.json) {
      if (answer.document !== undefined) {
        this.streams.out(`${JSON.stringify(answer.document)}\n`);
        return exit;
      }
      const data = answer.data === undefined ? {} : { data: snakeCased(answer.data) };
      const error = failure === undefined ? {} : { error: errorOf(failure) };
      this.streams.out(`${JSON.stringify({ ok: failure === undefined, command, ...data, ...error })}\n`);
      return exit;
    }
    for (const line of answer.lines ?? []) this.streams.out(`${line}\n`);
    if (failure !== undefined) {
      const name = command === PROGRAM ? PROGRAM : `${PROGRAM} ${command}`;
      this.streams.err(`${name}: ${failure.code}: ${failure.message}\n`);
    }
    return exit;
  }
}

/** A value whose names are not ours to change. */
export class AsGiven {
  constructor(readonly value: unknown) {}
}

function errorOf({ code, message, field }: Failure): Record<string, string> {
  return field === null ? { code, message } : { code, message, field };
}

/** Names on the wire are snake_case. */
function snakeCased(value: unknown): unknown {
  if (value instanceof AsGiven) return value.value;
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? value.toString() : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snakeCased(item),
    ]),
  );
}

export function counted(count: number, thing: string, things = `${thing}s`): string {
  return `${count} ${count === 1 ? thing : things}`;
}

/** Rows as aligned columns. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
