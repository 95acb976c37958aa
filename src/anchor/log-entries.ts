/**
 * An anchor log's layout over a `Store`. Invariant: nothing is ever overwritten: a name says which tree it is about, and whoever
 * finds other bytes under it stops before anything is signed.
 *
 *   log.json                            the journal and the key of the log
 *   batches/000/000/000/005             what was appended to the tree of that size
 *   tile/…, tile/entries/…              C2SP tlog-tiles
 *   heads/000/000/000/007               the signed tree head of that size
 *   cosignatures/000/000/000/007/<id>   a witness's signature line of it
 *   stamps/000/000/000/007/<name>       an external time stamp of it
 *   segments/000000                     which lineages the first 16,384 entries are about
 */
import type { Store } from '../ports';
import { batchFromBytes, sizePath, type Batch } from '../rules/anchors/batch';
import { noteFromText, signatureFromLine, type Note, type NoteSignature } from '../rules/anchors/note';
import { canonicalJson } from '../rules/recovery';
import { Fields, parseRecord } from '../rules/fields';
import { isJournalId } from '../rules/journal-record';
import { AnchorError } from './anchor-error';

const LOG_SCHEMA_VERSION = 'countersign.anchor_log.v1';

export interface LogIdentity {
  readonly journalId: string;
  /** The log's verifier key as a text; its name is the log's. */
  readonly key: string;
}

export type NewEntry = readonly [path: string, bytes: Uint8Array];

export class LogEntries {
  constructor(readonly store: Store) {}

  async identity(): Promise<LogIdentity | null> {
    const bytes = await this.store.read('log.json');
    if (bytes === null) return null;
    return parseRecord(bytes, 'log', (value) => {
      const at = new Fields(value, 'log');
      at.oneOf('schema_version', [LOG_SCHEMA_VERSION]);
      const journalId = at.text('journal_id', 'the id of a journal', isJournalId);
      const key = at.text('key', 'a verifier key', (text) => text !== '');
      at.end();
      return { journalId, key };
    });
  }

  async createIdentity({ journalId, key }: LogIdentity): Promise<void> {
    const text = canonicalJson({ schema_version: LOG_SCHEMA_VERSION, journal_id: journalId, key });
    await this.create([['log.json', new TextEncoder().encode(text)]]);
  }

  /** All of them, or an `AnchorError` when something else stands under one of the names. */
  async create(entries: readonly NewEntry[]): Promise<void> {
    const { store } = this;
    const outcomes =
      store.createInOrder === undefined
        ? await oneByOne(store, entries)
        : entries.length === 0
          ? []
          : await store.createInOrder(entries);
    const place = outcomes.indexOf('conflict');
    if (place >= 0) throw damaged(entries[place]?.[0] ?? '', 'holds something else than follows from its batches');
  }

  async batch(size: number): Promise<Batch | null> {
    const path = `batches/${sizePath(size)}`;
    const bytes = await this.store.read(path);
    if (bytes === null) return null;
    const batch = batchFromBytes(bytes);
    if (batch.size !== size) throw damaged(path, 'is a batch for another size');
    return batch;
  }

  /** The signed tree head of this size, as it stands; null where there is none. */
  async note(size: number): Promise<Note | null> {
    const bytes = await this.store.read(`heads/${sizePath(size)}`);
    return bytes === null ? null : noteFromBytes(bytes);
  }

  /** Signatures that witnesses have given for the tree head of this size. */
  async cosignatures(size: number): Promise<readonly NoteSignature[]> {
    const folder = `cosignatures/${sizePath(size)}`;
    const found: NoteSignature[] = [];
    for (const name of await this.store.list(folder)) {
      const bytes = await this.store.read(`${folder}/${name}`);
      const line = bytes === null ? '' : new TextDecoder().decode(bytes);
      const signature = signatureFromLine(line.replace(/\n$/, ''));
      if (signature !== null) found.push(signature);
    }
    return found;
  }

  latestHead(): Promise<number | null> {
    return this.latest('heads');
  }

  latestBatch(): Promise<number | null> {
    return this.latest('batches');
  }

  /** The largest size under which something stands, found by the last name of each folder. */
  private async latest(folder: string): Promise<number | null> {
    let path = folder;
    let digits = '';
    for (;;) {
      const names = await this.store.list(path);
      const last = names.filter((name) => /^[0-9]{3}\/?$/.test(name)).at(-1);
      if (last === undefined) {
        if (digits === '') return null;
        throw damaged(path, 'is empty');
      }
      digits += last.slice(0, 3);
      if (!last.endsWith('/')) return Number(digits);
      path += `/${last.slice(0, 3)}`;
    }
  }
}

async function oneByOne(store: Store, entries: readonly NewEntry[]): Promise<readonly string[]> {
  const outcomes: string[] = [];
  for (const [path, bytes] of entries) {
    outcomes.push(await store.create(path, bytes));
    if (outcomes.at(-1) === 'conflict') break;
  }
  return outcomes;
}

/** A file that may be a signed note, as its text; null for anything else. */
export function noteFromBytes(bytes: Uint8Array): Note | null {
  try {
    return noteFromText(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return null;
  }
}

export function damaged(path: string, why: string): AnchorError {
  return new AnchorError('anchor_damaged', `the log's ${path} ${why}; nothing is signed on top of it`);
}
