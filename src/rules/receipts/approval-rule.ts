/**
 * What approval a plan needs. Invariant: a requirement is a list of rules, and every rule must be met; merging only ever adds
 * rules, so no effect, policy or plan can take away what another demands.
 */
import { canonicalJson, isDigest } from '../recovery';
import { Fields, type Dict } from '../fields';
import { Refusal } from '../refusal';
import { isRole } from './names';

/** What follows when an approval is not there in time. `escalate` lets holders of one more role decide as well. */
export type DeadlineAction = 'deny' | 'none' | { readonly escalate: string };

export interface ApprovalDeadline {
  /** Counted on a durable timer, from the moment that the plan began to wait. */
  readonly afterMs: number;
  readonly then: DeadlineAction;
}

export interface ApprovalRule {
  /** Distinct people, with distinct keys, who must approve: 1 or more. */
  readonly approvals: number;
  /** Any of these roles will do. Absent: any role of a reviewer. */
  readonly roles?: readonly string[];
  /** Who asked must have signed so, which makes sure that nobody approves a request of their own. @default false */
  readonly signedRequest?: boolean;
  readonly deadline?: ApprovalDeadline;
  /** Exclusive, unix milliseconds: from then on nobody's word is taken any more, by the clock of whoever takes it. @default never */
  readonly expiresAt?: number;
}

export interface Requirement {
  /** Empty: no approval is asked for. */
  readonly rules: readonly ApprovalRule[];
  /** Digest of the person who asked, as the plan names it. */
  readonly requester: string | null;
}

/** Somebody must approve, whoever it is. */
const ANY_APPROVAL: ApprovalRule = { approvals: 1 };
const MOST_APPROVALS = 100;

/** The rules of all effects together. `asked`: the plan itself wants an approval, which counts where no rule says how many. */
export function mergeRules(rules: readonly (ApprovalRule | null)[], asked: boolean): readonly ApprovalRule[] {
  const merged = new Map<string, ApprovalRule>();
  for (const rule of rules) {
    if (rule === null) continue;
    const read = ruleFromRecord(ruleToRecord(rule), 'approval_rule');
    merged.set(canonicalJson(ruleToRecord(read)), read);
  }
  if (merged.size === 0) return asked ? [ANY_APPROVAL] : [];
  return [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rule]) => rule);
}

export function mayDecide(rule: ApprovalRule, role: string): boolean {
  return rule.roles === undefined || rule.roles.includes(role);
}

export function isOpen({ expiresAt }: ApprovalRule, now: number): boolean {
  return expiresAt === undefined || now < expiresAt;
}

export interface Overdue {
  /** A deadline has passed whose action is `deny`. */
  readonly denied: boolean;
  /** The rules as they stand after their deadlines. */
  readonly rules: readonly ApprovalRule[];
  /** Milliseconds until the next deadline; null when there is none. */
  readonly nextMs: number | null;
}

/** What the deadlines of rules have come to after so much waiting. */
export function afterDeadlines(rules: readonly ApprovalRule[], waitedMs: number): Overdue {
  const passed = ({ deadline }: ApprovalRule): boolean => deadline !== undefined && waitedMs >= deadline.afterMs;
  const left = rules.flatMap((rule) =>
    rule.deadline === undefined || passed(rule) ? [] : [rule.deadline.afterMs - waitedMs],
  );
  return {
    denied: rules.some((rule) => passed(rule) && rule.deadline?.then === 'deny'),
    rules: rules.map((rule) => (passed(rule) ? escalated(rule) : rule)),
    nextMs: left.length === 0 ? null : Math.min(...left),
  };
}

function escalated(rule: ApprovalRule): ApprovalRule {
  const then = rule.deadline?.then;
  if (typeof then !== 'object' || rule.roles === undefined) return rule;
  return { ...rule, roles: rolesOf([...rule.roles, then.escalate]) };
}

export function requirementToRecord(requirement: Requirement): Dict {
  return { rules: requirement.rules.map(ruleToRecord), requester: requirement.requester };
}

export function requirementFromRecord(value: unknown, path = 'requirement'): Requirement {
  const at = new Fields(value, path);
  const requirement = {
    rules: at.list('rules').map((rule, index) => ruleFromRecord(rule, `${path}.rules[${index}]`)),
    requester: at.nullable('requester', (field) => at.text(field, 'a sha256 digest', isDigest)),
  };
  at.end();
  return requirement;
}

const MEMBERS: Record<keyof ApprovalRule, true> = {
  approvals: true,
  roles: true,
  signedRequest: true,
  deadline: true,
  expiresAt: true,
};

export function ruleToRecord(rule: ApprovalRule): Dict {
  // A misspelt member would quietly make a weaker rule.
  if (Object.keys(rule).some((name) => !Object.hasOwn(MEMBERS, name))) {
    throw new Refusal('invalid_record', `has a member other than ${Object.keys(MEMBERS).join(', ')}`, 'approval_rule');
  }
  const { deadline } = rule;
  return {
    approvals: rule.approvals,
    roles: rule.roles === undefined ? null : rolesOf(rule.roles),
    signed_request: rule.signedRequest ?? false,
    deadline: deadline === undefined ? null : { after_ms: deadline.afterMs, then: deadline.then },
    ...(rule.expiresAt === undefined ? {} : { expires_at: rule.expiresAt }),
  };
}

export function ruleFromRecord(value: unknown, path: string): ApprovalRule {
  const at = new Fields(value, path);
  const approvals = at.count('approvals');
  if (approvals < 1 || approvals > MOST_APPROVALS) at.refuse(`must be 1 to ${MOST_APPROVALS}`, 'approvals');
  const roles = at.nullable('roles', (field) =>
    rolesOf(at.list(field, 1).map((role) => (isRole(role) ? role : at.refuse('must list roles', field)))),
  );
  const signedRequest = at.flag('signed_request');
  const deadline = at.nullable('deadline', () => deadlineFromRecord(at.raw('deadline'), `${path}.deadline`));
  const expiresAt = at.optional<number | null>('expires_at', (field) => at.count(field), null);
  at.end();
  return {
    approvals,
    ...(roles === null ? {} : { roles }),
    ...(signedRequest ? { signedRequest } : {}),
    ...(deadline === null ? {} : { deadline }),
    ...(expiresAt === null ? {} : { expiresAt }),
  };
}

function deadlineFromRecord(value: unknown, path: string): ApprovalDeadline {
  const at = new Fields(value, path);
  const afterMs = at.count('after_ms');
  const then = at.raw('then');
  at.end();
  if (then === 'deny' || then === 'none') return { afterMs, then };
  const action = new Fields(then, `${path}.then`);
  const escalate = action.text('escalate', 'a role', isRole);
  action.end();
  return { afterMs, then: { escalate } };
}

function rolesOf(roles: readonly string[]): readonly string[] {
  return [...new Set(roles)].sort();
}
