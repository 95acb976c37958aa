/**
 * A look at a run, from everything that knows of it. Invariant: it asks and reads only; a run that is bound to another workflow or
 * another plan than the request names is refused before anything of it is told.
 */
import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { Journal } from '../../activities/journal';
import type { PlanHandle, PlanOutcome, PlanStatus, Question } from '../../client';
import type { WorkflowRequest } from '../../rules/governed/request';
import { reviewRequestDigest } from '../../rules/governed/review-request';
import { GovernedError, type GovernedStatus } from '../../rules/governed/vocabulary';
import type { GovernedPlan } from '../../rules/plans/plan';
import { isTerminalPhase, type RecoveryPhase } from '../../rules/recovery';
import { REFUSED_EXITS } from '../exit-codes';
import { failureOf } from '../failure';
import { statusOf } from '../follow';
import { readRun, type InspectedRun } from '../inspect-run';
import type { Service } from '../service';
import { journalStore, type Settings } from '../settings';
import {
  STATUS_OF_EXIT,
  standingOfJournal,
  standingOfMemo,
  standingOfOutcome,
  standingOfStatus,
  viewOf,
  type GovernedView,
  type Memo,
  type Standing,
} from './view';

export interface Seen {
  readonly view: GovernedView;
  readonly plan: GovernedPlan;
  /** Null unless an execution carries the run and a worker answers for it. */
  readonly live: {
    readonly handle: PlanHandle;
    readonly status: PlanStatus;
    readonly question: Question | null;
  } | null;
}

export async function look(service: Service, settings: Settings, request: WorkflowRequest): Promise<Seen> {
  const { runId } = request;
  const journal = (settings.journal ?? '') === '' ? null : journalStore(settings);
  const written = journal === null ? null : await readRun(journal, runId);
  const planned = journal === null ? null : await new Journal(journal).plan(runId);
  const found = await executionOf(service, runId);
  // Of a run that the journal knows, an execution with another plan was refused.
  const execution = planned !== null && found?.plan.planDigest !== planned.planDigest ? null : found;
  const plan = planned ?? execution?.plan;
  if (plan === undefined) {
    const reason = `no run of this id is known to the Temporal server${journal === null ? '' : ', or to the journal'}`;
    throw new GovernedError('input_invalid', `${reason}; open it first, as with "countersign run"`);
  }
  if (plan.runId !== runId)
    throw new GovernedError('service_result_invalid', 'what is kept as this run is another run');
  if (plan.workflowId !== request.workflowId || plan.planDigest !== request.actionDigest) {
    throw new GovernedError('action_conflict', 'this run is known under another workflow or another action');
  }
  const running = execution?.ended === false ? execution : null;
  const status = running === null ? null : await statusOf(service, running.handle);
  const live = running === null || status === null || isEnded(status) ? null : { handle: running.handle, status };
  if (live === null) {
    const standing = await atRest(service, written, execution, running !== null && status === null);
    return { view: viewOf(request, standing, plan.effects.length, null), plan, live: null };
  }
  const question = await service.soon(() => live.handle.approvals());
  const review = question === null ? null : reviewRequestDigest(question);
  const said = standingOfStatus(live.status);
  const approval = written?.head?.digest === said.head ? (written?.approval?.digest ?? null) : null;
  return {
    view: viewOf(request, { ...said, approval }, plan.effects.length, review),
    plan,
    live: { ...live, question },
  };
}

function isEnded({ state, phase }: PlanStatus): boolean {
  return state === 'closed' || isTerminalPhase(phase as RecoveryPhase);
}

interface Execution {
  readonly handle: PlanHandle;
  readonly plan: GovernedPlan;
  readonly ended: boolean;
  readonly memo: Memo;
}

async function executionOf(service: Service, runId: string): Promise<Execution | null> {
  const handle = service.plans.getHandle(runId);
  try {
    const described = await service.soon(() => handle.workflow.describe());
    const plan = await service.soon(() => handle.plan());
    const memo = described.memo?.['countersign'];
    const told = typeof memo === 'object' && memo !== null ? (memo as Memo) : {};
    return { handle, plan, ended: described.status.name !== 'RUNNING', memo: told };
  } catch (fault) {
    if (fault instanceof WorkflowNotFoundError) return null;
    throw fault;
  }
}

/** `silent`: an execution runs, and no worker answers for it. */
async function atRest(
  service: Service,
  written: InspectedRun | null,
  execution: Execution | null,
  silent: boolean,
): Promise<Standing> {
  if (written !== null) {
    const carrier = silent ? 'running' : execution === null ? 'none' : 'ended';
    const known = { execution: carrier, memo: execution?.memo ?? {} } as const;
    if (written.head !== null || execution === null || silent) return standingOfJournal(written, known);
  }
  if (execution === null || silent) {
    throw new GovernedError('adapter_unavailable', 'no worker answers for this run, and no journal is named');
  }
  return endOf(service, execution);
}

async function endOf(service: Service, { handle, memo }: Execution): Promise<Standing> {
  try {
    const outcome = await service.soon(() => handle.result());
    return standingOfOutcome(outcome, outcome.status === 'completed' ? 'completed' : 'cancelled');
  } catch (fault) {
    if (!(fault instanceof WorkflowFailedError)) throw fault;
    const status = statusOfFailure(fault);
    const outcome = outcomeIn(fault);
    return outcome === null ? standingOfMemo(memo, status) : standingOfOutcome(outcome, status);
  }
}

function statusOfFailure(fault: WorkflowFailedError): GovernedStatus {
  const { code, exit } = failureOf(fault);
  if (code === 'workflow_terminated' || code === 'workflow_timed_out') return 'unavailable';
  return STATUS_OF_EXIT[Object.hasOwn(REFUSED_EXITS, code) ? REFUSED_EXITS[code as keyof typeof REFUSED_EXITS] : exit];
}

/** A refused effect and a rejection say how the plan stood. */
function outcomeIn({ cause }: WorkflowFailedError): PlanOutcome | null {
  const said: unknown = cause instanceof ApplicationFailure ? cause.details?.[0] : null;
  return typeof said === 'object' && said !== null && 'effects' in said && 'head' in said
    ? (said as PlanOutcome)
    : null;
}
