/**
 * One question to people about one call, or about one limit of a session, from when it is asked to its end. Invariant: distinct people
 * decide, never the one who asked; a rejection ends it; at its very expiry it takes no vote any more; what is closed stays as it is;
 * and it is about the arguments that were shown, so other arguments are another question.
 */
import type { Dict } from '../fields';
import { canonicalJson, sha256Hex } from '../recovery';
import type { SessionLimit, Trigger } from './vocabulary';

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'escalated', 'expired'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

export const APPROVAL_VOTES = ['approve', 'reject'] as const;
export type ApprovalVote = (typeof APPROVAL_VOTES)[number];

export const REJECTIONS = ['return_to_agent', 'fail'] as const;
/** What a rejection does: a tool error for the model, or the end of the session. */
export type OnRejection = (typeof REJECTIONS)[number];

/** What follows when nobody has decided in time. `escalate`: whom to ask then, one after the other. */
export type OnTimeout = 'deny' | 'allow' | { readonly escalate: readonly string[] };

/** Longest line of people that one question may go through after those who were asked first. */
export const MOST_ESCALATIONS = 5;

/** How a rule wants people to be asked. */
export interface ApprovalTerms {
  /** The rule that asks. */
  readonly rule: string;
  /** The role of those who may decide; null: any reviewer's. */
  readonly route: string | null;
  /** Distinct people who must approve. */
  readonly approvals: number;
  /** How long each of them has; null for ever. */
  readonly expiryMs: number | null;
  readonly onTimeout: OnTimeout;
  readonly onRejection: OnRejection;
}

/** What an approval is about: a call with the arguments that were shown, or a limit of the session. */
export type ApprovalSubject =
  | { readonly callId: string; readonly argsDigest: string; readonly limit: null }
  | { readonly callId: null; readonly argsDigest: null; readonly limit: SessionLimit };

export type Approval = ApprovalTerms &
  ApprovalSubject & {
    readonly approvalId: string;
    /** Why a person is asked at all. */
    readonly reason: 'policy' | Trigger;
    /** Exclusive, unix milliseconds; null: it does not expire. */
    readonly expiresAt: number | null;
    /** 0 for the first question. */
    readonly depth: number;
    /** The question that nobody answered before this one. */
    readonly after: string | null;
    readonly status: ApprovalStatus;
    readonly votes: readonly Vote[];
  };

export interface Vote {
  /** Digest of the person. */
  readonly person: string;
  readonly decision: ApprovalVote;
}

export type VoteRefusal = 'approval_expired' | 'approval_requester' | 'approval_voted' | 'approval_arguments';

export type VoteStep =
  | { readonly verdict: 'moved'; readonly approval: Approval }
  /** It is closed: its status is the answer. */
  | { readonly verdict: 'same'; readonly approval: Approval }
  | { readonly verdict: 'refused'; readonly approval: Approval; readonly code: VoteRefusal; readonly why: string };

export interface Ballot extends Vote {
  readonly at: number;
  /** Digest of who asked; null when nobody is named. */
  readonly requester: string | null;
  /** The arguments that the person saw; null for a limit. */
  readonly argsDigest: string | null;
}

/** Of each subject the first question is 1, the next that a rule asks about it 2, and so on. */
export function approvalIdOf(session: string, subject: ApprovalSubject, question: number): string {
  const { callId, argsDigest, limit } = subject;
  return named({ session, call_id: callId, args_digest: argsDigest, limit, question });
}

/** The question that follows one that nobody answered. */
export function nextApprovalId(approvalId: string): string {
  return named({ after: approvalId });
}

export function isApprovalId(value: unknown): value is string {
  return typeof value === 'string' && /^apr_[0-9a-f]{32}$/.test(value);
}

export interface Asking {
  readonly session: string;
  readonly subject: ApprovalSubject;
  readonly reason: Approval['reason'];
  readonly terms: ApprovalTerms;
  readonly question: number;
  readonly at: number;
}

export function askApproval({ session, subject, reason, terms, question, at }: Asking): Approval {
  return {
    ...terms,
    ...subject,
    approvalId: approvalIdOf(session, subject, question),
    reason,
    expiresAt: terms.expiryMs === null ? null : at + terms.expiryMs,
    depth: 0,
    after: null,
    status: 'pending',
    votes: [],
  };
}

/** Exclusive: at that very moment nobody can vote any more. */
export function isOverdue({ expiresAt }: Pick<Approval, 'expiresAt'>, at: number): boolean {
  return expiresAt !== null && at >= expiresAt;
}

export function castVote(approval: Approval, ballot: Ballot): VoteStep {
  const { person, decision, at, requester, argsDigest } = ballot;
  const refused = (code: VoteRefusal, why: string): VoteStep => ({ verdict: 'refused', approval, code, why });
  if (approval.status !== 'pending') return { verdict: 'same', approval };
  if (isOverdue(approval, at)) return refused('approval_expired', 'came at or after its expiry');
  if (approval.argsDigest !== argsDigest) return refused('approval_arguments', 'is about other arguments; look again');
  if (person === requester) return refused('approval_requester', 'is of the person who asked');
  if (approval.votes.some((vote) => vote.person === person)) return refused('approval_voted', 'has been cast already');
  const votes = [...approval.votes, { person, decision }];
  return { verdict: 'moved', approval: { ...approval, votes, status: decided(votes, approval.approvals) } };
}

/** It went on to others, and they have not been asked yet. */
export function isUnfollowed({ approvalId, status }: Approval, approvals: readonly Approval[]): boolean {
  return status === 'escalated' && !approvals.some(({ after }) => after === approvalId);
}

/** What the clock makes of a question that is still open. */
export type Timeout =
  | { readonly becomes: 'pending' }
  /** `approved` only where the policy says that silence is consent. */
  | { readonly becomes: 'approved' | 'expired'; readonly approval: Approval }
  | { readonly becomes: 'escalated'; readonly approval: Approval; readonly next: Approval };

export function expireApproval(approval: Approval, at: number): Timeout {
  if (approval.status !== 'pending' || !isOverdue(approval, at)) return { becomes: 'pending' };
  const { onTimeout, depth } = approval;
  if (onTimeout === 'allow') return { becomes: 'approved', approval: { ...approval, status: 'approved' } };
  const [route, ...others] = onTimeout === 'deny' ? [] : onTimeout.escalate;
  if (route === undefined || depth >= MOST_ESCALATIONS) {
    return { becomes: 'expired', approval: { ...approval, status: 'expired' } };
  }
  const next: Approval = {
    ...approval,
    approvalId: nextApprovalId(approval.approvalId),
    route,
    onTimeout: others.length === 0 ? 'deny' : { escalate: others },
    expiresAt: approval.expiryMs === null ? null : at + approval.expiryMs,
    depth: depth + 1,
    after: approval.approvalId,
    votes: [],
  };
  return { becomes: 'escalated', approval: { ...approval, status: 'escalated' }, next };
}

/** The same whatever the order of the votes, of which each is of another person. */
function decided(votes: readonly Vote[], needed: number): ApprovalStatus {
  if (votes.some(({ decision }) => decision === 'reject')) return 'denied';
  return votes.length >= needed ? 'approved' : 'pending';
}

function named(identity: Dict): string {
  return `apr_${sha256Hex(canonicalJson({ domain: 'countersign.approval.v1', ...identity })).slice(0, 32)}`;
}
