/**
 * What a workflow and `drive` say to each other. Invariant: wire types only; everything here stands in a Temporal history, so
 * nothing here is content, and no checkpoint bytes cross: the workflow derives each checkpoint again from its witness.
 */
import type { Dict } from '../rules/fields';
import type { PlanOrder } from '../rules/plans/plan';
import type { RefusalCode } from '../rules/refusal';
import type { AllowedWorkers, ReportTo } from './tool-contract';

/** The name under which the plugin registers `drive`. */
export const DRIVE_ACTIVITY = 'countersign.drive';

/**
 * Longest time that a worker may hold a workflow task of a plan. A worker that stands still goes on being given tasks until
 * this has passed; with Temporal's own 10 seconds, and twice that to find out, a takeover would come 15 seconds later.
 */
export const CARRIER_TASK_TIMEOUT_MS = 5_000;

/**
 * `drive` sends what is proven absent; `cancel` closes every slot and ends the plan; `follow` only reads the journal;
 * `preview` only looks up and writes nothing at all.
 */
export type DriveIntent = 'drive' | 'cancel' | 'follow' | 'preview';

/** Milliseconds that a durable timer has waited for one attempt of one effect: `[ordinal, attempt, ms]`. */
export type Waited = readonly [ordinal: number, attempt: number, ms: number];

export interface DriveRequest {
  readonly run_id: string;
  readonly lineage: number;
  readonly intent: DriveIntent;
  /** The content-free plan. A run that the journal knows under another plan is refused. */
  readonly plan: Dict;
  /** The journal that this history belongs to; null until the first answer. */
  readonly journal_id: string | null;
  /** The head that this history knows; null when it has seen none. */
  readonly expected_head: { readonly sequence: number; readonly digest: string } | null;
  /** A head that the journal must hold although this history has not seen what led there: a continued or resumed run. */
  readonly known_head?: { readonly lineage?: number; readonly sequence: number; readonly digest: string } | null;
  /** The epoch of the last execution that came back to this Temporal run; null when none did, or the last one failed. */
  readonly epoch: number | null;
  /** A person asked this workflow to go on although another driver has taken over. */
  readonly reclaim: boolean;
  readonly waited: readonly Waited[];
  /** Answers of people that no result has acknowledged yet, as compact JWS. */
  readonly receipts?: readonly string[];
  /** Milliseconds for which a lineage has waited for its approval. */
  readonly approval_waited?: number;
  /** Which lineage that was; another one has not waited yet. @default the request's */
  readonly approval_waited_in?: number;
  /** The call of a tool session that the plan is; its handler is told. Refused when the run is not that call's. */
  readonly call_id?: string;
  /** Workers that may drive it. @default every worker */
  readonly allow?: AllowedWorkers;
  /** Who else hears of it once it is done. @default nobody */
  readonly report?: ReportTo;
}

/** Refusals that end a plan before it has begun, and are a question to a person once it has. */
export const PARKABLE_REFUSALS = [
  'no_adapter',
  'wrong_journal',
  'journal_missing',
  'journal_behind',
  'journal_invalid',
  'content_missing',
  'chain_divergence',
] as const satisfies readonly RefusalCode[];
export type ParkableRefusal = (typeof PARKABLE_REFUSALS)[number];

export function isParkable(code: RefusalCode): code is ParkableRefusal {
  return (PARKABLE_REFUSALS as readonly RefusalCode[]).includes(code);
}

/** Why a plan waits for a person. */
export type ParkReason =
  | 'approval_missing'
  | 'approval_expired'
  | 'approval_revoked'
  | 'reviewers_unavailable'
  | 'ambiguous_effect'
  | 'effect_mismatch'
  | ParkableRefusal;

/** What one committed effect gave back: its digest in the content store, and the fields that its definition lists. */
export interface EffectResultRecord {
  readonly ordinal: number;
  readonly result_digest: string | null;
  readonly exposed: Readonly<Record<string, unknown>> | null;
}

/** What a look-up-only run found for one effect. */
export interface PreviewedEffect {
  readonly action_id: string;
  readonly tool_id: string;
  readonly state: 'absent' | 'committed' | 'changed' | 'ambiguous' | 'wait';
  readonly proof: string | null;
}

export type DriveStatus =
  /** The chain is terminal. */
  | {
      readonly status: 'done';
      readonly results?: readonly EffectResultRecord[];
      /** The code that a person gave for ending it. Absent where none did. */
      readonly reason_given?: string;
    }
  /** `question`: what people can answer (`questionFromRecord`); null where nobody is known who could. */
  | {
      readonly status: 'parked';
      readonly reason: ParkReason;
      readonly message: string;
      readonly question?: Dict | null;
    }
  /** Ask again after `ms`; the wait counts for the listed `[ordinal, attempt]` pairs. `message`: when it is not a sink that is waited for. */
  | {
      readonly status: 'waiting';
      readonly ms: number;
      readonly pending: readonly (readonly [ordinal: number, attempt: number])[];
      readonly message?: string;
    }
  /** The worker is shutting down, was asked to stop, or has used up its time: drive again. */
  | { readonly status: 'stopped' }
  /** Another driver holds the turn. */
  | { readonly status: 'fenced' }
  /** Everything is permitted, and another worker has to send it: this one only knows its tools. */
  | { readonly status: 'elsewhere' }
  /** Nothing has happened and nothing will. */
  | { readonly status: 'refused'; readonly code: RefusalCode; readonly message: string }
  | { readonly status: 'previewed'; readonly effects: readonly PreviewedEffect[] };

/** What became of one of the request's receipts: kept, by whichever driver, or refused for good. */
export interface ReceiptAnswer {
  readonly receipt: string;
  readonly refused: { readonly code: RefusalCode; readonly message: string } | null;
}

export type DriveResult = DriveStatus & {
  readonly journal_id: string;
  readonly epoch: number | null;
  /** The head of the chain after `steps`; null while there is none. The workflow must come to the same digest. */
  readonly head: { readonly sequence: number; readonly digest: string } | null;
  /** The chain was there and terminal before this request, so nothing was sent for it. */
  readonly replayed: boolean;
  /** One witness for each checkpoint behind `expected_head`, oldest first (checkpoint 0 follows from the plan alone). */
  readonly steps: readonly Dict[];
  readonly receipts?: readonly ReceiptAnswer[];
  /** Whoever the request names in `report` has heard of it. @default false */
  readonly reported?: boolean;
  /** The tool worker that answers, and when it took the task, unix milliseconds. Absent where any other worker answers. */
  readonly worker?: { readonly identity: string; readonly took_at: number };
  /** Of the call of a tool session: when each execution of it began, in order, unix milliseconds by the clocks of its workers. */
  readonly begun?: readonly number[];
};

/** The local activity that makes an author's call a content-free plan. */
/** As `PUT_CALL_ACTIVITY`, with the answer as its outcome: for histories that have it. */
export const STAGE_ACTIVITY = 'countersign.stage';
/** Makes a plan of an author's call and keeps it for `BEGIN_ACTIVITY`. A local activity, whose outcome nobody waits for. */
export const PUT_CALL_ACTIVITY = 'countersign.put_call';
/** Answers what became of a call that was put, and drives its plan at once where it is told to. */
export const BEGIN_ACTIVITY = 'countersign.begin';

export interface StagedCall {
  /** The name of the effect in the worker's record of effects. */
  readonly effect: string;
  readonly id: string;
  /** Content. The input of a local activity stands in no history. */
  readonly args: unknown;
}

/** A plan, and the journal that it begins in: no other may take it up. Histories from before that was told hold the plan alone. */
export interface StagedPlan {
  readonly plan: Dict;
  readonly journal_id: string;
}

/** A refusal is final; null: nothing was put yet. */
export type PutAnswer<Staged> =
  Staged | { readonly refused: { readonly code: RefusalCode; readonly message: string } } | null;

/** Names what is put in this execution of its workflow, and never anything else, whatever that comes to do after a task that was lost. */
export interface Put {
  readonly put: string;
}
/** Whoever asks for it waits, as a local activity that outlasted its workflow's task may still be at work. */
export interface Asked extends Put {
  readonly wait_ms: number;
}

export interface PutCallRequest extends Put {
  readonly call: StageRequest;
}

export interface BeginRequest extends Asked {
  readonly run_id: string;
  /** The journal that this history belongs to. Null until it is known; nothing is sent before. */
  readonly journal_id: string | null;
  readonly drives: boolean;
}
export interface BegunCall {
  readonly answer: PutAnswer<StagedPlan>;
  /** Null where nothing was driven. */
  readonly driven: DriveResult | null;
}

/** What `BEGIN_ACTIVITY` asks of the plan that was put. */
export function firstDrive({ run_id, journal_id }: BeginRequest, { plan }: StagedPlan): DriveRequest {
  return {
    ...{ run_id, lineage: 1, intent: 'drive', plan, journal_id },
    ...{ expected_head: null, known_head: null, epoch: null, reclaim: false, waited: [] },
  };
}

export interface StageRequest {
  readonly origin: string;
  /** The effect that is called; null for a plan of several. */
  readonly effect: string | null;
  readonly id: string;
  readonly order: PlanOrder;
  readonly calls: readonly StagedCall[];
}

/** The activities that the workflows call. */
export interface CountersignActivities {
  [DRIVE_ACTIVITY](request: DriveRequest): Promise<DriveResult>;
  [STAGE_ACTIVITY](request: StageRequest): Promise<StagedPlan | Dict>;
  [PUT_CALL_ACTIVITY](request: PutCallRequest): Promise<void>;
  [BEGIN_ACTIVITY](request: BeginRequest): Promise<BegunCall>;
}
