/**
 * Master keys of a content store in a file that only its owner may read: `{"current": "k2", "keys": {"k1": "<base64>", …}}`.
 *
 * Invariant: a file that others can read is refused, not used; a changed file counts with the next call, so a key is added
 * without a restart; and a change is whole or not there, whenever its writer dies.
 */
import { randomBytes } from 'node:crypto';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { CustodyError } from '../reviewers/custody-error';
import { readOwnFile } from '../reviewers/own-file';
import { type ContentKeys, isContentKeyId, keyRingFault, type KeyRing, ringKeys } from './content-keys';
import { SECRET_BYTES } from './sealed-entry';

const MOST_BYTES = 65_536;

/** The keys of a file that "countersign contents keys" makes. */
export function contentKeysFromFile(file: string): ContentKeys {
  let held: { readonly seen: string; readonly ring: KeyRing } | null = null;
  return ringKeys(async () => {
    const stat = await lstat(file, { bigint: true }).catch(() => null);
    const seen = stat === null ? '' : `${stat.dev}/${stat.ino}/${stat.size}/${stat.mtimeNs}/${stat.ctimeNs}`;
    // A file that is away for a moment must not stop what its keys are known for.
    if (held === null || (seen !== '' && held.seen !== seen)) held = { seen, ring: await readKeyRing(file) };
    return held.ring;
  });
}

export async function readKeyRing(file: string): Promise<KeyRing> {
  const ring = parsed(await readOwnFile(file, MOST_BYTES));
  if (ring !== null && keyRingFault(ring) === null) return ring;
  const shape = '{"current": "k1", "keys": {"k1": "32 bytes in base64"}}';
  throw new CustodyError('key_invalid', `${file} is not a key ring such as ${shape}`);
}

/** Adds a new random key. It is the current one if it is the first, or if that is asked for. Makes the file. */
export async function addContentKey(file: string, id: string, makeCurrent: boolean): Promise<KeyRing> {
  if (!isContentKeyId(id)) {
    throw new CustodyError('key_name_invalid', 'a key id is up to 63 letters, digits, dots, dashes and underscores');
  }
  return change(file, (ring) => {
    if (ring !== null && Object.hasOwn(ring.keys, id)) {
      throw new CustodyError('key_exists', `${file} has a key ${id} already; keys are never replaced`);
    }
    const keys = { ...ring?.keys, [id]: new Uint8Array(randomBytes(SECRET_BYTES)) };
    return { current: ring === null || makeCurrent ? id : ring.current, keys };
  });
}

/** From now on new data keys are wrapped by this one. */
export async function useContentKey(file: string, id: string): Promise<KeyRing> {
  return change(file, (ring) => ({ ...withKey(file, ring, id), current: id }));
}

/** Destroys a key of the file: whatever only it opens is gone. */
export async function dropContentKey(file: string, id: string): Promise<KeyRing> {
  return change(file, (ring) => {
    const { current, keys } = withKey(file, ring, id);
    if (current === id) {
      throw new CustodyError('key_invalid', `${id} is the current key of ${file}; let another be that first`);
    }
    return { current, keys: Object.fromEntries(Object.entries(keys).filter(([name]) => name !== id)) };
  });
}

function withKey(file: string, ring: KeyRing | null, id: string): KeyRing {
  if (ring !== null && Object.hasOwn(ring.keys, id)) return ring;
  throw new CustodyError('key_unknown', `${file} has no key ${id}`);
}

/** The new file is written beside the old one and takes its name; its own name keeps a second writer out meanwhile. */
async function change(file: string, next: (ring: KeyRing | null) => KeyRing): Promise<KeyRing> {
  const draft = `${file}.new`;
  const handle = await open(draft, 'wx', 0o600).catch((fault: NodeJS.ErrnoException) => {
    const reason = `${draft} is there: another command changes the key ring, or one died; look, then remove that file`;
    if (fault.code === 'EEXIST') throw new CustodyError('key_exists', reason);
    throw new CustodyError('input_unreadable', `${draft} cannot be made; name a file in a folder that you can write`);
  });
  try {
    const there = await lstat(file).catch(() => null);
    const ring = next(there === null ? null : await readKeyRing(file));
    const keys = Object.entries(ring.keys).map(([id, key]) => [id, Buffer.from(key).toString('base64')] as const);
    await handle.writeFile(`${JSON.stringify({ current: ring.current, keys: Object.fromEntries(keys) }, null, 2)}\n`);
    await handle.sync();
    await rename(draft, file);
    await syncFolder(path.dirname(file));
    return ring;
  } catch (fault) {
    await unlink(draft).catch(() => undefined);
    throw fault;
  } finally {
    await handle.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

function parsed(bytes: Uint8Array): KeyRing | null {
  try {
    const value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Record<string, unknown>;
    const { current, keys } = value;
    if (typeof current !== 'string' || typeof keys !== 'object' || keys === null) return null;
    const read = Object.entries(keys).map(([id, text]) => [id, keyOf(text)] as const);
    return { current, keys: Object.fromEntries(read) };
  } catch {
    return null;
  }
}

/** Base64 as it is written here; anything else is no key, whose length then does not fit. */
function keyOf(text: unknown): Uint8Array {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : Buffer.alloc(0);
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : new Uint8Array(0);
}
