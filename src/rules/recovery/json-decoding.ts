/**
 * From bytes to text, as the recovery contract reads files: the encoding is guessed from the first bytes. Invariant:
 * nothing is ever replaced; bytes that are no text of that encoding are refused with `null`. Surrogates are let through.
 */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Decode = (bytes: Uint8Array) => string | null;

/** The text, or `null` when the bytes are not valid in the encoding that they begin with. */
export function decodeJsonBytes(bytes: Uint8Array): string | null {
  const [decode, start] = guessEncoding(bytes);
  return decode(start === 0 ? bytes : bytes.subarray(start));
}

function guessEncoding(bytes: Uint8Array): readonly [Decode, number] {
  const [a, b, c, d] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return [decodeUtf8, 3];
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? [decodeUtf32(true), 4] : [decodeUtf16(true), 2];
  if (a === 0xfe && b === 0xff) return [decodeUtf16(false), 2];
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return [decodeUtf32(false), 4];
  // JSON begins with an ASCII character, so the place of the NULs around it tells width and order.
  if (bytes.length >= 4) {
    if (a === 0) return b === 0 ? [decodeUtf32(false), 0] : [decodeUtf16(false), 0];
    if (b === 0) return c === 0 && d === 0 ? [decodeUtf32(true), 0] : [decodeUtf16(true), 0];
  } else if (bytes.length === 2) {
    if (a === 0) return [decodeUtf16(false), 0];
    if (b === 0) return [decodeUtf16(true), 0];
  }
  return [decodeUtf8, 0];
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return decodeUtf8WithSurrogates(bytes);
  }
}

/** Strict UTF-8, except that three-byte surrogates are accepted. */
function decodeUtf8WithSurrogates(bytes: Uint8Array): string | null {
  const parts: string[] = [];
  for (let index = 0; index < bytes.length;) {
    const lead = bytes[index] as number;
    const width = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (width === 0 || index + width > bytes.length) return null;
    let point = width === 1 ? lead : lead & (0x7f >> width);
    for (let offset = 1; offset < width; offset += 1) {
      const next = bytes[index + offset] as number;
      if ((next & 0xc0) !== 0x80) return null;
      point = (point << 6) | (next & 0x3f);
    }
    if ((width === 3 && point < 0x800) || (width === 4 && (point < 0x10000 || point > 0x10ffff))) return null;
    parts.push(String.fromCodePoint(point));
    index += width;
  }
  return parts.join('');
}

function decodeUtf16(littleEndian: boolean): Decode {
  return (bytes) => {
    if (bytes.length % 2 !== 0) return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const parts: string[] = [];
    for (let index = 0; index < bytes.length; index += 2) {
      parts.push(String.fromCharCode(view.getUint16(index, littleEndian)));
    }
    return parts.join('');
  };
}

function decodeUtf32(littleEndian: boolean): Decode {
  return (bytes) => {
    if (bytes.length % 4 !== 0) return null;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const parts: string[] = [];
    for (let index = 0; index < bytes.length; index += 4) {
      const point = view.getUint32(index, littleEndian);
      if (point > 0x10ffff) return null;
      parts.push(String.fromCodePoint(point));
    }
    return parts.join('');
  };
}
