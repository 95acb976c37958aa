/**
 * What a session's workflow and its activities say to each other. Invariant: wire types only; everything here stands in a Temporal
 * history, so nothing here is content: messages, arguments and results are named by their digest.
 */
import type { Dict } from '../rules/fields';
import type { SideEffectClass } from '../rules/sends/traits';

/** Appends to the session's log in the journal; may run any number of times. */
export const SESSION_LOG_ACTIVITY = 'countersign.session_log';
/** One answer of the model, recorded before anybody hears of it; what is recorded is never asked for again. */
export const SESSION_ROUND_ACTIVITY = 'countersign.session_round';
/** Makes a plan of each call of a recorded round, or says why not; may run any number of times. */
export const SESSION_PREPARE_ACTIVITY = 'countersign.session_prepare';

/** Writes down whom a call has to ask, other than at first; may run any number of times. */
export const SESSION_DEMAND_ACTIVITY = 'countersign.session_demand';
/** Reads what people have said of a call. */
export const SESSION_VOTES_ACTIVITY = 'countersign.session_votes';

export interface LogHead {
  readonly sequence: number;
  readonly digest: string;
}

/** `type` and `body` are those of the records of `rules/invocations`. */
export interface LogEvent {
  readonly type: string;
  /** Unix milliseconds, by the clock of the workflow. */
  readonly at: number;
  readonly body: Dict;
  /** Of an event that can happen to a call several times: which time it is. @default 1 */
  readonly time?: number;
}

interface OfSession {
  readonly session_id: string;
  /** The journal that this history belongs to; null until the first answer. */
  readonly journal_id: string | null;
}

export interface LogRequest extends OfSession {
  /** What the session is; of the first go. */
  readonly definition?: Dict;
  readonly events: readonly LogEvent[];
}

export interface LogResult {
  readonly journal_id: string;
  readonly head: LogHead;
}

export interface RoundRequest extends OfSession {
  readonly turn: number;
  readonly round: number;
  /** Digest of the message that began the turn. */
  readonly message: string;
}

export interface RoundCallRecord {
  readonly index: number;
  readonly tool: string;
  readonly args_digest: string;
}

export interface RoundResult {
  readonly journal_id: string;
  /** The message that the recorded turn began with. Not that of the request where this turn was another's, before a reset. */
  readonly message: string;
  /** Digest of the answer's text. */
  readonly text: string;
  readonly calls: readonly RoundCallRecord[];
  readonly usage: { readonly input: number; readonly output: number };
  readonly stop: string;
  /** It had been recorded before this execution. */
  readonly replayed: boolean;
}

export interface PrepareRequest extends OfSession {
  readonly turn: number;
  readonly round: number;
}

/** How a rule of a policy wants people to be asked; see `ApprovalTerms`. */
export interface TermsRecord {
  readonly rule: string;
  readonly route: string | null;
  readonly approvals: number;
  readonly expiry_ms: number | null;
  readonly on_timeout: 'deny' | 'allow' | { readonly escalate: readonly string[] };
  readonly on_rejection: 'return_to_agent' | 'fail';
}

/** A call that may go to a worker, once people have said yes to all of the terms. */
export interface PlannedToolCall {
  readonly status: 'planned';
  readonly plan: Dict;
  readonly terms: readonly TermsRecord[];
}

/** A call that leads nowhere. */
export interface RefusedToolCall {
  readonly status: 'refused';
  readonly code: 'policy:denied' | 'call:unknown_tool' | 'call:invalid_arguments' | 'call:conflict';
  /** The rule that denied it; null where none has. */
  readonly rule: string | null;
}

export type PreparedCall = {
  readonly index: number;
  readonly call_id: string;
  readonly tool: string;
  /** Null for a tool without a version. */
  readonly version: string | null;
  readonly side_effect: SideEffectClass;
  readonly args_digest: string;
  readonly capacity: 'queue' | 'native';
  readonly queue_wait_ms: number;
  readonly execution_ms: number;
} & (PlannedToolCall | RefusedToolCall);

/** `trigger`: why the call stands still. `rules`: who is to be asked now, of those that the policy names. */
export interface DemandRequest extends OfSession {
  readonly turn: number;
  readonly round: number;
  readonly index: number;
  readonly run_id: string;
  readonly plan_digest: string;
  /** Which demand of the call it is, from 2. */
  readonly demand: number;
  readonly for: { readonly trigger: string } | { readonly rules: readonly Dict[] };
}

export interface DemandResult {
  readonly journal_id: string;
  /** Null where no policy asks anybody. */
  readonly terms: readonly TermsRecord[] | null;
}

export interface VotesRequest extends OfSession {
  readonly call_id: string;
  readonly run_id: string;
}

/** What one person has said of a call. */
export interface VoteRecord {
  readonly person: string;
  readonly decision: 'approve' | 'reject';
  readonly role: string;
  readonly receipt: string;
}

export interface VotesResult {
  readonly journal_id: string;
  /** In the order of their receipts. */
  readonly votes: readonly VoteRecord[];
}

export interface PrepareResult {
  readonly journal_id: string;
  readonly calls: readonly PreparedCall[];
}

/** The activities that the workflows of sessions call. */
export interface SessionActivities {
  [SESSION_LOG_ACTIVITY](request: LogRequest): Promise<LogResult>;
  [SESSION_ROUND_ACTIVITY](request: RoundRequest): Promise<RoundResult>;
  [SESSION_PREPARE_ACTIVITY](request: PrepareRequest): Promise<PrepareResult>;
  [SESSION_DEMAND_ACTIVITY](request: DemandRequest): Promise<DemandResult>;
  [SESSION_VOTES_ACTIVITY](request: VotesRequest): Promise<VotesResult>;
}

export const SESSION_ACTIVITIES = [
  SESSION_LOG_ACTIVITY,
  SESSION_ROUND_ACTIVITY,
  SESSION_PREPARE_ACTIVITY,
  SESSION_DEMAND_ACTIVITY,
  SESSION_VOTES_ACTIVITY,
] as const satisfies readonly (keyof SessionActivities)[];
