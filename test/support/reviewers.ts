/** Reviewers for tests: a key set that a test can change at any moment, and people who sign what is asked of them. */
import { randomBytes } from 'node:crypto';
import type { Reviewers } from '../../src';
import type { Question } from '../../src/client';
import type { ApprovalClaims, Claims, RequestClaims, ResolutionClaims } from '../../src/rules/receipts/claims';
import type { Jwks } from '../../src/rules/receipts/jwks';
import { signReceipt } from '../../src/rules/receipts/jws';
import { Refusal } from '../../src/rules/refusal';
import { APPROVER, AUDITOR, entry, jwks, personOf, signer, type Entry } from '../rules/receipts/support';

export { APPROVER, AUDITOR, CLERK, personOf } from '../rules/receipts/support';

/** Ann and Bob approve, Ann audits as well; Rita does both, and asks. */
const PEOPLE: Readonly<Record<string, readonly string[]>> = {
  ann: [APPROVER, AUDITOR],
  bob: [APPROVER],
  cleo: [APPROVER],
  rita: [APPROVER],
};

export class TestReviewers implements Reviewers {
  /** Custody does not answer. */
  away = false;
  loads = 0;
  private readonly revoked = new Set<string>();
  private readonly handed = new Map<string, string>();

  constructor(private readonly people: Record<string, readonly string[]> = { ...PEOPLE }) {}

  load(): Promise<Jwks> {
    this.loads += 1;
    if (this.away) return Promise.reject(new Refusal('reviewers_unavailable', 'the reviewers’ keys cannot be had'));
    const entries = Object.entries(this.people).map(([name, roles]): Entry => {
      const holder = personOf(this.handed.get(name) ?? name);
      const revoked = this.revoked.has(name) ? { countersign_revoked: true } : {};
      return entry(name, roles, { countersign_person: holder, ...revoked });
    });
    return Promise.resolve(jwks(...entries));
  }

  revoke(name: string): void {
    this.revoked.add(name);
  }

  /** The key of `name` is somebody else's from now on. */
  hand(name: string, to: string): void {
    this.handed.set(name, to);
  }

  add(name: string, roles: readonly string[]): void {
    this.people[name] = roles;
  }
}

export interface Signing {
  /** Seconds since 1970. @default now */
  readonly iat?: number;
  /** Seconds after `iat`. @default an hour */
  readonly livesS?: number;
}

type Asked = Pick<Question, 'journalId' | 'runId' | 'lineage' | 'planDigest' | 'headDigest'>;

export function approvalOf(asked: Asked, who: string, more: Partial<ApprovalClaims> & Signing = {}): string {
  return sign(who, {
    kind: 'approval',
    ...common(asked, more),
    role: APPROVER,
    decision: 'approve',
    ...claimsIn(more),
  });
}

export function rejectionOf(asked: Asked, who: string, more: Partial<ApprovalClaims> & Signing = {}): string {
  return approvalOf(asked, who, { decision: 'reject', ...more });
}

export function requestOf(asked: Asked, who: string, more: Partial<RequestClaims> & Signing = {}): string {
  return sign(who, { kind: 'request', ...common(asked, more), ...claimsIn(more) });
}

export function resolutionOf(
  asked: Asked,
  who: string,
  more: Partial<ResolutionClaims> & Pick<ResolutionClaims, 'resolution'> & Signing,
): string {
  const { headDigest } = asked;
  const rest = { role: APPROVER, headDigest, actionIds: [], externalId: null };
  return sign(who, { kind: 'resolution', ...common(asked, more), ...rest, ...claimsIn(more) });
}

export function sign(who: string, claims: Claims): string {
  return signReceipt(claims, signer(who));
}

function common(
  { journalId, runId, lineage, planDigest }: Asked,
  { iat = Math.floor(Date.now() / 1000), livesS = 3_600 }: Signing,
): Omit<RequestClaims, 'kind'> {
  const jti = `nonce_${randomBytes(16).toString('hex')}`;
  return { journalId, runId, lineage, planDigest, jti, iat, exp: iat + livesS };
}

function claimsIn<T extends object>(more: T & Signing): Omit<T, keyof Signing> {
  const { livesS: _lives, iat: _iat, ...claims } = more;
  return claims;
}
