/**
 * Reviewers whom an identity provider has signed in, behind a proxy that hands on its tokens. Invariant: a token counts only from the
 * proxy's own address, with a signature of the provider's keys, for this audience, in time; it lets its person look, and decides nothing.
 */
import { readFile } from 'node:fs/promises';
import type * as Jose from 'jose' with { 'resolution-mode': 'import' };
import { optionalPeer } from '../adapters/optional-peer';
import { isPerson, personDigest } from '../rules/receipts/names';
import type { Reviewer } from './visitors';

export interface ProviderOptions {
  /** The address from which the proxy connects. */
  readonly proxy: string;
  readonly issuer: string;
  readonly audience: string;
  /** Where the provider's keys are: an https address, or a file. */
  readonly keys: string;
  /** The header in which the proxy hands on the token, as a bearer or by itself. @default `authorization` */
  readonly header: string;
  /** The claim that names the person as the reviewers' keys do. @default `countersign_person` */
  readonly claim: string;
}

export interface IdentityProvider {
  /** Null of a request that brings no token that counts. */
  reviewerOf(peer: string | undefined, header: (name: string) => string | undefined): Promise<Reviewer | null>;
}

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'];
const LONGEST_TOKEN = 16_384;
const CLOCK_TOLERANCE_S = 30;

export async function identityProvider(options: ProviderOptions): Promise<IdentityProvider> {
  const { issuer, audience, claim } = options;
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const jose = optionalPeer('the sign-in by tokens', 'jose', () => require('jose') as typeof Jose);
  const keys = /^https:/.test(options.keys)
    ? jose.createRemoteJWKSet(new URL(options.keys))
    : jose.createLocalJWKSet(JSON.parse(await readFile(options.keys, 'utf8')) as Jose.JSONWebKeySet);
  const checks = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: ['exp'],
  };
  return {
    reviewerOf: async (peer, header) => {
      const token = header(options.header)?.replace(/^Bearer /i, '') ?? '';
      if (peer === undefined || plain(peer) !== plain(options.proxy)) return null;
      if (token === '' || token.length > LONGEST_TOKEN) return null;
      const payload = await jose.jwtVerify(token, keys, checks).then(
        (verified) => verified.payload,
        () => null,
      );
      const person = payload?.[claim];
      return isPerson(person) ? { kid: null, person: personDigest(person) } : null;
    },
  };
}

/** An IPv4 address as a socket for both may tell it. */
function plain(address: string): string {
  return address.replace(/^::ffff:/, '');
}
