/** Keys of logs and witnesses in files. Invariant: a secret is read only from a file that is its owner's alone, and never printed. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { CustodyError } from '../adapters/reviewers';
import { readOwnFile } from '../adapters/reviewers/own-file';
import { signerFromSeed, signerFromText, signerToText, type KeyKind, type SignerKey } from '../rules/anchors/note-keys';

const MOST_BYTES = 4_096;

export async function readSignerFile(file: string, kind: KeyKind): Promise<SignerKey> {
  const text = new TextDecoder().decode(await readOwnFile(file, MOST_BYTES)).trim();
  const key = signerFromText(text);
  if (key?.kind === kind) return key;
  const whose = kind === 'log' ? 'a log' : 'a witness';
  throw new CustodyError(
    'key_invalid',
    `${file} does not hold the key of ${whose}; "countersign anchor key" makes one`,
  );
}

/** Makes a key in a new file that only its owner can read. */
export function makeSignerFile(file: string, kind: KeyKind, name: string): SignerKey {
  const key = signerFromSeed(kind, name, new Uint8Array(randomBytes(32)));
  try {
    writeFileSync(file, `${signerToText(key)}\n`, { flag: 'wx', mode: 0o600, flush: true });
  } catch (fault) {
    const taken = (fault as NodeJS.ErrnoException).code === 'EEXIST';
    const why = taken ? 'is there already; keys are never replaced' : 'cannot be written; choose another name';
    throw new CustodyError(taken ? 'key_exists' : 'input_unreadable', `${file} ${why}`);
  }
  return key;
}
