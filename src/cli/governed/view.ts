/**
 * Where a run stands, in the words of the governed workflow commands. Invariant: each state that we know has one phase and one
 * status by tables, whoever it was learnt from: its execution, its journal, or how its execution ended.
 */
import type { ParkReason } from '../../activities/contract';
import type { PlanOutcome, PlanStatus } from '../../client';
import { IS_OK, type GovernedStatus } from '../../rules/governed/vocabulary';
import type { WorkflowRequest } from '../../rules/governed/request';
import { isTerminalPhase, RECOVERY_PHASES, type RecoveryPhase } from '../../rules/recovery';
import { actionPhaseAt, type ActionPhase } from '../../rules/recovery/action-phases';
import type { WitnessStep } from '../../rules/sends/witness';
import { PARKED_EXITS, type ExitName } from '../exit-codes';
import { isParkReason } from '../follow';
import type { InspectedRun } from '../inspect-run';

export interface GovernedView {
  readonly runId: string;
  readonly workflowId: string;
  readonly actionDigest: string;
  /** Digest of the head; null while there is no checkpoint. */
  readonly stateDigest: string | null;
  readonly phase: ActionPhase;
  readonly status: GovernedStatus;
  readonly proposedEffectCount: number;
  readonly committedEffectCount: number;
  /** Of the approval that the head records; in the answer of `resume`, of the receipt that it handed over. */
  readonly receiptDigest: string | null;
  /** Of the question that is put to people. */
  readonly reviewRequestDigest: string | null;
}

/** What one source says of a run. */
export interface Standing {
  readonly head: string | null;
  readonly checkpoint: RecoveryPhase | null;
  readonly committed: number;
  readonly status: GovernedStatus;
  readonly carried: boolean;
  readonly waits: boolean;
  readonly approval: string | null;
}

export function viewOf(
  { runId, workflowId, actionDigest }: WorkflowRequest,
  { head, checkpoint, committed, status, carried, waits, approval }: Standing,
  proposed: number,
  reviewRequest: string | null,
): GovernedView {
  return {
    runId,
    workflowId,
    actionDigest,
    stateDigest: head,
    phase: actionPhaseAt({ checkpoint, carried, waits }),
    status,
    proposedEffectCount: proposed,
    committedEffectCount: committed,
    receiptDigest: approval,
    reviewRequestDigest: reviewRequest,
  };
}

export function isEnded({ phase }: GovernedView): boolean {
  return phase === 'completed' || phase === 'aborted';
}

export function isOk({ status }: GovernedView): boolean {
  return IS_OK[status];
}

/** What a script should take an end of one of our own commands for. */
export const STATUS_OF_EXIT: Record<ExitName, GovernedStatus> = {
  done: 'ready',
  service_failure: 'failed',
  invalid_input: 'failed',
  denied: 'denied',
  review_required: 'review_required',
  cancelled: 'cancelled',
  conflict: 'conflict',
  no_adapter: 'unavailable',
  interrupted: 'failed',
};

/** How a chain ended, by its last step. */
const ENDED_BY: Record<WitnessStep, GovernedStatus> = {
  cancelled: 'cancelled',
  denied: 'denied',
  refused: 'denied',
  // These end no chain.
  advance: 'failed',
  approved: 'failed',
  opened: 'failed',
};

/** A running execution's own word. */
export function standingOfStatus(status: PlanStatus): Standing {
  const waits = status.state === 'parked';
  const why = waits && isParkReason(status.reason) ? status.reason : null;
  return {
    head: status.head?.digest ?? null,
    checkpoint: phaseOf(status.phase),
    committed: committedIn(status.effects),
    status: why === null ? (waits ? 'review_required' : 'ready') : statusOfParked(why),
    carried: true,
    waits,
    approval: null,
  };
}

function statusOfParked(reason: ParkReason): GovernedStatus {
  return STATUS_OF_EXIT[PARKED_EXITS[reason]];
}

/** What carries a run of the journal: an execution, one that has ended before its chain, or none that is known. */
export interface Carrier {
  readonly execution: 'running' | 'ended' | 'none';
  /** Its memo, which says whether and for what it was parked last. */
  readonly memo: Memo;
}
export type Memo = Readonly<Record<string, unknown>>;

export function standingOfJournal(run: InspectedRun, { execution, memo }: Carrier): Standing {
  const { phase, head, effects, approval, lastStep } = run;
  const lacksApproval = phase === 'planned' && effects.some(({ approvalRequired }) => approvalRequired);
  const parked = memo['state'] === 'parked';
  const reason = parked ? (memo['reason'] as PlanStatus['reason']) : null;
  const waits = parked || phase === 'reconciling' || lacksApproval;
  const asked = isParkReason(reason) ? statusOfParked(reason) : waits ? 'review_required' : 'ready';
  const open: GovernedStatus = execution === 'ended' ? 'unavailable' : asked;
  const ended: GovernedStatus = phase === 'completed' ? 'completed' : lastStep === null ? 'failed' : ENDED_BY[lastStep];
  return {
    head: head?.digest ?? null,
    checkpoint: phase,
    committed: committedIn(effects),
    status: phase !== null && isTerminalPhase(phase) ? ended : open,
    carried: execution === 'running',
    waits,
    approval: approval?.digest ?? null,
  };
}

/** What an execution gave back, or failed with. */
export function standingOfOutcome(outcome: Pick<PlanOutcome, 'head' | 'effects'>, status: GovernedStatus): Standing {
  return {
    head: outcome.head?.digest ?? null,
    checkpoint: status === 'completed' ? 'completed' : 'aborted',
    committed: committedIn(outcome.effects),
    status,
    carried: false,
    waits: false,
    approval: null,
  };
}

/** What the memo of an execution says that ended without a word. */
export function standingOfMemo(memo: Memo, status: GovernedStatus): Standing {
  const [committed = '0'] = String(memo['committed'] ?? '').split('/');
  return {
    head: typeof memo['head'] === 'string' ? memo['head'] : null,
    checkpoint: phaseOf(memo['phase']),
    committed: Number(committed) || 0,
    status,
    carried: false,
    waits: false,
    approval: null,
  };
}

function phaseOf(value: unknown): RecoveryPhase | null {
  return RECOVERY_PHASES.find((phase) => phase === value) ?? null;
}

function committedIn(effects: readonly { readonly state: string }[]): number {
  return effects.filter(({ state }) => state === 'committed').length;
}
