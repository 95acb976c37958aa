/** Text to bytes and back, for tests. */
export const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);
export const text = (value: Uint8Array | null): string | null =>
  value === null ? null : Buffer.from(value).toString();
