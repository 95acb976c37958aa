/**
 * Reviewers' keys from an HTTP server. Invariant: the keys come over TLS or from this machine, from the named address itself (no
 * redirect), within a time and a size; no key is used longer than a minute after it was asked for.
 */
import { MAX_JWKS_BYTES, jwksFromBytes, type Jwks } from '../../rules/receipts/jwks';
import { Refusal } from '../../rules/refusal';
import type { Reviewers } from '../../ports';
import { KEPT_MS, holdKeys, type Holding } from './held-keys';

export interface ReviewersUrlOptions {
  /** Longest time that one request may take, in milliseconds. @default 5000 */
  readonly timeoutMs?: number;
  /** For tests: how long keys are held. */
  readonly holding?: Partial<Holding>;
}

const TIMEOUT_MS = 5_000;
/** Asked again after half of the time that they may be used: one failed request is nobody's concern. */
const HOLDING: Holding = {
  freshMs: KEPT_MS / 2,
  keptMs: KEPT_MS,
  askAgainMs: 5_000,
  clock: () => performance.now(),
};
const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost'];

/** Throws `reviewers_unavailable` at once for an address that must not be used. */
export function reviewersFromUrl(address: string | URL, options: ReviewersUrlOptions = {}): Reviewers {
  const url = checked(address);
  let etag: string | null = null;
  const ask = async (held: Jwks | null): Promise<Jwks> => {
    const answer = await request(url, held === null ? null : etag, options.timeoutMs ?? TIMEOUT_MS);
    if (answer === 'unchanged' && held !== null) return held;
    if (answer === 'unchanged') throw unavailable(url, 'answered "unchanged" to a first question');
    const jwks = jwksFromBytes(answer.bytes);
    etag = answer.etag;
    return jwks;
  };
  return holdKeys(ask, { ...HOLDING, ...options.holding });
}

function checked(address: string | URL): URL {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw new Refusal('reviewers_unavailable', 'the address of the reviewers’ keys is not a URL');
  }
  if (url.username !== '' || url.password !== '') throw unavailable(url, 'must not hold a user or password');
  const trusted = url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.includes(url.hostname));
  if (!trusted) throw unavailable(url, 'must be https, or http of this machine');
  return url;
}

interface Fetched {
  readonly bytes: Uint8Array;
  readonly etag: string | null;
}

async function request(url: URL, etag: string | null, timeoutMs: number): Promise<Fetched | 'unchanged'> {
  const headers = {
    accept: 'application/json',
    'cache-control': 'no-cache',
    ...(etag === null ? {} : { 'if-none-match': etag }),
  };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal });
    if (response.status === 304 && etag !== null) return 'unchanged';
    if (response.status !== 200) {
      await response.body?.cancel();
      throw unavailable(url, `answered with status ${response.status}`);
    }
    return { bytes: await bounded(response, url), etag: response.headers.get('etag') };
  } catch (fault) {
    if (fault instanceof Refusal) throw fault;
    throw unavailable(url, signal.aborted ? `did not answer within ${timeoutMs} ms` : 'could not be reached');
  }
}

/** Read piece by piece: what the server says of the length is not believed. */
async function bounded(response: Response, url: URL): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece?.value === undefined) break;
    size += piece.value.length;
    if (size > MAX_JWKS_BYTES) {
      await reader?.cancel();
      throw unavailable(url, `answered with more than ${MAX_JWKS_BYTES} bytes`);
    }
    pieces.push(piece.value);
  }
  return new Uint8Array(Buffer.concat(pieces));
}

/** Query and fragment may hold a secret, so they are not named. */
function unavailable(url: URL, why: string): Refusal {
  return new Refusal('reviewers_unavailable', `${url.protocol}//${url.host}${url.pathname} ${why}`);
}
