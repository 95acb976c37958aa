/**
 * JSON of somebody else as an object. Invariant: whatever is none, malformed text included, is `null`, never an exception: an
 * error of the parser quotes what it read.
 */
export function jsonObjectIn(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
