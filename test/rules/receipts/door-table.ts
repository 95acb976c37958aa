/**
 * One table of receipts for every door: what is wrong with each, and the code with which it must be refused. The plan is the
 * door's own; it asks two approvals in the roles `APPROVER` or `AUDITOR`, of the `REVIEWERS`, for a plan that rita asked for.
 */
import { ed25519 } from '@noble/curves/ed25519';
import { toBase64url } from '../../../src/rules/receipts/base64url';
import {
  RECEIPT_TYPES,
  claimsToRecord,
  type ApprovalClaims,
  type Claims,
  type RequestClaims,
} from '../../../src/rules/receipts/claims';
import { signReceipt } from '../../../src/rules/receipts/jws';
import { canonicalJson } from '../../../src/rules/recovery';
import type { RefusalCode } from '../../../src/rules/refusal';
import { AUDITOR, CLERK, approval, digest, nonce, request, seedOf, signer } from './support';

export interface Door {
  readonly journalId: string;
  readonly runId: string;
  readonly lineage: number;
  readonly planDigest: string;
  /** Unix milliseconds, to a minute. */
  readonly now: number;
}

export interface DoorRow {
  readonly what: string;
  readonly token: string;
  readonly code: RefusalCode | 'admitted';
}

const HOUR = 3_600;

/** `first`: the number of the first nonce, so that several tables for one plan do not meet. */
export function doorTable(door: Door, first = 1): readonly DoorRow[] {
  let number = first;
  const iat = Math.floor(door.now / 1000);
  const { journalId, runId, lineage, planDigest } = door;
  const bind = (): Omit<RequestClaims, 'kind'> => {
    number += 1;
    return { journalId, runId, lineage, planDigest, iat, exp: iat + HOUR, jti: nonce(number) };
  };
  const claims = (more: Partial<ApprovalClaims> = {}): ApprovalClaims => approval({ ...bind(), ...more });
  const row = (what: string, name: string, said: Claims, code: DoorRow['code']): DoorRow => ({
    what,
    token: signReceipt(said, signer(name)),
    code,
  });
  const raw = (
    what: string,
    header: object,
    code: RefusalCode,
    payload: string = canonicalJson(record()),
  ): DoorRow => ({
    what,
    token: sealed(JSON.stringify(header), payload),
    code,
  });
  const record = (): object => claimsToRecord(claims());
  const header = { alg: 'EdDSA', typ: RECEIPT_TYPES.approval, kid: 'key-ann' };
  const good = signReceipt(claims(), signer('ann'));

  return [
    row('an approval', 'ann', claims(), 'admitted'),
    row('another journal', 'ann', claims({ journalId: `jrn_${'9'.repeat(32)}` }), 'receipt_wrong_journal'),
    row('another run', 'ann', claims({ runId: `run_${'9'.repeat(32)}` }), 'receipt_wrong_run'),
    row('another plan', 'ann', claims({ planDigest: digest('another plan') }), 'receipt_wrong_plan'),
    row('another lineage', 'ann', claims({ lineage: lineage + 1 }), 'receipt_wrong_lineage'),
    row('a role that is not held', 'bob', claims({ role: AUDITOR }), 'receipt_wrong_role'),
    row('a role that may not decide', 'dan', claims({ role: CLERK }), 'receipt_wrong_role'),
    row('the requester', 'rita', claims(), 'receipt_requester'),
    row('the requester rejects', 'rita', claims({ decision: 'reject' }), 'receipt_requester'),
    row('a request of somebody else', 'ann', request(bind()), 'receipt_requester'),
    row('a revoked key', 'rex', claims(), 'receipt_revoked'),
    row('an unknown key', 'zoe', claims(), 'receipt_unknown_key'),
    row('an hour after its end', 'ann', claims({ iat: iat - 2 * HOUR, exp: iat - HOUR }), 'receipt_expired'),
    row('an hour too early', 'ann', claims({ iat: iat + HOUR, exp: iat + 2 * HOUR }), 'receipt_not_yet_valid'),
    row('a life of 31 days', 'ann', claims({ exp: iat + 31 * 24 * HOUR }), 'receipt_lifetime'),
    row('a life of no time', 'ann', claims({ exp: iat }), 'receipt_lifetime'),
    row('an approval of somebody else', 'bob', claims(), 'admitted'),
    {
      what: 'a signature of another key',
      token: signReceipt(claims(), { ...signer('bob'), kid: 'key-ann' }),
      code: 'receipt_unsigned',
    },
    { what: 'a damaged signature', token: `${good.slice(0, -4)}AAAA`, code: 'receipt_unsigned' },
    { what: 'no signature', token: good.slice(0, good.lastIndexOf('.') + 1), code: 'receipt_malformed' },
    { what: 'nothing', token: '', code: 'receipt_malformed' },
    { what: 'no receipt', token: 'approve', code: 'receipt_malformed' },
    { what: 'a receipt of 9 KiB', token: `${good}${'A'.repeat(9 * 1024)}`, code: 'receipt_malformed' },
    raw('alg none', { ...header, alg: 'none' }, 'receipt_malformed'),
    raw('alg HS256', { ...header, alg: 'HS256' }, 'receipt_malformed'),
    raw('alg ES256', { ...header, alg: 'ES256' }, 'receipt_malformed'),
    raw('a key in its header', { ...header, jwk: { kty: 'OKP' } }, 'receipt_malformed'),
    raw('an address of keys in its header', { ...header, jku: 'https://example.org/keys' }, 'receipt_malformed'),
    raw('crit', { ...header, crit: ['b64'] }, 'receipt_malformed'),
    raw('the type of any JWT', { ...header, typ: 'JWT' }, 'receipt_wrong_type'),
    raw('a sign-in', { ...header, typ: RECEIPT_TYPES.signin }, 'receipt_wrong_type'),
    raw('a launch', { ...header, typ: RECEIPT_TYPES.launch }, 'receipt_wrong_type'),
    raw('a request with the claims of an approval', { ...header, typ: RECEIPT_TYPES.request }, 'receipt_malformed'),
    raw('one claim more', header, 'receipt_malformed', canonicalJson({ ...record(), person: 'x' })),
    raw('a claim twice', header, 'receipt_malformed', `{"decision":"reject",${canonicalJson(record()).slice(1)}`),
  ];
}

/** Signed by ann, whatever it says. */
function sealed(header: string, payload: string): string {
  const text = [header, payload].map((part) => toBase64url(new Uint8Array(Buffer.from(part)))).join('.');
  return `${text}.${toBase64url(ed25519.sign(new Uint8Array(Buffer.from(text)), seedOf('ann')))}`;
}
