/**
 * The store in an S3 bucket: an entry is an object, and a create is a PUT with `If-None-Match: *`.
 *
 * Invariant: of all who create one name, at most one is told `created`, also when its answer was lost: each create marks its object
 * with a random word, and who finds its own word there made it. A server that overwrites all the same is found out by a probe
 * before the first create, and refused. There is no createInOrder: to keep the order, each PUT must wait for the one before it, as
 * callers do by themselves.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ContentStore, type CreateOutcome, type Store, StoreError } from '../../ports';
import { S3Bucket, type S3NewObject, type S3Page } from '../s3/s3-bucket';
import { connectionFault, keyBelow, type S3Connection } from '../s3/s3-connection';
import { S3Fault } from '../s3/s3-fault';
import {
  BEHIND_ALL,
  compareNames,
  entrySegments,
  folderSegments,
  isEntrySegment,
  RESERVED_SEGMENT,
} from './entry-path';
import { DEFAULT_MAX_ENTRY_BYTES, tooLarge } from './entry-size';
import { passes, s3StoreError } from './s3-store-error';

/** Which bucket and limits; times are in milliseconds. */
export interface S3StoreOptions extends S3Connection {
  /** Largest entry that is written or read, in bytes. @default 16 MiB */
  readonly maxEntryBytes?: number;
  /** Longest time of one request, in milliseconds; a call makes a few at most. @default 10000 */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** An object key has at most 1,024 bytes, an entry's path 800. */
const MAX_PREFIX_LENGTH = 200;
/** Requests of one kind in one call, each after a pause four times as long, and none after so many time-outs. */
const ATTEMPTS = 4;
const PAUSE_MS = 50;
const PATIENCE_IN_TIMEOUTS = 2;
/** Pages of versions of one entry. */
const ERASE_ROUNDS = 64;
/** Metadata that says whose PUT made the object. */
const WRITER = 'countersign-writer';
const PROBE: Omit<S3NewObject, 'metadata'> = {
  body: new TextEncoder().encode('An object that stands here is not overwritten under "If-None-Match: *".\n'),
  contentType: 'text/plain',
};
const CONTENT_TYPE = 'application/octet-stream';

/** The journal's store: it can add and read, never change. */
export function s3Store(options: S3StoreOptions): S3Store {
  return new S3Store(options, 'journal');
}

/** The store for operation contents and results: it can also erase. */
export function s3ContentStore(options: S3StoreOptions): S3ContentStore {
  return new S3ContentStore(options);
}

/** Entries as objects of a bucket; throws a `StoreError`. */
export class S3Store implements Store {
  readonly scope = 'shared';
  readonly #bucket: S3Bucket;
  readonly #prefix: string;
  readonly #maxEntryBytes: number;
  readonly #patienceMs: number;
  readonly #keeps: 'journal' | 'contents';
  #probed: Promise<void> | null = null;

  constructor(options: S3StoreOptions, keeps: 'journal' | 'contents') {
    const { prefix = '', maxEntryBytes = DEFAULT_MAX_ENTRY_BYTES, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    if (prefix !== '') entrySegments(prefix);
    const fault = prefix.length > MAX_PREFIX_LENGTH ? 'the prefix is too long; shorten it' : connectionFault(options);
    if (fault !== null) throw new StoreError('store_invalid_path', `the S3 store was refused: ${fault}`);
    this.#bucket = new S3Bucket('s3Store', options, { timeoutMs, maxBytes: maxEntryBytes });
    this.#prefix = prefix;
    this.#maxEntryBytes = maxEntryBytes;
    this.#patienceMs = PATIENCE_IN_TIMEOUTS * timeoutMs;
    this.#keeps = keeps;
  }

  async create(entry: string, bytes: Uint8Array): Promise<CreateOutcome> {
    entrySegments(entry);
    if (bytes.length > this.#maxEntryBytes) throw tooLarge(entry, this.#maxEntryBytes);
    await this.probe();
    const writer = randomUUID();
    const object = { body: bytes, contentType: CONTENT_TYPE, metadata: { [WRITER]: writer } };
    return this.#patiently('create', entry, async () => {
      const fault = await this.#put(entry, object);
      if (fault === null) return 'created';
      // Our PUT may have landed, or another's: what stands there says which. Where nothing stands, it can be put again.
      const found = await this.#find('create', entry);
      if (found === null) throw fault;
      if (Buffer.compare(found.body, bytes) !== 0) return 'conflict';
      return found.metadata[WRITER] === writer ? 'created' : 'identical';
    });
  }

  /** Whether the server refuses to overwrite. Found out once, by whoever asks first. */
  probe(): Promise<void> {
    return (this.#probed ??= this.#askServer());
  }

  async read(entry: string): Promise<Uint8Array | null> {
    entrySegments(entry);
    return (await this.#find('read', entry))?.body ?? null;
  }

  async list(prefix: string, after?: string): Promise<readonly string[]> {
    const segments = folderSegments(prefix);
    const folder = keyBelow(this.#prefix, segments.map((segment) => `${segment}/`).join(''));
    const within = folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
    // A folder that is listed already begins again with every key inside of it.
    const start = after === undefined ? undefined : `${within}${after}${after.endsWith('/') ? BEHIND_ALL : ''}`;
    const names = new Set<string>();
    let page: S3Page = { keys: [] };
    do {
      const { next } = page;
      page = await this.#patiently('list', prefix, () => this.#bucket.list(within, { after: start, next }));
      for (const key of page.keys) {
        const name = key.slice(within.length);
        if (!isEntrySegment(name.replace(/\/$/, '')) || (segments.length === 0 && name === `${RESERVED_SEGMENT}/`))
          continue;
        if (after === undefined || compareNames(name, after) > 0) names.add(name);
      }
    } while (page.next !== undefined);
    return [...names].sort(compareNames);
  }

  /** Where the bucket keeps versions, each of them goes: one that stayed could still be read. */
  protected async erase(entry: string): Promise<void> {
    entrySegments(entry);
    const key = keyBelow(this.#prefix, entry);
    const { kept } = await this.#patiently('delete', entry, () => this.#bucket.delete(key));
    if (!kept) return;
    for (let round = 1; round <= ERASE_ROUNDS; round += 1) {
      const versions = await this.#patiently('delete', entry, () => this.#bucket.versions(key));
      if (versions.length === 0) return;
      for (const { id } of versions) await this.#patiently('delete', entry, () => this.#bucket.delete(key, id));
    }
    throw s3StoreError(new S3Fault('rejected'), 'delete', entry); // it says that it deletes, and does not
  }

  /** The fault is one that the entry itself can settle; every other is thrown. */
  async #put(entry: string, object: S3NewObject): Promise<S3Fault | null> {
    try {
      await this.#bucket.putNew(keyBelow(this.#prefix, entry), object);
      return null;
    } catch (fault) {
      if (fault instanceof S3Fault && passes(fault) && fault.kind !== 'not_sent') return fault;
      throw fault;
    }
  }

  async #find(action: string, entry: string): Promise<{ body: Uint8Array; metadata: S3NewObject['metadata'] } | null> {
    return this.#patiently(action, entry, async () => {
      try {
        return await this.#bucket.get(keyBelow(this.#prefix, entry));
      } catch (fault) {
        if (!(fault instanceof S3Fault)) throw fault;
        if (fault.kind === 'too_large') throw tooLarge(entry, this.#maxEntryBytes);
        if (fault.kind !== 'absent') throw fault;
        if (fault.deleteMarker && this.#keeps === 'journal') throw deleted(entry);
        return null;
      }
    });
  }

  /** Puts one fixed object twice. The second must be refused; where it stands already, so must the first. */
  async #askServer(): Promise<void> {
    const entry = `${RESERVED_SEGMENT}/put-if-absent`;
    const object = { ...PROBE, metadata: {} };
    const isRefused = (): Promise<boolean> =>
      this.#patiently('the probe', entry, async () => {
        const fault = await this.#put(entry, object);
        if (fault !== null && fault.kind !== 'exists') throw fault;
        return fault !== null;
      });
    try {
      if ((await isRefused()) || (await isRefused())) return;
    } catch (fault) {
      this.#probed = null; // not found out: the next create asks again
      throw fault;
    }
    throw new StoreError(
      'store_unavailable',
      'this server overwrites an object although it is told "If-None-Match: *", so two processes could both take one entry; ' +
        'use a server that keeps conditional writes',
    );
  }

  async #patiently<T>(action: string, entry: string, run: () => Promise<T>): Promise<T> {
    const started = performance.now();
    for (let attempt = 1, pause = PAUSE_MS; ; attempt += 1, pause *= 4) {
      try {
        return await run();
      } catch (fault) {
        if (!(fault instanceof S3Fault)) throw fault;
        const over = attempt === ATTEMPTS || performance.now() - started + pause >= this.#patienceMs;
        if (over || !passes(fault)) throw s3StoreError(fault, action, entry);
      }
      await delay(pause * (0.5 + Math.random() / 2));
    }
  }
}

/** Contents in a bucket: what `S3Store` does, and erasure of every version. */
export class S3ContentStore extends S3Store implements ContentStore {
  constructor(options: S3StoreOptions) {
    super(options, 'contents');
  }

  delete(entry: string): Promise<void> {
    return this.erase(entry);
  }
}

function deleted(entry: string): StoreError {
  return new StoreError(
    'store_unsafe_entry',
    `"${entry}" was deleted from the journal; remove its mark of deletion, and take s3:DeleteObject from the role`,
  );
}
