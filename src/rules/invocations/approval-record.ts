/**
 * A question to people as it stands in the log: as it was asked, before anybody has voted. Invariant: it is about one call with its
 * arguments, or about one limit, and never about both or neither.
 */
import { Fields, type Dict } from '../fields';
import { isRole } from '../receipts/names';
import type { RefusalCode } from '../refusal';
import { MOST_ESCALATIONS, REJECTIONS, isApprovalId, type Approval, type OnTimeout } from './approval';
import { callAt, digestAt, positionAt, ruleAt } from './record-fields';
import { SESSION_LIMITS, TRIGGERS } from './vocabulary';

/** An approval before anybody has voted. */
export type AskedApproval = Approval & { readonly status: 'pending' };

export function approvalToRecord(approval: Approval): Dict {
  return {
    approval_id: approval.approvalId,
    call_id: approval.callId,
    args_digest: approval.argsDigest,
    limit: approval.limit,
    reason: approval.reason,
    rule: approval.rule,
    route: approval.route,
    approvals_required: approval.approvals,
    expiry_ms: approval.expiryMs,
    expires_at: approval.expiresAt,
    on_timeout: typeof approval.onTimeout === 'string' ? approval.onTimeout : { escalate: approval.onTimeout.escalate },
    on_rejection: approval.onRejection,
    depth: approval.depth,
    after: approval.after,
  };
}

export function approvalFromRecord(value: unknown): AskedApproval {
  const at = new Fields(value, 'approval');
  const approval = approvalFields(at, 'approval');
  at.end();
  return approval;
}

export function approvalFields(at: Fields, path: string): AskedApproval {
  const asked = {
    approvalId: approvalAt(at, 'approval_id'),
    reason: at.oneOf('reason', ['policy', ...TRIGGERS] as const),
    rule: ruleAt(at),
    route: at.nullable('route', (field) => at.text(field, 'a role', isRole)),
    approvals: positionAt(at, 'approvals_required'),
    expiryMs: at.nullable('expiry_ms', (field) => at.count(field)),
    expiresAt: at.nullable('expires_at', (field) => at.count(field)),
    onTimeout: timeoutFrom(at.raw('on_timeout'), `${path}.on_timeout`),
    onRejection: at.oneOf('on_rejection', REJECTIONS),
    depth: at.count('depth'),
    after: at.nullable('after', (field) => approvalAt(at, field)),
    status: 'pending' as const,
    votes: [],
  };
  const callId = at.nullable('call_id', () => callAt(at));
  const argsDigest = at.nullable('args_digest', (field) => digestAt(at, field));
  const limit = at.nullable('limit', (field) => at.oneOf(field, SESSION_LIMITS));
  if (asked.depth > MOST_ESCALATIONS) at.refuse(`must be ${MOST_ESCALATIONS} at most`, 'depth');
  if ((asked.depth === 0) !== (asked.after === null)) at.refuse('is named by every question but the first', 'after');
  if ((asked.expiryMs === null) !== (asked.expiresAt === null)) at.refuse('goes with "expiry_ms"', 'expires_at');
  if (callId !== null && argsDigest !== null && limit === null) return { ...asked, callId, argsDigest, limit };
  if (callId === null && argsDigest === null && limit !== null) return { ...asked, callId, argsDigest, limit };
  return at.refuse('with "args_digest", or "limit" alone, says what is asked about', 'call_id');
}

/** `deny`, `allow`, or the roles to ask one after the other, of which there are no more than escalations. */
export function timeoutFrom(value: unknown, path: string, code?: RefusalCode): OnTimeout {
  if (value === 'deny' || value === 'allow') return value;
  const at = new Fields(value, path, code);
  const escalate = at
    .list('escalate', 1)
    .map((role) => (isRole(role) ? role : at.refuse('must list roles', 'escalate')));
  if (escalate.length > MOST_ESCALATIONS) at.refuse(`must list ${MOST_ESCALATIONS} at most`, 'escalate');
  at.end();
  return { escalate };
}

export function approvalAt(at: Fields, field: string): string {
  return at.text(field, '"apr_" and 32 lowercase hex digits', isApprovalId);
}
