/**
 * What verification runs ask of people, as the journal says: launches to authorize, and what has to be checked again. Invariant: it is derived
 * anew from the records of runs, and kept nowhere; an item leads to how it is done, and starts nothing.
 */
import { Journal } from '../../activities/journal';
import { readRuns } from '../../activities/read-runs';
import type { Service } from '../../cli/service';
import type { Store } from '../../ports';
import { Refusal, type RefusalCode } from '../../rules/refusal';
import { deriveObligations, type Obligation } from '../../rules/verification/obligations';
import type { RunBook } from '../../rules/verification/run-book';
import { runIdOf } from '../../rules/verification/run';
import { receiptsOf } from '../../rules/verification/run-receipts';
import { runWorkflowId } from '../../rules/verification/run-workflow';
import { executions } from './executions';
import type { Item, ItemSource } from './item';

/** All runs of a journal are read for it, so it is not asked with every look at the list. */
const EVERY_MS = 15_000;
const RISKS = { user_action_required: 45, pending_capture: 35, launch_unauthorized: 38, broken: 70 } as const;

/** Those that are still owed, by their ids. */
export async function owedRechecks(journal: Journal): Promise<readonly Obligation[]> {
  return owedOf(await readRuns(journal));
}

export function verificationItems(service: Service, store: Store): ItemSource {
  let known: readonly Item[] = [];
  let readAt = -Infinity;
  return {
    list: async (limit) => {
      if (performance.now() - readAt >= EVERY_MS) {
        known = await allOf(service, new Journal(store));
        readAt = performance.now();
      }
      return { items: known.slice(0, limit), more: known.length > limit };
    },
  };
}

/** A journal in which one run does not read must not hide what else waits: it is an item itself. */
async function allOf(service: Service, journal: Journal): Promise<readonly Item[]> {
  let runs: ReadonlyMap<string, RunBook>;
  try {
    runs = await readRuns(journal);
  } catch (fault) {
    if (fault instanceof Refusal) return [brokenItem(fault.code)];
    throw fault;
  }
  return [...owedOf(runs).map(recheckItem), ...(await launchItems(service, [...runs.values()]))];
}

function owedOf(runs: ReadonlyMap<string, RunBook>): readonly Obligation[] {
  return deriveObligations(receiptsOf(runs)).filter(({ state }) => state !== 'fulfilled');
}

/** Of runs that somebody carries on: of any other, a receipt would permit nothing. */
async function launchItems(service: Service, runs: readonly RunBook[]): Promise<readonly Item[]> {
  const waiting = runs.filter(isWaiting);
  if (waiting.length === 0) return [];
  const running = new Set<string>();
  const query = "WorkflowType = 'verificationRun' AND ExecutionStatus = 'Running'";
  for await (const { execution } of executions(service, query)) running.add(execution?.workflowId ?? '');
  return waiting.filter(({ runId }) => running.has(runWorkflowId(runId))).map(launchItem);
}

/** A job is prepared, and nobody has authorized its launch. */
function isWaiting({ jobs, outcome, receipts }: RunBook): boolean {
  return (
    outcome === null && [...jobs.values()].some(({ state, jobId }) => state === 'prepared' && !receipts.has(jobId))
  );
}

function launchItem({ runId, jobs, must }: RunBook): Item {
  const done = [...jobs.values()].filter(({ state }) => state === 'completed').length;
  return {
    id: runId,
    kind: 'approval',
    name: `run of ${must.run.plan.checks.length} checks`,
    href: `/checks/${runId}`,
    session: null,
    reason: 'launch_unauthorized',
    asks: 'authorization of one launch',
    progress: `${done}/${jobs.size}`,
    since: null,
    risk: RISKS.launch_unauthorized,
  };
}

function brokenItem(reason: RefusalCode): Item {
  return {
    id: 'verification-runs',
    kind: 'review',
    name: 'runs of checks',
    href: '/checks',
    session: null,
    reason,
    asks: null,
    progress: null,
    since: null,
    risk: RISKS.broken,
  };
}

function recheckItem({ intentId, state, pending, proposals, committedAt, source }: Obligation): Item {
  return {
    id: `recheck-${hexOf(intentId)}`,
    kind: 'recheck',
    name: runIdOf(source.digest),
    href: `/rechecks/${hexOf(intentId)}`,
    session: null,
    reason: state,
    asks: null,
    progress: `${proposals.length - pending.length}/${proposals.length}`,
    since: committedAt,
    risk: state === 'fulfilled' ? 0 : RISKS[state],
  };
}

/** An intent in an address. */
export const hexOf = (intentId: string): string => intentId.slice('sha256:'.length);
