/** `nodeHash` by Node's own SHA-256. Invariant: it gives what the rules' own gives; it only takes less time. */
import * as crypto from 'node:crypto';
import { HASH_BYTES } from '../rules/anchors/merkle';

const NODE = 0x01;
const joined = new Uint8Array(1 + 2 * HASH_BYTES).fill(NODE, 0, 1);

/** Newer versions of Node have it in one step. */
const once = (crypto as { hash?: (name: string, data: Uint8Array, form: 'buffer') => Uint8Array }).hash;
const sha256: (data: Uint8Array) => Uint8Array =
  once === undefined
    ? (data) => crypto.createHash('sha256').update(data).digest()
    : (data) => once('sha256', data, 'buffer');

export function fastNodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  joined.set(left, 1);
  joined.set(right, 1 + HASH_BYTES);
  return sha256(joined);
}
