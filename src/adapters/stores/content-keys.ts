/**
 * Master keys of a content store: they wrap the data keys that its entries are encrypted with, and nothing else.
 *
 * Invariant: a wrapped data key opens only under the master key and the data key id that it was wrapped for. A custody says
 * `null` of a master key that it does not have; what it cannot say now, it throws.
 */
import { StoreError } from '../../ports';
import { decrypt, encrypt, SECRET_BYTES } from './sealed-entry';

/** Where master keys are. A key management service wraps and unwraps itself; a key ring does it here. */
export interface ContentKeys {
  /** Id of the master key for new data keys. Asked often: answer from memory where that is possible. */
  current(): Promise<string>;
  /** `bound` is authenticated with the key, and given again to unwrap it. */
  wrap(keyId: string, dataKey: Uint8Array, bound: string): Promise<Uint8Array>;
  /** Null: this custody does not have the master key. */
  unwrap(keyId: string, wrapped: Uint8Array, bound: string): Promise<Uint8Array | null>;
}

/** Master keys by their ids, each 32 random bytes. */
export interface KeyRing {
  readonly current: string;
  readonly keys: Readonly<Record<string, Uint8Array>>;
}

const KEY_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export function isContentKeyId(id: string): boolean {
  return KEY_ID.test(id);
}

/** Why a key ring cannot be used; null when it can. */
export function keyRingFault({ current, keys }: KeyRing): string | null {
  for (const [id, key] of Object.entries(keys)) {
    if (!isContentKeyId(id)) return 'a key id is up to 63 letters, digits, dots, dashes and underscores';
    if (!(key instanceof Uint8Array) || key.length !== SECRET_BYTES) return `key ${id} must be ${SECRET_BYTES} bytes`;
  }
  return Object.hasOwn(keys, current) ? null : 'its current key is not among its keys';
}

/** Keys that this process holds. `ring` is asked each time, so that it may come from a file that changes. */
export function ringKeys(ring: () => Promise<KeyRing>): ContentKeys {
  const secretOf = async (keyId: string): Promise<Uint8Array | null> => {
    const { keys } = await ring();
    return Object.hasOwn(keys, keyId) ? (keys[keyId] as Uint8Array) : null;
  };
  return {
    current: async () => (await ring()).current,
    wrap: async (keyId, dataKey, bound) => {
      const secret = await secretOf(keyId);
      if (secret === null) throw missingKey(keyId);
      return encrypt(secret, Buffer.from(bound), dataKey);
    },
    unwrap: async (keyId, wrapped, bound) => {
      const secret = await secretOf(keyId);
      if (secret === null) return null;
      const key = decrypt(secret, Buffer.from(bound), wrapped);
      if (key !== null) return key;
      const reason = `the data key that master key ${keyId} wraps does not open with it; either is damaged, or another`;
      throw new StoreError('store_unsafe_entry', `${reason} key has that id; restore the right one`);
    },
  };
}

export function keyRing(ring: KeyRing): ContentKeys {
  const fault = keyRingFault(ring);
  if (fault !== null) throw new Error(`the key ring of a content store is refused: ${fault}`);
  return ringKeys(() => Promise.resolve(ring));
}

export function missingKey(...ids: readonly string[]): StoreError {
  const which = ids.length === 1 ? `master key ${ids[0]}` : `one of the master keys ${ids.join(', ')}`;
  const reason = `contents here need ${which}, which the keys of this process lack; add it, it is tried again`;
  return new StoreError('store_unavailable', reason);
}
