/**
 * A content store whose entries are encrypted before they reach the store that keeps them.
 *
 * Invariant: it answers as the store beneath would for what is encrypted: `created` to exactly one, `identical` to the same
 * content although its bytes differ each time. What is there and cannot be opened is a fault, never absent and never
 * written over.
 */
import { type ContentStore, type CreateOutcome, StoreError } from '../../ports';
import { type ContentKeys, keyRing, type KeyRing } from './content-keys';
import { DATA_KEYS, DataKeys } from './data-keys';
import { entrySegments, folderSegments } from './entry-path';
import { openEntry, sealedUnder, sealEntry } from './sealed-entry';

/** What is read beside encrypted entries. */
export interface EncryptedContentsOptions {
  /**
   * Also read entries that were never encrypted, as a store has them that encryption is added to. Contents are known by their
   * digest all the same; what a run's salt is, whoever can write the store could then say. @default false
   */
  readonly readPlain?: boolean;
}

/** An entry that is erased while it is compared is created again this often. */
const ATTEMPTS = 3;

/** A content store whose entries are encrypted before they reach the one beneath. Throws a `StoreError`. */
export function encryptedContents(
  store: ContentStore,
  keys: ContentKeys | KeyRing,
  { readPlain = false }: EncryptedContentsOptions = {},
): ContentStore {
  const dataKeys = new DataKeys(store, 'unwrap' in keys ? keys : keyRing(keys));

  const opened = async (path: string, bytes: Uint8Array): Promise<Uint8Array> => {
    const id = sealedUnder(bytes);
    if (id === null) {
      if (readPlain) return bytes;
      throw closed(path, 'is not encrypted; if it is older than the encryption, let "readPlain" take it');
    }
    const content = openEntry(await dataKeys.byId(id), path, bytes);
    if (content !== null) return content;
    throw closed(path, 'does not open: it is damaged, or stands where another belongs; restore it from a copy');
  };

  const read = async (path: string): Promise<Uint8Array | null> => {
    refuseReserved(path);
    const bytes = await store.read(path);
    return bytes === null ? null : opened(path, bytes);
  };

  return {
    scope: store.scope,
    ...(store.probe === undefined ? {} : { probe: () => store.probe?.() ?? Promise.resolve() }),
    read,
    async create(path, content): Promise<CreateOutcome> {
      refuseReserved(path);
      const own = Uint8Array.from(content); // the caller may change its bytes while a key is fetched
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const outcome = await store.create(path, sealEntry(await dataKeys.forNew(), path, own));
        if (outcome !== 'conflict') return outcome;
        const there = await read(path);
        if (there !== null) return Buffer.compare(there, own) === 0 ? 'identical' : 'conflict';
      }
      const reason = `create of "${path}" failed: it keeps vanishing; find out what removes it, then repeat`;
      throw new StoreError('store_unavailable', reason);
    },
    async list(prefix, after) {
      if (folderSegments(prefix)[0] === DATA_KEYS) throw reserved();
      const names = await store.list(prefix, after);
      return prefix === '' ? names.filter((name) => name !== `${DATA_KEYS}/`) : names;
    },
    async delete(path) {
      refuseReserved(path);
      await store.delete(path);
    },
  };
}

/** Whether a store holds encrypted contents, told without any key. */
export async function isEncrypted(store: ContentStore): Promise<boolean> {
  return (await store.list(DATA_KEYS)).length > 0;
}

function refuseReserved(path: string): void {
  if (entrySegments(path)[0] === DATA_KEYS) throw reserved();
}

function reserved(): StoreError {
  return new StoreError('store_invalid_path', `"${DATA_KEYS}" is kept for the store itself; the path was refused`);
}

function closed(path: string, why: string): StoreError {
  return new StoreError('store_unsafe_entry', `"${path}" ${why}`);
}
