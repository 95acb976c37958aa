/**
 * A proof that one entry is in a log, as one text: C2SP tlog-proof. Invariant: nothing in it is believed but what the signed
 * tree head at its end and the hashes prove; the entry itself comes along as extra data.
 */
import { fromBase64, toBase64 } from './base64';
import { HASH_BYTES } from './merkle';

export interface ProofText {
  readonly entry: Uint8Array | null;
  readonly index: number;
  readonly hashes: readonly Uint8Array[];
  /** The signed note of the tree head. */
  readonly note: string;
}

const FIRST_LINE = 'c2sp.org/tlog-proof@v1';
const MOST_HASHES = 63;

export function isProofText(text: string): boolean {
  return text.startsWith(`${FIRST_LINE}\n`);
}

export function proofToText({ entry, index, hashes, note }: ProofText): string {
  const extra = entry === null ? [] : [`extra ${toBase64(entry)}`];
  return [FIRST_LINE, ...extra, `index ${index}`, ...hashes.map(toBase64), '', note].join('\n');
}

export function proofFromText(text: string): ProofText | null {
  const split = text.indexOf('\n\n');
  const [first, ...lines] = text.slice(0, Math.max(split, 0)).split('\n');
  if (split < 0 || first !== FIRST_LINE) return null;
  let entry: Uint8Array | null = null;
  if (lines[0]?.startsWith('extra ') === true) {
    entry = fromBase64((lines.shift() as string).slice('extra '.length));
    if (entry === null) return null;
  }
  const index = /^index (0|[1-9][0-9]*)$/.exec(lines.shift() ?? '')?.[1];
  const hashes = lines.map(fromBase64);
  if (index === undefined || hashes.length > MOST_HASHES || !Number.isSafeInteger(Number(index))) return null;
  if (hashes.some((hash) => hash?.length !== HASH_BYTES)) return null;
  return { entry, index: Number(index), hashes: hashes as Uint8Array[], note: text.slice(split + 2) };
}
