/**
 * Entries of a journal as text. Invariant: a create that threw is settled by reading back, and an entry that does not read is a
 * fault of the journal, never of the request that came upon it.
 */
import { RecoveryError } from '../rules/recovery';
import type { CreateOutcome, Store } from '../ports';
import { Refusal } from '../rules/refusal';
import type { EnginePoint } from './engine';

const encoder = new TextEncoder();

/** Put-if-absent of many texts. See `Store.createInOrder`. */
export type Entry = readonly [path: string, text: string];

/** An entry that nothing rests on yet, so that it can be written together with the next that something will rest on. */
export interface Owed {
  readonly entry: Entry;
  /** What it means that its name holds something else. */
  readonly taken: () => Error;
  /** The moment at which it is there. */
  readonly written?: EnginePoint;
}

export class Entries {
  constructor(private readonly store: Store) {}

  create(path: string, text: string): Promise<CreateOutcome> {
    return this.store.create(path, encoder.encode(text));
  }

  async createInOrder(entries: readonly Entry[]): Promise<readonly CreateOutcome[]> {
    if (this.store.createInOrder !== undefined) {
      return this.store.createInOrder(entries.map(([path, text]) => [path, encoder.encode(text)]));
    }
    const outcomes: CreateOutcome[] = [];
    for (const [path, text] of entries) {
      const outcome = await this.create(path, text);
      outcomes.push(outcome);
      if (outcome === 'conflict') break;
    }
    return outcomes;
  }

  /** A create that threw may still have happened: reading it back settles who won, where every text is unique or the same. */
  async settle(path: string, text: string): Promise<CreateOutcome> {
    try {
      return await this.create(path, text);
    } catch (fault) {
      const bytes = await this.store.read(path);
      if (bytes === null) throw fault;
      return new TextDecoder().decode(bytes) === text ? 'identical' : 'conflict';
    }
  }

  /**
   * The same, and then one entry more, whose text is unique. Where that one is there after a create that threw, so are those
   * before it; each is read all the same, for what a store cannot keep it does not give.
   */
  async settleInOrder(entries: readonly Entry[], last: Entry): Promise<readonly CreateOutcome[]> {
    const all = [...entries, last];
    try {
      return await this.createInOrder(all);
    } catch (fault) {
      for (const [path, text] of [last, ...entries]) {
        const bytes = await this.store.read(path);
        if (bytes === null || new TextDecoder().decode(bytes) !== text) throw fault;
      }
      return all.map(() => 'identical');
    }
  }

  list(folder: string, after?: string): Promise<readonly string[]> {
    return this.store.list(folder, after);
  }

  bytes(path: string): Promise<Uint8Array | null> {
    return this.store.read(path);
  }

  async read<T>(path: string, parse: (bytes: Uint8Array) => T): Promise<T | null> {
    const bytes = await this.store.read(path);
    return bytes === null ? null : entry(path, () => parse(bytes));
  }

  /** Of an entry that was listed. */
  async mustRead<T>(path: string, parse: (bytes: Uint8Array) => T): Promise<T> {
    const read = await this.read(path, parse);
    if (read === null) throw new Refusal('journal_invalid', 'an entry that was listed is gone', path);
    return read;
  }
}

/** Whatever is wrong with an entry is a fault of the journal, never of the request that came upon it. */
export function entry<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (fault) {
    if (!(fault instanceof Refusal) && !(fault instanceof RecoveryError)) throw fault;
    throw new Refusal('journal_invalid', `holds an entry that is refused (${fault.message})`, path);
  }
}
