/**
 * What a job's workflow and its activities say to each other. Invariant: wire types only; everything here stands in a Temporal
 * history, so nothing here is content, and no credential.
 */
import type { Dict } from '../rules/fields';
import type { Asked, Put, PutAnswer } from './contract';
import type { JobOutcome } from '../rules/launches/job-outcome';
import type { RefusalCode } from '../rules/refusal';
import type { JobReason } from '../rules/verification/job-states';

/** Claims and launches, in one execution; never tried again. */
export const LAUNCH_ACTIVITY = 'countersign.launch';
/** Reads, closes and ends in the journal; may run any number of times. */
export const SETTLE_ACTIVITY = 'countersign.settle';
/** Makes an author's launch an order without content; in histories from before a local activity where there is content in it. */
export const STAGE_LAUNCH_ACTIVITY = 'countersign.stage_launch';
/** The same for content, kept for `STAGED_LAUNCH_ACTIVITY`: a local activity, whose outcome nobody waits for. */
export const PUT_LAUNCH_ACTIVITY = 'countersign.put_launch';
export const STAGED_LAUNCH_ACTIVITY = 'countersign.staged_launch';

/** The type of a job's workflow. */
export const JOB_WORKFLOW = 'authorizedJob';
/** How a job's workflow is told that something about it stands in the journal. */
export const SUBMIT_UPDATE = 'submit';
export const JOB_CHANGED_SIGNAL = 'job_changed';

/** What the journal holds of a job. */
export interface JobFacts {
  /** `none`: nobody has taken the slot yet. `closed`: nobody ever will. */
  readonly slot: 'none' | 'closed' | 'begun';
  readonly owner: string | null;
  /** Unix milliseconds, by the clock of the owner. */
  readonly taken_at: number | null;
  /** How the launch ended; null while nobody has said it. */
  readonly end: 'acked' | 'refused' | 'not_sent' | null;
  readonly code: string | null;
  readonly outcome: Outcome | null;
}
export type Outcome =
  | { readonly outcome: 'submitted'; readonly submission: string }
  | {
      readonly outcome: 'ended';
      readonly reason: Extract<JobOutcome, { outcome: 'ended' }>['reason'];
      readonly refusal: string | null;
    };

/** Whether what was submitted is still in the content store, unchanged; null while nothing was. */
export type Stored = 'intact' | 'broken' | null;

export interface LaunchRequest {
  readonly order: Dict;
  /** What its author named it, in which workflow; absent of a job of a run. */
  readonly call?: NamedCall;
  /** The journal that this history belongs to; null until the first answer. */
  readonly journal_id: string | null;
  /** A launch receipt as compact JWS. */
  readonly receipt: string;
  /** Longest time that the launch may take here. */
  readonly lease_ms: number;
  /** What the job's own workflow has to know, where the calling one is gone by then. Authors of before did not say it. */
  readonly stand_by?: {
    /** Where workflows of the job's type are taken. */
    readonly task_queue: string;
    readonly running_deadline_ms: number;
  };
}

/** Held against the order, which follows from it. */
export interface NamedCall {
  readonly origin: string;
  readonly id: string;
  /** @default the calling workflow, where that is the author's */
  readonly workflow_id?: string;
}

/** Of the workflow `authorizedJob`. */
export interface AuthorizedJobInput {
  readonly order: Dict;
  /** What its author named it; absent of a job of a run. */
  readonly call?: NamedCall;
  /** The journal that the job belongs to. @default the first worker's */
  readonly journal_id?: string;
  /** A launch receipt as compact JWS. */
  readonly receipt: string;
  /** How long the worker may take, from the moment that it was seen to run. */
  readonly running_deadline_ms: number;
  /** How long until the outcome of the launch must be known. @default 120000 */
  readonly launch_lease_ms?: number;
  /** Task queue of the workers that have the launcher. @default the workflow's own */
  readonly task_queue?: string;
  /** A submission ends this workflow, and the run makes of it what follows. @default false */
  readonly projected_by_run?: boolean;
  /** The hand-off that whoever starts this workflow has made. @default it has made none */
  readonly handed_off?: HandedOff;
  /** Carries nothing itself: a job that is still open gets its own workflow, unless it has one. @default it carries the job */
  readonly stands_by?: {
    /** When it was to begin, from its start on; it can be told to begin before. */
    readonly in_ms: number;
  };
}

export interface HandedOff {
  /** `no`: proven to have launched nothing, so it may be handed off again. */
  readonly launched: 'no' | 'unknown';
  /** How long ago it began. */
  readonly ms_ago: number;
}

export type LaunchResult = { readonly journal_id: string } & (
  | {
      /** This very execution took the slot, and launched or did not, as the facts say. */
      readonly status: 'claimed';
      readonly facts: JobFacts;
      readonly stored: Stored;
    }
  /** Somebody else has, or had, the slot, or the job is over. Nothing was launched here. */
  | { readonly status: 'taken'; readonly facts: JobFacts; readonly stored: Stored }
  /** Nothing was launched, and nothing will be on this receipt. */
  | {
      readonly status: 'turned_down';
      readonly reason: Extract<
        JobReason,
        'authorization_expired' | 'authorization_invalid' | 'context_integrity_failed'
      >;
      readonly code: RefusalCode;
      readonly message: string;
    }
  /** Nothing was launched here; another worker, or a later try, may. */
  | { readonly status: 'not_here'; readonly code: RefusalCode; readonly message: string }
);

export interface SettleRequest {
  readonly order: Dict;
  readonly journal_id: string | null;
  /** The one on which the job is carried; without one nothing can be but looked at. */
  readonly receipt?: string;
  readonly does:
    | { readonly does: 'look' }
    /** Takes the slot for nobody, unless somebody has it. */
    | { readonly does: 'close' }
    /** Ends the job without a submission, unless it came to something before. */
    | ({ readonly does: 'end' } & Omit<Extract<Outcome, { outcome: 'ended' }>, 'outcome'>);
}

export interface SettleResult {
  readonly journal_id: string;
  readonly facts: JobFacts;
  readonly stored: Stored;
  /** Why nothing was written: the receipt is none of this job. */
  readonly refused?: string;
}

export interface StageLaunchRequest {
  readonly origin: string;
  readonly id: string;
  readonly provider: string;
  readonly model: string;
  readonly cost_ceiling: number;
  readonly content_boundary: string;
  /** Content, or a Ref. */
  readonly context: unknown;
}

export interface StagedLaunch {
  readonly journal_id: string;
  readonly order: Dict;
  /** Of a call that was begun or has ended: what the journal holds, and the receipt on which it was begun. */
  readonly before?: Omit<SettleResult, 'journal_id'> & { readonly receipt: string | null };
}

/** The activities that the workflows of launches call. */
export interface LaunchActivities {
  [LAUNCH_ACTIVITY](request: LaunchRequest): Promise<LaunchResult>;
  [SETTLE_ACTIVITY](request: SettleRequest): Promise<SettleResult>;
  [STAGE_LAUNCH_ACTIVITY](request: StageLaunchRequest): Promise<StagedLaunch>;
  [PUT_LAUNCH_ACTIVITY](request: Put & { readonly launch: StageLaunchRequest }): Promise<void>;
  [STAGED_LAUNCH_ACTIVITY](request: Asked): Promise<{ readonly answer: PutAnswer<StagedLaunch> }>;
}
