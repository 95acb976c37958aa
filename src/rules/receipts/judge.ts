/**
 * Whether a requirement is met by the receipts that were admitted. Invariant: the answer depends on which receipts there are,
 * never on their order; one more approval never makes it worse; the requester never counts; a rejection ends it.
 */
import type { ApprovalRule, Requirement } from './approval-rule';
import { mayDecide } from './approval-rule';
import { isApproval, isRequest, liveKey, type ApprovalReceipt, type Decision, type RequestDecision } from './decision';
import type { Jwks } from './jwks';

export type Judgement =
  /** No rule asks for anything. */
  | { readonly state: 'not_asked' }
  /** `receipts`: the digests of those that meet every rule for longest, sorted. */
  | { readonly state: 'met'; readonly receipts: readonly string[]; readonly expiresAt: number }
  /** `by`: digest of the rejection. */
  | { readonly state: 'denied'; readonly by: string; readonly kid: string; readonly person: string }
  | {
      readonly state: 'missing';
      readonly rules: readonly { readonly have: number; readonly need: number }[];
      /** A rule demands a signed request, and none is there. */
      readonly signedRequest: boolean;
      /** Approvals that no longer count, and why. */
      readonly expired: number;
      readonly revoked: number;
    };

export function judgeApprovals(
  { rules, requester }: Requirement,
  decisions: readonly Decision[],
  keys: Jwks,
  now: number,
): Judgement {
  if (rules.length === 0) return { state: 'not_asked' };
  const each = [...new Map(decisions.map((decision) => [decision.digest, decision])).values()].sort(longestFirst);
  const requesters = requestersOf(requester, each);
  const counted = each.filter(isApproval).filter(({ key }) => !requesters.has(key.person));
  const entitled = counted.filter((approval) => rules.some((rule) => mayDecide(rule, approval.claims.role)));

  // A rejection does not lapse: what was refused in time stays refused, whenever it is judged again.
  const [rejection] = entitled.filter((one) => one.claims.decision === 'reject' && holdsRole(one, keys));
  if (rejection !== undefined) {
    return { state: 'denied', by: rejection.digest, kid: rejection.key.kid, person: rejection.key.person };
  }
  const approvals = entitled.filter((one) => one.claims.decision === 'approve');
  const valid = approvals.filter((one) => holdsRole(one, keys) && now < one.expiresAt);
  const requests = rules.some((rule) => rule.signedRequest === true) ? [signedRequest(requester, each, keys, now)] : [];
  const chosen = rules.map((rule) => forRule(rule, valid, keys));
  const met = rules.every((rule, index) => chosen[index]?.length === rule.approvals);
  const used = [...chosen.flat(), ...requests].filter((one) => one !== null);
  if (met && !requests.includes(null)) {
    const receipts = [...new Set(used.map(({ digest }) => digest))].sort();
    return { state: 'met', receipts, expiresAt: Math.min(...used.map(({ expiresAt }) => expiresAt)) };
  }
  return {
    state: 'missing',
    rules: rules.map((rule, index) => ({ have: chosen[index]?.length ?? 0, need: rule.approvals })),
    signedRequest: requests.includes(null),
    expired: approvals.filter((one) => holdsRole(one, keys) && now >= one.expiresAt).length,
    revoked: approvals.filter((one) => !holdsRole(one, keys)).length,
  };
}

/** Digests of everybody who is known to have asked: named by the plan, or by a signed request. */
export function requestersOf(named: string | null, decisions: readonly Decision[]): ReadonlySet<string> {
  const signed = decisions.filter(isRequest).map(({ key }) => key.person);
  return new Set(named === null ? signed : [named, ...signed]);
}

/** The approvals that meet one rule for longest: of each person the one that lasts longest, of these no more than asked. */
function forRule(rule: ApprovalRule, valid: readonly ApprovalReceipt[], keys: Jwks): readonly ApprovalReceipt[] {
  const people = new Map<string, ApprovalReceipt>();
  for (const approval of valid) {
    const person = liveKey(approval, keys)?.person;
    if (person === undefined || people.has(person) || !mayDecide(rule, approval.claims.role)) continue;
    people.set(person, approval);
  }
  return [...people.values()].slice(0, rule.approvals);
}

function signedRequest(
  requester: string | null,
  decisions: readonly Decision[],
  keys: Jwks,
  now: number,
): RequestDecision | null {
  const valid = decisions.filter(isRequest).filter((request) => {
    const key = liveKey(request, keys);
    return key !== null && now < request.expiresAt && (requester === null || key.person === requester);
  });
  return valid[0] ?? null;
}

/** The key is live, and still holds the role in which it spoke. */
function holdsRole(approval: ApprovalReceipt, keys: Jwks): boolean {
  return liveKey(approval, keys)?.roles.includes(approval.claims.role) === true;
}

/** Those that last longest come first; of two that last equally long, always the same one. */
function longestFirst(a: Decision, b: Decision): number {
  return b.expiresAt - a.expiresAt || (a.digest < b.digest ? -1 : 1);
}
