/**
 * The records of one verification run in the journal. Invariant: a record is created once, behind those that it is chained to, and only
 * where the run could have come to it; what stands there otherwise is refused, never replaced.
 *
 *   <run>/lifecycle/<20-digit sequence>.json
 */
import type { CreateOutcome } from '../ports';
import { Refusal } from '../rules/refusal';
import { lifecycleFromBytes, lifecycleToText } from '../rules/verification/lifecycle-record';
import type { LifecycleEvent, LifecycleRecord } from '../rules/verification/lifecycle-record';
import { RunBook } from '../rules/verification/run-book';
import { entry, type Entries, type Entry } from './entries';

export const LIFECYCLE_FOLDER = 'lifecycle';
const DIGITS = 20;
/** Records that are read at once. */
const SIDE_BY_SIDE = 32;

export function lifecycleName(sequence: number): string {
  return `${String(sequence).padStart(DIGITS, '0')}.json`;
}

export class RunFiles {
  private readonly folder: string;

  constructor(
    private readonly entries: Entries,
    private readonly runId: string,
  ) {
    this.folder = `${runId}/${LIFECYCLE_FOLDER}`;
  }

  /** All of it. Throws `journal_invalid` for what does not follow. */
  async book(journalId: string): Promise<RunBook> {
    const book = new RunBook(this.runId, journalId);
    const names = await this.entries.list(this.folder);
    for (let at = 0; at < names.length; at += SIDE_BY_SIDE) {
      const some = names.slice(at, at + SIDE_BY_SIDE);
      const records = await Promise.all(some.map((name) => this.read(`${this.folder}/${name}`)));
      for (const [index, record] of records.entries()) this.take(book, some[index] ?? '', record);
    }
    return book;
  }

  /** With what opened the run, and nothing else; empty where nothing has. */
  async opening(journalId: string): Promise<RunBook> {
    const book = new RunBook(this.runId, journalId);
    const record = await this.read(this.pathOf(1));
    if (record !== null) this.take(book, lifecycleName(1), record);
    return book;
  }

  /** False: something else stands in its place, and the book is of no use any more. */
  async append(book: RunBook, event: LifecycleEvent): Promise<boolean> {
    const record = book.draft(event);
    book.accept(record);
    return (await this.place(record)) !== 'conflict';
  }

  /** Throws `journal_conflict` where something else stands in the record's place. */
  async refuseOther(record: LifecycleRecord): Promise<void> {
    const path = this.pathOf(record.sequence);
    const bytes = await this.entries.bytes(path);
    if (bytes === null || new TextDecoder().decode(bytes) === lifecycleToText(record)) return;
    throw new Refusal('journal_conflict', 'is another in the target than in what would be placed there', path);
  }

  /** Of a history that was judged as a whole; its first record last. Answers how many were not there. */
  async placeAll(records: readonly LifecycleRecord[]): Promise<number> {
    const [first, ...others] = records.map((one): Entry => [this.pathOf(one.sequence), lifecycleToText(one)]);
    const entries = [...others, ...(first === undefined ? [] : [first])];
    let created = 0;
    for (let at = 0; at < entries.length; at += SIDE_BY_SIDE) {
      const some = entries.slice(at, at + SIDE_BY_SIDE);
      const outcomes = await this.entries.createInOrder(some);
      const refused = some.findIndex((_one, index) => (outcomes[index] ?? 'conflict') === 'conflict');
      if (refused >= 0) {
        throw new Refusal('journal_conflict', 'was written meanwhile, and is another', some[refused]?.[0] ?? '');
      }
      created += outcomes.filter((outcome) => outcome === 'created').length;
    }
    return created;
  }

  private place(record: LifecycleRecord): Promise<CreateOutcome> {
    return this.entries.settle(this.pathOf(record.sequence), lifecycleToText(record));
  }

  private read(path: string): Promise<LifecycleRecord | null> {
    return this.entries.read(path, lifecycleFromBytes);
  }

  private take(book: RunBook, name: string, record: LifecycleRecord | null): void {
    const expected = lifecycleName(book.records.length + 1);
    const path = `${this.folder}/${name}`;
    if (record === null || name !== expected) {
      throw new Refusal('journal_invalid', `is not what comes next in its folder, ${expected}`, path);
    }
    entry(path, () => book.accept(record));
  }

  private pathOf(sequence: number): string {
    return `${this.folder}/${lifecycleName(sequence)}`;
  }
}
