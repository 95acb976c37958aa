/** Every text inside a value, and inside its base64 and JSON texts, however deep: what a reader of a history can see. */
export function* texts(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    yield value;
    const inner = fromBase64(value) ?? fromJson(value);
    if (inner !== null) yield* texts(inner);
  } else if (value instanceof Uint8Array) {
    yield* texts(Buffer.from(value).toString('utf8'));
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      yield name;
      yield* texts(item);
    }
  }
}

function fromBase64(text: string): string | null {
  if (text.length < 4 || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const decoded = Buffer.from(text, 'base64').toString('utf8');
  return /[\ufffd\u0000-\u0008]/.test(decoded) ? null : decoded;
}

function fromJson(text: string): object | null {
  if (!/^\s*[[{"]/.test(text)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : typeof value === 'string' ? [value] : null;
  } catch {
    return null;
  }
}
