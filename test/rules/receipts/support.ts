/** Reviewers, plans and receipts for tests. Keys come from fixed seeds, so every digest is the same in each run. */
import { ed25519 } from '@noble/curves/ed25519';
import type { DecisionContext } from '../../../src/rules/receipts/admit';
import { toBase64url } from '../../../src/rules/receipts/base64url';
import type { ApprovalClaims, Claims, RequestClaims, ResolutionClaims } from '../../../src/rules/receipts/claims';
import { decisionUnder, type Decision } from '../../../src/rules/receipts/decision';
import { findKey, jwksFromBytes, type Jwks } from '../../../src/rules/receipts/jwks';
import { signReceipt, type Signer } from '../../../src/rules/receipts/jws';
import { sha256Digest } from '../../../src/rules/recovery';

export const NOW = 1_800_000_000_000;
export const APPROVER = 'role:example.org/approver';
export const AUDITOR = 'role:example.org/auditor@1.0.0';
export const CLERK = 'role:example.org/clerk';

export const digest = (text: string): string => sha256Digest(text);
export const nonce = (number: number): string => `nonce_${number.toString(16).padStart(32, '0')}`;
export const action = (number: number): string => `act_${number.toString(16).padStart(32, '0')}`;

export const seedOf = (name: string): Uint8Array =>
  Uint8Array.from(Buffer.from(sha256Digest(`seed of ${name}`).slice(7), 'hex'));
export const xOf = (name: string): string => toBase64url(ed25519.getPublicKey(seedOf(name)));
export const signer = (name: string): Signer => ({ kid: `key-${name}`, seed: seedOf(name) });
export const personOf = (name: string): string => `person:example.org/${name}`;

export interface Entry {
  readonly [member: string]: unknown;
}
/** One reviewer's public key, as it stands in a JWKS. */
export const entry = (name: string, roles: readonly string[], more: Entry = {}): Entry => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: xOf(name),
  kid: `key-${name}`,
  countersign_person: personOf(name),
  countersign_roles: roles,
  ...more,
});
export const jwks = (...entries: readonly Entry[]): Jwks => jwksFromBytes(JSON.stringify({ keys: entries }));

/** Three who may approve, one who audits as well, one who asks, one who was revoked. */
export const REVIEWERS = [
  entry('ann', [APPROVER, AUDITOR]),
  entry('bob', [APPROVER]),
  entry('cleo', [APPROVER]),
  entry('dan', [CLERK]),
  entry('rita', [APPROVER]),
  entry('rex', [APPROVER], { countersign_revoked: true }),
] as const;
export const KEYS = jwks(...REVIEWERS);

export const common = {
  journalId: `jrn_${'1'.repeat(32)}`,
  runId: `run_${'2'.repeat(32)}`,
  lineage: 1,
  planDigest: digest('plan'),
  jti: nonce(1),
  iat: NOW / 1000,
  exp: NOW / 1000 + 3600,
} as const;

export const approval = (more: Partial<ApprovalClaims> = {}): ApprovalClaims => ({
  kind: 'approval',
  ...common,
  role: APPROVER,
  decision: 'approve',
  ...more,
});
export const request = (more: Partial<RequestClaims> = {}): RequestClaims => ({ kind: 'request', ...common, ...more });
export const resolution = (more: Partial<ResolutionClaims> = {}): ResolutionClaims => ({
  kind: 'resolution',
  ...common,
  role: APPROVER,
  headDigest: digest('head'),
  resolution: 'reobserve',
  actionIds: [],
  externalId: null,
  ...more,
});

export const CONTEXT: DecisionContext = {
  now: NOW,
  keys: KEYS,
  journalId: common.journalId,
  runId: common.runId,
  lineage: 1,
  planDigest: common.planDigest,
  headDigest: digest('head'),
  requesters: new Set(),
  requester: digest(personOf('rita')),
  rules: [{ approvals: 2, roles: [APPROVER, AUDITOR] }],
  seen: new Map(),
};

/** A decision of somebody, verified under the key that they hold in `keys`. */
export function decided(name: string, claims: Claims, keys: Jwks = KEYS): Decision {
  const key = findKey(keys, `key-${name}`);
  if (key === null) throw new Error(`no key of ${name}`);
  return decisionUnder(signReceipt(claims, signer(name)), key);
}
