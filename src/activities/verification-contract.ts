/**
 * What a run's workflow and its activity say to each other. Invariant: wire types only; everything here stands in a Temporal
 * history, so nothing here is content; records come as the very lines of the journal, and are judged again where they arrive.
 */
import type { Dict } from '../rules/fields';
import type { RefusalCode } from '../rules/refusal';

/** Brings the records of a run up to what may follow by itself; may run any number of times. */
export const ADVANCE_ACTIVITY = 'countersign.verification';

/** Where the records of a run stand. */
export interface RunHead {
  readonly sequence: number;
  readonly digest: string;
}

/** What is wanted beside going on. */
export type RunAct =
  | { readonly does: 'go_on' }
  /** The receipt of a job that waits for one. */
  | { readonly does: 'authorize'; readonly job_id: string; readonly token: string }
  /** `expired`: nobody authorized it in time. `given_up`: nobody could be found to carry it, or it was cancelled. */
  | { readonly does: 'end'; readonly job_id: string; readonly why: 'expired' | 'given_up' }
  /** A person has applied proposals. */
  | { readonly does: 'apply'; readonly sitting: Dict }
  /** A person confirms a new target. */
  | { readonly does: 'affirm'; readonly affirmation: Dict };

export interface AdvanceRequest {
  readonly run_id: string;
  /** The journal that this history belongs to; null until the first answer. */
  readonly journal_id: string | null;
  /** What opens the run where it is not there yet; null: it has to be there. */
  readonly opening: { readonly run: Dict; readonly person: string; readonly captured_at: number } | null;
  /** The last record that the workflow was told about. */
  readonly known: RunHead | null;
  readonly act: RunAct;
}

export interface AdvanceResult {
  readonly journal_id: string;
  /** The records behind `known`, in order. */
  readonly records: readonly string[];
  /** It was stopped on the way: ask again. */
  readonly more: boolean;
  /** The run had ended before this execution. */
  readonly replayed: boolean;
  /** Whose receipt would count; null while none is waited for. */
  readonly keys: readonly Dict[] | null;
  /** Roles that may authorize; null: any that a reviewer's key holds. */
  readonly roles: readonly string[] | null;
  /** What was asked for was turned down. Nothing is recorded of it. */
  readonly refused: { readonly code: RefusalCode; readonly message: string } | null;
  /** What has to be checked again of this run, as it follows from the whole journal; null while the run is open. */
  readonly obligations: readonly Dict[] | null;
}

export interface VerificationActivities {
  [ADVANCE_ACTIVITY](request: AdvanceRequest): Promise<AdvanceResult>;
}
