/**
 * What a governed plan takes in and gives out: input, outcome, queries and Updates. Invariant: no content; names and shapes
 * here are an interface to users and scripts, and only grow.
 */
import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ParkReason, PreviewedEffect } from '../activities/contract';
import type { AllowedWorkers } from '../activities/tool-contract';
import type { Dict } from '../rules/fields';
import type { CarriedAnswers } from './answers';

/** Where a history stood in its journal; carried through continue-as-new. */
export interface KnownHead {
  readonly journal_id: string;
  /** @default 1 */
  readonly lineage?: number;
  readonly sequence: number;
  readonly digest: string;
}

export interface GovernedPlanInput {
  /** The content-free plan, as `countersign plan` or the client makes it. */
  readonly plan: Dict;
  /** The journal that this plan belongs to; a worker that writes another one refuses it. @default the first worker's */
  readonly journal_id?: string;
  /** Only look up what the sinks hold, write nothing, and return. @default false */
  readonly preview?: boolean;
  /** Task queue of the workers that have the plan's sinks. @default the workflow's own */
  readonly task_queue?: string;
  /** The call of a tool session that the plan is. @default it is none */
  readonly call_id?: string;
  /** Workers that may send it. @default every worker */
  readonly allow?: AllowedWorkers;
  /** Set by continue-as-new. */
  readonly known?: KnownHead;
  /** Set by whoever drove before, in another execution: a drive did not come back, so more may have happened than is known. */
  readonly begun?: boolean;
  /** Set by continue-as-new: what is asked of people, and what they have answered. */
  readonly answers?: CarriedAnswers;
  /** Set by continue-as-new. */
  readonly parked?: ParkedSince;
}

/** Why a person is waited for, with how many effects committed, and since when: unix milliseconds. */
export interface ParkedSince {
  readonly reason: NonNullable<PlanStatus['reason']>;
  readonly committed: number;
  readonly at: number;
}

/** What became of one effect. `unknown`: nobody could prove it; look at the sink. */
export interface EffectOutcome {
  readonly action_id: string;
  readonly tool_id: string;
  readonly state: 'committed' | 'not_sent' | 'unknown';
  /** Digest of the commit evidence; null unless committed. */
  readonly evidence: string | null;
}

export interface PlanOutcome {
  /** `permitted`: nothing of it is sent yet; whoever asked for the permission sends it. */
  readonly status: 'completed' | 'cancelled' | 'previewed' | 'permitted';
  readonly run_id: string;
  readonly journal_id: string;
  readonly lineage: number;
  /** The last checkpoint; null for a preview. */
  readonly head: { readonly sequence: number; readonly digest: string } | null;
  readonly effects: readonly EffectOutcome[];
  /** The run had been finished before: nothing was sent for this request. */
  readonly replayed: boolean;
  readonly preview: readonly PreviewedEffect[] | null;
}

export const PLAN_STATES = ['driving', 'waiting', 'parked', 'following', 'cancelling', 'closed'] as const;
export type PlanState = (typeof PLAN_STATES)[number];

export interface PlanStatus {
  readonly run_id: string;
  readonly journal_id: string | null;
  readonly state: PlanState;
  readonly phase: string | null;
  readonly lineage: number;
  readonly head: { readonly sequence: number; readonly digest: string } | null;
  /** Why a person is needed, or why the plan is waiting. */
  readonly reason: ParkReason | 'activity_failed' | 'settling' | 'another_driver' | null;
  readonly message: string | null;
  /** What people can answer; null while nothing is asked. The query `approvals` says all of it. */
  readonly asks: PlanAsks | null;
  /** When the sinks were asked last, unix milliseconds; null while they were not. */
  readonly observed_at: number | null;
  /** Since when it is parked for this reason, unix milliseconds; null while it is not. */
  readonly parked_at: number | null;
  /** When it goes on by itself, unix milliseconds; null while it is at work, or waits for people only. */
  readonly resumes_at: number | null;
  /** `unknown` without a doubt: it may have been sent since the sinks were asked, and will be looked up. */
  readonly effects: readonly (EffectOutcome & {
    readonly ordinal: number;
    /** Why its state is in doubt, or what proves it. */
    readonly doubt: string | null;
    readonly proof: string | null;
  })[];
}

export interface PlanAsks {
  /** Approvals are asked for: how many by each rule, and from which roles; null is any. */
  readonly approvals: readonly { readonly approvals: number; readonly roles: readonly string[] | null }[];
  /** Resolutions that would lead somewhere. */
  readonly resolutions: readonly string[];
  /** What is there already: `approve`, `reject`, `request`, or a resolution. */
  readonly have: readonly string[];
}

export interface PlanLineage {
  readonly run_id: string;
  readonly journal_id: string | null;
  readonly lineage: number;
  /** Checkpoint digests in order of their sequence. */
  readonly digests: readonly string[];
}

export const statusQuery = defineQuery<PlanStatus>('status');
export const lineageQuery = defineQuery<PlanLineage>('lineage');

/**
 * Looks at every sink again and goes on from what is found. Answers where that led. Refused as `stale_head` when a head is given
 * and the plan stands at another.
 */
export const reobserveUpdate = defineUpdate<PlanStatus, [expectedHead?: string]>('reobserve');

/** Sends nothing more, records what is committed and what is not, and ends the plan. Answers and is refused in the same way. */
export const cancelUpdate = defineUpdate<PlanStatus, [expectedHead?: string]>('cancel');

/** What is asked of people, from whom, and what is there: the record of `questionFromRecord`, or null. */
export const approvalsQuery = defineQuery<Dict | null>('approvals');

/** A signed approval, rejection or request, as compact JWS. Answers where it led; refused with the code of the reason. */
export const approveUpdate = defineUpdate<PlanStatus, [token: string]>('approve');

/** A signed resolution, as compact JWS. Answers where it led; refused with the code of the reason. */
export const resolveUpdate = defineUpdate<PlanStatus, [token: string]>('resolve');

/** From the author's workflow, which drove last: take the turn back. */
export const takeTurnSignal = defineSignal('take_turn');
