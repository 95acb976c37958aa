/**
 * Reviewers' keys from a file. Invariant: every load reads the file, so a revocation counts with the next send; a file that
 * anybody may write is no custody.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { MAX_JWKS_BYTES, jwksFromBytes, type Jwks } from '../../rules/receipts/jwks';
import { sha256Digest } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import type { Reviewers } from '../../ports';
import { KEPT_MS, holdKeys, type Holding } from './held-keys';

export interface ReviewersFileOptions {
  /** For tests: how long keys are held. */
  readonly holding?: Partial<Holding>;
}

const WRITABLE_BY_ANYBODY = 0o002;
/** Always asked; what was read before only bridges the moment in which the file cannot be read. */
const HOLDING: Holding = { freshMs: 0, keptMs: KEPT_MS, askAgainMs: 0, clock: () => performance.now() };

/** Replace the file by renaming a new one over it: one that is read half written is refused. */
export function reviewersFromFile(file: string, options: ReviewersFileOptions = {}): Reviewers {
  let read: { readonly digest: string; readonly jwks: Jwks } | null = null;
  const ask = async (): Promise<Jwks> => {
    const bytes = await bytesOf(file);
    const digest = sha256Digest(bytes);
    // Checking keys costs a thousand times more than reading them.
    if (read?.digest !== digest) read = { digest, jwks: jwksFromBytes(bytes) };
    return read.jwks;
  };
  return holdKeys(ask, { ...HOLDING, ...options.holding });
}

async function bytesOf(file: string): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(() => {
    throw unavailable(file, 'cannot be opened');
  });
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw unavailable(file, 'is not a regular file');
    if (stat.size > MAX_JWKS_BYTES) throw unavailable(file, `is larger than ${MAX_JWKS_BYTES} bytes`);
    if (process.getuid !== undefined && (stat.mode & WRITABLE_BY_ANYBODY) !== 0) {
      throw unavailable(file, 'may be written by anybody; take that permission away (chmod o-w)');
    }
    return new Uint8Array(await handle.readFile());
  } finally {
    await handle.close();
  }
}

function unavailable(file: string, why: string): Refusal {
  return new Refusal('reviewers_unavailable', `the reviewers’ keys in ${file} cannot be used: the file ${why}`);
}
