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
/** Makes a plan of the question whether a session may go on behind a limit, where a policy asks anybody; may run any number of times. */
export const SESSION_LIMIT_ACTIVITY = 'countersign.session_limit';
/** Reads what people have said of a call. */
export const SESSION_VOTES_ACTIVITY = 'countersign.session_votes';

/** From an activity of a session to its workflow; see `HeldUpMessage`. */
export const HELD_UP_SIGNAL = 'countersign_held_up';

/** Why a worker could not do what another may be able to do. */
export const HELD_UP_CODES = ['no_adapter', 'wrong_journal', 'journal_missing', 'content_missing'] as const;
export type HeldUpCode = (typeof HELD_UP_CODES)[number];

/** `code`: null once it is done. `about`: what the worker lacks, as the name of a model or a tool. */
export interface HeldUpMessage {
  readonly activity: string;
  readonly code: HeldUpCode | null;
  readonly about: string | null;
}

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

/** `turn`: the last one that has begun. `round`: the last one of it that is answered; 0 while none is. */
export interface LogPlace {
  readonly turn: number;
  readonly round: number;
}

/** `place`: how far the log goes, which after a reset may be further than whoever writes it. */
export interface LogResult {
  readonly journal_id: string;
  readonly head: LogHead;
  readonly place: LogPlace;
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
  /** Until when they may answer, exclusive, unix milliseconds by the server's clock; null for ever. */
  readonly expires_at: number | null;
  readonly on_timeout: 'deny' | 'allow' | { readonly escalate: readonly string[] };
  readonly on_rejection: 'return_to_agent' | 'fail';
}

/** A call that may go to a worker, once people have said yes to all of the terms. */
export interface PlannedToolCall {
  readonly status: 'planned';
  readonly plan: Dict;
  readonly terms: readonly TermsRecord[];
  /** The last thing that was demanded of whoever drives it; 0 where nothing was. */
  readonly demand: number;
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
  /** @default the queue's own */
  readonly queue_bound?: number;
  readonly execution_ms: number;
  /** Of the tool as the session's workers know it: whoever sends the call must know it so, too. Null of a tool that nobody has. */
  readonly descriptor_hash: string | null;
} & (PlannedToolCall | RefusedToolCall);

/** Where a call stands among the answers of the model. */
export interface CallPlaceRecord {
  readonly turn: number;
  readonly round: number;
  readonly index: number;
}

/**
 * `trigger`: the call stands still; whom does a policy ask whether it may be sent? `doubt`: nobody knows what became of it; whom does a
 * policy ask for that? `rules`: who is to be asked now, of those that the policy names.
 */
export interface DemandRequest extends OfSession {
  readonly plan: Dict;
  /** Which demand of the call it is, as far as the caller knows. */
  readonly demand: number;
  readonly for:
    | { readonly trigger: string; readonly at: CallPlaceRecord }
    | { readonly doubt: string; readonly at: CallPlaceRecord }
    | { readonly rules: readonly Dict[] };
}

export interface DemandResult {
  readonly journal_id: string;
  readonly demand: number;
  /** Null where no policy asks anybody, and where the rules came with the request. */
  readonly terms: readonly TermsRecord[] | null;
  /** Of each rule, until when it is asked. */
  readonly expires: readonly (number | null)[];
}

export interface LimitRequest extends OfSession {
  readonly limit: string;
  /** From 1, how often this limit is reached. */
  readonly question: number;
}

export interface LimitResult {
  readonly journal_id: string;
  /** Null where no policy asks anybody. */
  readonly asked: PlannedToolCall | null;
}

export interface VotesRequest extends OfSession {
  readonly run_id: string;
  /** What people were asked about: a call, or a limit. */
  readonly call_id: string | null;
  readonly limit: string | null;
}

/** What one person has said of a call. */
export interface VoteRecord {
  readonly person: string;
  readonly decision: 'approve' | 'reject';
  readonly role: string;
  readonly receipt: string;
  /** When it was taken, unix milliseconds by the clock of the worker that took it. */
  readonly at: number;
}

export interface VotesResult {
  readonly journal_id: string;
  /** In the order in which they were taken. */
  readonly votes: readonly VoteRecord[];
  /** Questions that the log holds open; see `approvalFromRecord`. */
  readonly open: readonly Dict[];
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
  [SESSION_LIMIT_ACTIVITY](request: LimitRequest): Promise<LimitResult>;
  [SESSION_VOTES_ACTIVITY](request: VotesRequest): Promise<VotesResult>;
}

export const SESSION_ACTIVITIES = [
  SESSION_LOG_ACTIVITY,
  SESSION_ROUND_ACTIVITY,
  SESSION_PREPARE_ACTIVITY,
  SESSION_DEMAND_ACTIVITY,
  SESSION_LIMIT_ACTIVITY,
  SESSION_VOTES_ACTIVITY,
] as const satisfies readonly (keyof SessionActivities)[];
