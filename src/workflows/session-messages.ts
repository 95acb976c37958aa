/**
 * What a tool session takes in and gives out: input, status, queries and Updates. Invariant: no content; a message is named by its
 * digest in the content store, and names and shapes here only grow.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import { HELD_UP_SIGNAL, type HeldUpCode, type HeldUpMessage, type LogHead } from '../activities/session-contract';
import type { SideEffectClass } from '../rules/sends/traits';
import type { InvocationStatus, SessionLimit, SessionStatus } from '../rules/invocations/vocabulary';

export interface SessionTool {
  readonly tool: string;
  /** Null for a tool without a version. */
  readonly version: string | null;
  /** Its class for this agent, where that is more careful than its own. */
  readonly sideEffect?: SideEffectClass;
}

/** Null is no limit. */
export interface SessionLimits {
  /** Of all answers of the model together. */
  readonly tokens: number | null;
  /** Of one turn. */
  readonly rounds: number | null;
  /** From the start of the session, without the time for which people were waited for. */
  readonly wall_clock_ms: number | null;
}

export interface ToolSessionInput {
  readonly session_id: string;
  readonly agent_version: string;
  /** Name of a model that the session's workers have. */
  readonly model: string;
  readonly tools: readonly SessionTool[];
  /** Digest of what the model is told before anything else; null for nothing. */
  readonly instructions: string | null;
  /** Digest of the person who asks: their own approval of a call never counts. @default nobody is named */
  readonly requester?: string;
  /** `interactive`: somebody is expected to be there. `detached`: it goes on by itself. @default 'interactive' */
  readonly mode?: 'interactive' | 'detached';
  /** A turn of a `root` ends in `awaiting_input`, one of a `child` ends the session. @default 'root' */
  readonly kind?: 'root' | 'child';
  /** The first message. @default none yet */
  readonly message?: UserMessage;
  /** @default none */
  readonly limits?: Partial<SessionLimits>;
  /** The journal that the session belongs to; a worker that writes another one refuses it. @default the first worker's */
  readonly journal_id?: string;
  /** Set by continue-as-new. */
  readonly carried?: CarriedSession;
}

export interface UserMessage {
  /** Names the message: sent again under the same name, it is the same message. */
  readonly message_id: string;
  /** Digest of its text. */
  readonly message: string;
}

/** What goes through continue-as-new; only a session without calls under way continues as new. */
export interface CarriedSession {
  readonly turn: number;
  readonly round: number;
  /** The message of the turn that is not over; null between turns. */
  readonly asked: string | null;
  readonly inbox: readonly UserMessage[];
  readonly handled: readonly string[];
  readonly tokens: { readonly input: number; readonly output: number };
  readonly started_at: number;
  readonly waited_ms: number;
  /** How often people have let it go on behind each limit. @default never */
  readonly granted?: Partial<Record<SessionLimit, number>>;
  readonly log: LogHead;
  readonly journal_id: string;
}

/** One call of the round in hand. */
export interface CallStatus {
  readonly call_id: string;
  readonly run_id: string;
  readonly tool: string;
  readonly version: string | null;
  readonly status: InvocationStatus;
  readonly attempt: number;
  readonly code: string | null;
  /** Workflow at which people answer for it; null while nobody is asked. */
  readonly review: string | null;
}

/** No worker that tried could do what the session waits for. It goes on as soon as one can. */
export interface HeldUp {
  readonly code: HeldUpCode;
  /** What they lack, as the name of a model or a tool; null where the code says it all. */
  readonly about: string | null;
  /** Unix milliseconds. */
  readonly since: number;
}

export interface ToolSessionStatus {
  readonly session_id: string;
  readonly agent_version: string;
  readonly journal_id: string | null;
  readonly status: SessionStatus;
  /** Why it failed; null unless it has. */
  readonly failure: string | null;
  /** Null while nothing is known to hold it up. */
  readonly held_up: HeldUp | null;
  readonly turn: number;
  readonly round: number;
  /** Messages that wait for their turn. */
  readonly pending_messages: number;
  readonly calls: readonly CallStatus[];
  readonly tokens: { readonly input: number; readonly output: number };
  /** The last record of the log that stands in the journal. */
  readonly log: LogHead | null;
  /** Unix milliseconds. */
  readonly started_at: number;
  /** For how long people were waited for, in milliseconds. */
  readonly waited_ms: number;
}

export interface MessageTaken {
  readonly message_id: string;
  /** Turns that come before its own, the one under way among them. */
  readonly before: number;
}

export const sessionStatusQuery = defineQuery<ToolSessionStatus>('session_status');

/** From its own activities: whether a worker lacks what the session waits for. It changes what is shown, and nothing else. */
export const heldUpSignal = defineSignal<[HeldUpMessage]>(HELD_UP_SIGNAL);

/** A message of the user, whose text is in the content store. Answers as soon as it is taken; its turn follows in order. */
export const sendUpdate = defineUpdate<MessageTaken, [UserMessage]>('send');

/** Dispatches nothing more, records what became of every call, and ends the session. Answers when that is done. */
export const cancelSessionUpdate = defineUpdate<ToolSessionStatus, []>('cancel_session');

/** Ends the session when the turn under way is over. Refused while messages wait. Answers when that is done. */
export const completeSessionUpdate = defineUpdate<ToolSessionStatus, []>('complete_session');
