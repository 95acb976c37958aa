/**
 * Signed notes (C2SP signed-note) and co-signatures of them (C2SP tlog-cosignature). Invariant: a text counts only by a
 * signature that a given key made; signatures of unknown keys are passed over, and a bad one of a known key refuses the note.
 */
import { ed25519 } from '@noble/curves/ed25519';
import { fromBase64, toBase64 } from './base64';
import { type KeyKind, type SignerKey, type VerifierKey } from './note-keys';

export interface NoteSignature {
  readonly name: string;
  readonly id: number;
  readonly bytes: Uint8Array;
}

export interface Note {
  /** Ends in a line feed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** What a signature that holds says beside the text: when a witness made it, in seconds. */
export interface Signed {
  readonly key: VerifierKey;
  readonly time: number | null;
}

const DASH = '\u2014';
const ID_BYTES = 4;
const TIME_BYTES = 8;
const MOST_BYTES = 1_000_000;
const MOST_SIGNATURES = 100;

export function noteFromText(source: string): Note | null {
  if (source.length > MOST_BYTES || hasControl(source)) return null;
  const split = source.lastIndexOf('\n\n');
  if (split < 0 || !source.endsWith('\n')) return null;
  const lines = source.slice(split + 2, -1).split('\n');
  const signatures = lines.map(signatureFromLine);
  if (signatures.length > MOST_SIGNATURES || signatures.includes(null)) return null;
  return { text: source.slice(0, split + 1), signatures: signatures as NoteSignature[] };
}

export function noteToText({ text, signatures }: Note): string {
  return `${text}\n${signatures.map(signatureToLine).join('')}`;
}

export function signatureToLine({ name, id, bytes }: NoteSignature): string {
  const whole = new Uint8Array(ID_BYTES + bytes.length);
  new DataView(whole.buffer).setUint32(0, id);
  whole.set(bytes, ID_BYTES);
  return `${DASH} ${name} ${toBase64(whole)}\n`;
}

/** Without its line feed. */
export function signatureFromLine(line: string): NoteSignature | null {
  const [dash, name = '', encoded = '', ...more] = line.split(' ');
  const whole = fromBase64(encoded);
  // Names of strangers may be of any script.
  if (dash !== DASH || more.length > 0 || !/^[^\s+]+$/u.test(name)) return null;
  if (whole === null || whole.length <= ID_BYTES) return null;
  return { name, id: new DataView(whole.buffer, whole.byteOffset).getUint32(0), bytes: whole.slice(ID_BYTES) };
}

/** `time`: seconds since 1970, which only a witness's signature holds. */
export function signNote(text: string, key: SignerKey, time = 0): NoteSignature {
  const signature = ed25519.sign(MESSAGES[key.kind](text, time), key.seed);
  const { name, id } = key;
  if (key.kind === 'log') return { name, id, bytes: signature };
  const bytes = new Uint8Array(TIME_BYTES + signature.length);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(time));
  bytes.set(signature, TIME_BYTES);
  return { name, id, bytes };
}

/**
 * The signatures of these keys, one a key. `null`: a signature under a key's name and id does not hold, so nothing of the note
 * is to be believed.
 */
export function signersOf(note: Note, keys: readonly VerifierKey[]): readonly Signed[] | null {
  const found = new Map<VerifierKey, Signed>();
  for (const signature of note.signatures) {
    const key = keys.find(({ name, id }) => name === signature.name && id === signature.id);
    if (key === undefined || found.has(key)) continue;
    const signed = verified(note.text, signature, key);
    if (signed === null) return null;
    found.set(key, signed);
  }
  return [...found.values()];
}

const MESSAGES: Record<KeyKind, (text: string, time: number | bigint) => Uint8Array> = {
  log: (text) => new TextEncoder().encode(text),
  witness: (text, time) => new TextEncoder().encode(`cosignature/v1\ntime ${time}\n${text}`),
};

function verified(text: string, { bytes }: NoteSignature, key: VerifierKey): Signed | null {
  const timed = key.kind === 'witness';
  if (bytes.length !== (timed ? TIME_BYTES : 0) + 64) return null;
  const time = timed ? Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0)) : null;
  if (time !== null && !Number.isSafeInteger(time)) return null;
  const signature = timed ? bytes.subarray(TIME_BYTES) : bytes;
  return isSignature(signature, MESSAGES[key.kind](text, time ?? 0), key.publicKey) ? { key, time } : null;
}

/** As RFC 8032 has it: what other implementations would refuse is refused here. */
function isSignature(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, message, publicKey, { zip215: false });
  } catch {
    return false;
  }
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 && code !== 0x0a) return true;
  }
  return false;
}
