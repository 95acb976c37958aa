/**
 * One encrypted entry as bytes: what it is, which data key opens it, nonce, ciphertext, tag (AES-256-GCM).
 *
 * Invariant: an entry opens only under the path that it was sealed for and the data key that it names; contents stand under
 * their own digest, so that also ties it to the content. The nonce is random: the same content never gives the same bytes.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** 256 random bits that open entries. Its id is taken from its digest, so a wrong key is known before it is used. */
export interface DataKey {
  /** 32 hex digits. */
  readonly id: string;
  readonly secret: Uint8Array;
}

/** The last byte is the version of the format. */
const MAGIC = Buffer.from([0x43, 0x53, 0xe5, 0x01]);
const ID_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_AT = MAGIC.length + ID_BYTES;
const TEXT_AT = NONCE_AT + NONCE_BYTES;

export const SECRET_BYTES = 32;
export const isDataKeyId = (name: string): boolean => /^[0-9a-f]{32}$/.test(name);

export function newDataKey(): DataKey {
  return dataKeyOf(randomBytes(SECRET_BYTES));
}

export function dataKeyOf(secret: Uint8Array): DataKey {
  const digest = createHash('sha256').update('countersign.data_key.v1\0').update(secret).digest('hex');
  return { id: digest.slice(0, 2 * ID_BYTES), secret };
}

export function sealEntry({ id, secret }: DataKey, path: string, content: Uint8Array): Uint8Array {
  const head = Buffer.concat([MAGIC, Buffer.from(id, 'hex')]);
  return Buffer.concat([head, encrypt(secret, boundTo(head, path), content)]);
}

/** The id of the data key, or null for bytes that were never sealed. */
export function sealedUnder(bytes: Uint8Array): string | null {
  if (bytes.length < TEXT_AT + TAG_BYTES || Buffer.compare(bytes.subarray(0, MAGIC.length), MAGIC) !== 0) return null;
  return Buffer.from(bytes.subarray(MAGIC.length, NONCE_AT)).toString('hex');
}

/** The content; null where the bytes were damaged, or sealed for another path. */
export function openEntry({ secret }: DataKey, path: string, bytes: Uint8Array): Uint8Array | null {
  return decrypt(secret, boundTo(bytes.subarray(0, NONCE_AT), path), bytes.subarray(NONCE_AT));
}

/** Nonce, ciphertext, tag. */
export function encrypt(secret: Uint8Array, bound: Uint8Array, content: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', secret, nonce, { authTagLength: TAG_BYTES }).setAAD(bound);
  return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
}

export function decrypt(secret: Uint8Array, bound: Uint8Array, bytes: Uint8Array): Uint8Array | null {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const [nonce, text] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, -TAG_BYTES)];
  const decipher = createDecipheriv('aes-256-gcm', secret, nonce, { authTagLength: TAG_BYTES }).setAAD(bound);
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Uint8Array.from(Buffer.concat([decipher.update(text), decipher.final()]));
  } catch {
    return null;
  }
}

function boundTo(head: Uint8Array, path: string): Uint8Array {
  return Buffer.concat([Buffer.from('countersign.content.v1\0'), head, Buffer.from(path)]);
}
