/**
 * All that a plan's page says, from whoever knows it: the history its plan begins with, the journal, and the execution that carries it.
 * Invariant: it asks and reads only; what one source cannot say is missing, never guessed; no content is in it.
 */
import { WorkflowNotFoundError } from '@temporalio/client';
import { statusOf } from '../cli/follow';
import { readRun, type InspectedRun } from '../cli/inspect-run';
import type { Service } from '../cli/service';
import type { PlanHandle, PlanStatus, Question } from '../client';
import { Journal } from '../activities/journal';
import { StoreError, type Store } from '../ports';
import { RecoveryError, isTerminalPhase } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { callOfPlan, type CallOfPlan } from '../rules/invocations/call-of-plan';
import { carriedPlan, type CarriedPlan } from '../plan-of-execution';
import type { GovernedPlan } from '../rules/plans/plan';
import { isApproval, isResolution, type Decision } from '../rules/receipts/decision';
import { decisionOf, receiptFromBytes } from '../rules/receipts/receipt-record';

/** Something that a person signed, as the journal keeps it. */
export interface Said {
  readonly receipt: string;
  readonly says: string;
  readonly role: string | null;
  readonly kid: string;
  readonly lineage: number;
  readonly signedAt: number;
  readonly expiresAt: number;
  /** Unix milliseconds, of the driver that kept it. */
  readonly keptAt: number;
}

export interface PlanLook {
  readonly runId: string;
  readonly plan: GovernedPlan;
  /** The call of a session that it is. */
  readonly call: CallOfPlan | null;
  /** Its own word. Null while no worker has answered for it. */
  readonly status: PlanStatus | null;
  /** No worker answers now: status and question are what was said last. */
  readonly silent: boolean;
  /** Null while nothing is asked. */
  readonly question: Question | null;
  /** Null without a journal, and of a run that it does not hold. */
  readonly written: InspectedRun | null;
  /** Why the journal does not say what it holds. */
  readonly journalFault: string | null;
  readonly said: readonly Said[];
}

/** Nobody has told this inbox how the plan stands, and the journal does not know it closed: who was told before knows better. */
export function isUntold({ silent, status, written }: PlanLook): boolean {
  const phase = written?.phase ?? null;
  return silent && status === null && (phase === null || !isTerminalPhase(phase));
}

/** Null of a run that nobody knows. `before` is what was seen last. */
export async function lookAt(
  service: Service,
  journal: Store | null,
  runId: string,
  before: PlanLook | null,
): Promise<PlanLook | null> {
  const handle = service.plans.getHandle(runId);
  const [carried, read] = await Promise.all([planOf(service, handle), readJournal(journal, runId)]);
  const plan = read.plan ?? carried?.plan ?? null;
  if (plan === null) return null;
  if (plan.runId !== runId) throw new Refusal('invalid_record', 'what is kept as this run is another run', 'run');
  // Of a run that the journal knows, an execution with another plan was refused.
  const isCarried = carried?.plan.planDigest === plan.planDigest;
  const live = isCarried ? await statusAndQuestion(service, handle) : null;
  const last = before?.plan.planDigest === plan.planDigest ? before : { status: null, question: null };
  const said = live ?? { status: last.status, question: last.question };
  const call = callOfPlan(plan, isCarried ? carried.callId : null);
  return { runId, plan, call, ...said, silent: carried !== null && live === null, ...read.told };
}

async function planOf({ client, soon }: Service, { workflowId }: PlanHandle): Promise<CarriedPlan | null> {
  try {
    return await soon(() => carriedPlan(client, workflowId));
  } catch (fault) {
    if (fault instanceof WorkflowNotFoundError || fault instanceof Refusal) return null;
    throw fault;
  }
}

async function statusAndQuestion(
  service: Service,
  handle: PlanHandle,
): Promise<Pick<PlanLook, 'status' | 'question'> | null> {
  const status = await statusOf(service, handle);
  if (status === null) return null;
  return { status, question: status.state === 'closed' ? null : await service.soon(() => handle.approvals()) };
}

interface Read {
  readonly plan: GovernedPlan | null;
  readonly told: Pick<PlanLook, 'written' | 'journalFault' | 'said'>;
}

async function readJournal(journal: Store | null, runId: string): Promise<Read> {
  if (journal === null) return { plan: null, told: { written: null, journalFault: null, said: [] } };
  let plan: GovernedPlan | null = null;
  try {
    plan = await new Journal(journal).plan(runId);
    return {
      plan,
      told: { written: await readRun(journal, runId), journalFault: null, said: await saidOf(journal, runId) },
    };
  } catch (fault) {
    if (!(fault instanceof RecoveryError || fault instanceof Refusal || fault instanceof StoreError)) throw fault;
    return { plan, told: { written: null, journalFault: fault.code, said: [] } };
  }
}

async function saidOf(journal: Store, runId: string): Promise<readonly Said[]> {
  const folder = `${runId}/receipts`;
  const names = (await journal.list(folder)).filter((name) => !name.startsWith('approval-'));
  const said = await Promise.all(
    names.map(async (name) => {
      const bytes = await journal.read(`${folder}/${name}`);
      if (bytes === null) return [];
      const record = receiptFromBytes(bytes);
      return [saidBy(decisionOf(record), record.receivedAt)];
    }),
  );
  return said.flat().sort((a, b) => a.keptAt - b.keptAt || (a.receipt < b.receipt ? -1 : 1));
}

function saidBy(decision: Decision, keptAt: number): Said {
  const { digest, key, claims, expiresAt } = decision;
  return {
    receipt: digest,
    says: isApproval(decision)
      ? decision.claims.decision
      : isResolution(decision)
        ? decision.claims.resolution
        : 'request',
    role: claims.kind === 'request' ? null : claims.role,
    kid: key.kid,
    lineage: claims.lineage,
    signedAt: claims.iat * 1000,
    expiresAt,
    keptAt,
  };
}
