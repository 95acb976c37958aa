/**
 * An object as an operation: `{key?, body | base64, contentType?, metadata?}`.
 *
 * Invariant: what passes here is one object below the sink's prefix, whose name needs no interpretation by anybody on the way, and
 * whose metadata cannot take the place of ours.
 */
import { type SinkItem } from '../../ports';
import { type S3NewObject } from '../s3/s3-bucket';
import { keyBelow } from '../s3/s3-connection';

/** Metadata by which an object says which effect it is. */
export const KEY_MARK = 'countersign-key';
export const DIGEST_MARK = 'countersign-digest';

export interface S3Effect {
  readonly key: string;
  readonly object: S3NewObject;
}

const FIELDS = new Set(['key', 'body', 'base64', 'contentType', 'metadata']);
const MAX_KEY_BYTES = 1_024;
/** The 2 KB that S3 allows, less our own. */
const MAX_METADATA_BYTES = 1_500;
const METADATA_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const OURS = /^countersign-/;
/** No blank at either end: it would not come back. */
const METADATA_VALUE = /^(?! )[\x20-\x7e]*(?<! )$/;
const CONTENT_TYPE = /^[\x21-\x7e]+\/[\x20-\x7e]{1,120}$/;
const UNPRINTABLE = /[\p{Cc}\p{Surrogate}\\]/u;

/** `null` when it is no such operation. Without a key of its own, the object is named by the idempotency key. */
export function s3Effect(item: SinkItem, prefix: string | undefined): S3Effect | null {
  const { operation, idempotencyKey, operationDigest } = item;
  if (typeof operation !== 'object' || operation === null || Array.isArray(operation)) return null;
  const { key = idempotencyKey, body, base64, contentType, metadata = {} } = operation as Record<string, unknown>;
  if (!Object.keys(operation).every((field) => FIELDS.has(field))) return null;
  const bytes = bytesOf(body, base64);
  if (!isObjectName(key) || bytes === null || !isMetadata(metadata)) return null;
  const name = keyBelow(prefix, key);
  if (Buffer.byteLength(name) > MAX_KEY_BYTES) return null;
  const type = contentType ?? (body === undefined ? 'application/octet-stream' : 'text/plain; charset=utf-8');
  if (typeof type !== 'string' || !CONTENT_TYPE.test(type)) return null;
  const marks = { [KEY_MARK]: idempotencyKey, [DIGEST_MARK]: operationDigest };
  return { key: name, object: { body: bytes, contentType: type, metadata: { ...metadata, ...marks } } };
}

function bytesOf(body: unknown, base64: unknown): Uint8Array | null {
  if (base64 === undefined) return typeof body === 'string' ? Buffer.from(body, 'utf8') : null;
  if (body !== undefined || typeof base64 !== 'string') return null;
  const bytes = Buffer.from(base64, 'base64'); // leaves out what does not belong there, so it must come back
  return bytes.toString('base64') === base64 ? bytes : null;
}

/** Segments joined by single slashes, none of which a client, a proxy or a file system resolves away. */
function isObjectName(key: unknown): key is string {
  if (typeof key !== 'string' || UNPRINTABLE.test(key)) return false;
  return key.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}

function isMetadata(metadata: unknown): metadata is Record<string, string> {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return false;
  const entries = Object.entries(metadata);
  const size = entries.reduce((sum, [name, value]) => sum + name.length + String(value).length, 0);
  return (
    size <= MAX_METADATA_BYTES &&
    entries.every(
      ([name, value]) =>
        METADATA_NAME.test(name) && !OURS.test(name) && typeof value === 'string' && METADATA_VALUE.test(value),
    )
  );
}
