/**
 * What is asked of people about a parked plan, complete enough to judge an answer by. Invariant: every door (client, command line,
 * Update, `drive`) judges by a question and by nothing else, so they differ only in how fresh their question is.
 */
import { isActionId, isDigest, isRunId } from '../recovery';
import { Fields, type Dict } from '../fields';
import { isJournalId } from '../journal-record';
import { Refusal } from '../refusal';
import { admit, type Admission, type DecisionContext } from './admit';
import { mayDecide, ruleFromRecord, ruleToRecord, type ApprovalRule } from './approval-rule';
import { RECEIPT_KINDS, RECEIPT_TYPES, RESOLUTIONS, type ReceiptKind, type Resolution } from './claims';
import { isResolution, type Decision } from './decision';
import { findKey, keysFromRecord, keysToRecord, type Jwks } from './jwks';
import { decodeReceipt } from './jws';
import { isKeyId } from './names';

/** A receipt that is there already, without its text. */
export interface HeldReceipt {
  readonly digest: string;
  readonly kind: ReceiptKind;
  /** What it says: `request`, `approve`, `reject`, or the resolution. */
  readonly says: string;
  readonly role: string | null;
  readonly kid: string;
  /** Digest of the person. */
  readonly person: string;
  readonly expiresAt: number;
  readonly nonceName: string;
  readonly actionDigest: string;
}

export interface Question {
  readonly journalId: string;
  readonly runId: string;
  readonly lineage: number;
  readonly planDigest: string;
  readonly headDigest: string;
  /** Approvals are asked for. Otherwise `rules` only says who may resolve. */
  readonly asksApproval: boolean;
  readonly rules: readonly ApprovalRule[];
  /** Digest of the person that the plan names as having asked for it. */
  readonly requester: string | null;
  /** Digests of those who signed a request for it. */
  readonly requesters: readonly string[];
  /** Resolutions that would lead somewhere. */
  readonly resolutions: readonly Resolution[];
  /** Actions whose outcome nobody could prove: what `mark_committed` and `mark_absent` can be about. */
  readonly doubtful: readonly string[];
  readonly keys: Jwks;
  readonly have: readonly HeldReceipt[];
  /** Milliseconds until something follows from nobody having answered. */
  readonly deadlineMs: number | null;
}

/** The two doors of a workflow, and the receipts that each takes. */
export const ANSWERS = ['approve', 'resolve'] as const;
export type Answer = (typeof ANSWERS)[number];
const DOOR_OF: Record<ReceiptKind, Answer | null> = {
  request: 'approve',
  approval: 'approve',
  resolution: 'resolve',
  launch: null,
  signin: null,
};

/** Null of a kind that no door takes. */
export function doorOf(kind: ReceiptKind): Answer | null {
  return DOOR_OF[kind];
}

/**
 * Most receipts of one key in one lineage. All of them stand in every question, which has to fit into one payload: without an end
 * to it, a stolen key could fill a plan until nobody can be asked any more.
 */
export const MOST_OF_ONE_KEY = 32;

/** `door` is null where receipts of any kind come in together. */
export function admitAnswer(token: unknown, question: Question, now: number, door: Answer | null = null): Admission {
  try {
    const { kind } = decodeReceipt(token);
    if (door !== null && DOOR_OF[kind] !== door) {
      throw new Refusal('receipt_wrong_type', `${RECEIPT_TYPES[kind]} is not taken by "${door}"`, 'header.typ');
    }
    const decision = admit(token, contextOf(question, kind, now));
    refuseIdle(decision, question);
    refuseSecondVote(decision, question, now);
    refuseFlood(decision, question);
    return { ok: true, decision };
  } catch (fault) {
    if (fault instanceof Refusal) return { ok: false, refusal: fault };
    throw fault;
  }
}

function contextOf(question: Question, kind: ReceiptKind, now: number): DecisionContext {
  const { asksApproval, rules, resolutions, headDigest, requesters, have, ...same } = question;
  return {
    ...same,
    now,
    headDigest: resolutions.length === 0 ? null : headDigest,
    rules: asksApproval || kind === 'resolution' ? rules : [],
    requesters: new Set(requesters),
    seen: new Map(have.map(({ nonceName, actionDigest }) => [nonceName, actionDigest])),
  };
}

/** A resolution that could change nothing is refused, so that nobody believes to have decided something. */
function refuseIdle(decision: Decision, { resolutions, doubtful }: Question): void {
  if (!isResolution(decision)) return;
  const { resolution, actionIds } = decision.claims;
  if (!resolutions.includes(resolution)) {
    const offered = resolutions.join(', ');
    throw new Refusal(
      'receipt_not_wanted',
      `"${resolution}" answers nothing here; possible are: ${offered}`,
      'resolution',
    );
  }
  if (!actionIds.every((id) => doubtful.includes(id))) {
    throw new Refusal('receipt_not_wanted', 'names an action whose outcome is not in doubt', 'action_ids');
  }
}

/**
 * Nobody approves twice where they count once, by whichever of their keys. Who has approved may still reject; and an approval that has
 * expired, or whose key counts no more, is none.
 */
function refuseSecondVote({ claims, key, nonceName }: Decision, { rules, have, keys }: Question, now: number): void {
  if (claims.kind !== 'approval' || claims.decision === 'reject') return;
  // The same answer again, whose first answer was lost, is the same answer.
  if (have.some((held) => held.nonceName === nonceName)) return;
  const earlier = have.filter(
    (held) => held.says === 'approve' && held.person === key.person && now < held.expiresAt && stillCounts(held, keys),
  );
  const counts = rules.filter((rule) => mayDecide(rule, claims.role));
  const counted = (rule: ApprovalRule): boolean => earlier.some(({ role }) => role !== null && mayDecide(rule, role));
  if (earlier.length === 0 || !counts.every(counted)) return;
  throw new Refusal('receipt_voted', 'is of a person who has approved this already; somebody else must', 'kid');
}

function stillCounts({ kid, person, role }: HeldReceipt, keys: Jwks): boolean {
  const key = findKey(keys, kid);
  return key?.revoked === false && key.person === person && role !== null && key.roles.includes(role);
}

/** What ends the plan is heard from whoever may say it, however much was said before. */
function refuseFlood({ claims, key }: Decision, { have }: Question): void {
  const ends =
    (claims.kind === 'approval' && claims.decision === 'reject') ||
    (claims.kind === 'resolution' && claims.resolution === 'abort');
  if (ends || have.filter(({ kid }) => kid === key.kid).length < MOST_OF_ONE_KEY) return;
  const reason = `is of a key that has said ${MOST_OF_ONE_KEY} things about this lineage already; use another key`;
  throw new Refusal('receipt_not_wanted', reason, 'kid');
}

export function questionToRecord(question: Question): Dict {
  return {
    journal_id: question.journalId,
    run_id: question.runId,
    lineage: question.lineage,
    plan_digest: question.planDigest,
    head_digest: question.headDigest,
    asks_approval: question.asksApproval,
    rules: question.rules.map(ruleToRecord),
    requester: question.requester,
    requesters: question.requesters,
    resolutions: question.resolutions,
    doubtful: question.doubtful,
    keys: keysToRecord(question.keys),
    have: question.have.map(heldToRecord),
    deadline_ms: question.deadlineMs,
  };
}

export function questionFromRecord(value: unknown): Question {
  const at = new Fields(value, 'question');
  const question = {
    journalId: at.text('journal_id', 'a journal id', isJournalId),
    runId: at.text('run_id', 'a run id', isRunId),
    lineage: at.count('lineage'),
    planDigest: at.text('plan_digest', 'a sha256 digest', isDigest),
    headDigest: at.text('head_digest', 'a sha256 digest', isDigest),
    asksApproval: at.flag('asks_approval'),
    rules: at.list('rules').map((rule, index) => ruleFromRecord(rule, `question.rules[${index}]`)),
    requester: at.nullable('requester', (field) => at.text(field, 'a sha256 digest', isDigest)),
    requesters: at
      .list('requesters')
      .map((one) => (isDigest(one) ? one : at.refuse('must list digests', 'requesters'))),
    resolutions: at
      .list('resolutions')
      .map((one) => RESOLUTIONS.find((known) => known === one) ?? at.refuse('must list resolutions', 'resolutions')),
    doubtful: at.list('doubtful').map((one) => (isActionId(one) ? one : at.refuse('must list action ids', 'doubtful'))),
    keys: keysFromRecord(at.raw('keys')),
    have: at.list('have').map(heldFromRecord),
    deadlineMs: at.nullable('deadline_ms', (field) => at.count(field)),
  };
  at.end();
  return question;
}

function heldToRecord(held: HeldReceipt): Dict {
  return {
    receipt: held.digest,
    kind: held.kind,
    says: held.says,
    role: held.role,
    kid: held.kid,
    person: held.person,
    expires_at: held.expiresAt,
    nonce_name: held.nonceName,
    action_digest: held.actionDigest,
  };
}

function heldFromRecord(value: unknown, index: number): HeldReceipt {
  const at = new Fields(value, `question.have[${index}]`);
  const held = {
    digest: at.text('receipt', 'a sha256 digest', isDigest),
    kind: at.oneOf('kind', RECEIPT_KINDS),
    says: at.text('says', 'a short word', (text) => text.length <= 64),
    role: at.nullable('role', (field) => at.text(field, 'a role', (text) => text.length <= 512)),
    kid: at.text('kid', 'a key id', isKeyId),
    person: at.text('person', 'a sha256 digest', isDigest),
    expiresAt: at.count('expires_at'),
    nonceName: at.text('nonce_name', '64 hex digits', (text) => /^[0-9a-f]{64}$/.test(text)),
    actionDigest: at.text('action_digest', 'a sha256 digest', isDigest),
  };
  at.end();
  return held;
}

export function heldReceipt({ digest, claims, key, expiresAt, nonceName, actionDigest }: Decision): HeldReceipt {
  const { kid, person } = key;
  const said = {
    request: () => ({ says: 'request', role: null }),
    approval: () => (claims.kind === 'approval' ? { says: claims.decision as string, role: claims.role } : never()),
    resolution: () =>
      claims.kind === 'resolution' ? { says: claims.resolution as string, role: claims.role } : never(),
  }[claims.kind]();
  return { digest, kind: claims.kind, ...said, kid, person, expiresAt, nonceName, actionDigest };
}

function never(): never {
  throw new Error('a claim of another kind');
}
