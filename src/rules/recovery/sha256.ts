/**
 * SHA-256.
 */
/** 64 lowercase hex digits. */
export function sha256Hex(_source: string | Uint8Array): string {
  throw new Error('not built');
}

/** `sha256:` and 64 lowercase hex digits. */
export function sha256Digest(source: string | Uint8Array): string {
  return `sha256:${sha256Hex(source)}`;
}
