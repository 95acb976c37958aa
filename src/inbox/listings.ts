/**
 * The sessions and verification runs of a namespace, newest first, to be looked at. Invariant: only what has a name of ours is listed, as
 * its name is its page; nothing is asked of a worker.
 */
import type { Service } from '../cli/service';
import { sessionOfWorkflow } from '../rules/invocations/names';
import { isRunId } from '../rules/recovery';
import { runWorkflowId } from '../rules/verification/run-workflow';
import { executions, memoOf, startOf, textOf, type Execution } from './items/executions';

export interface Listing {
  readonly name: string;
  readonly href: string;
  /** As far as its memo says so: a code. */
  readonly status: string | null;
  readonly isRunning: boolean;
  readonly startedAt: number | null;
}

export interface Listings {
  readonly rows: readonly Listing[];
  readonly more: boolean;
}

const MOST = 500;
const RUNNING = 1; // of WorkflowExecutionStatus

export function sessionsOf(service: Service): Promise<Listings> {
  return listed(service, 'toolSession', (execution) => {
    const name = sessionOfWorkflow(execution.execution?.workflowId ?? '');
    const status = textOf(memoOf(execution, 'countersign_session')['status']);
    return name === null ? null : { ...common(execution), name, href: `/sessions/${name}`, status };
  });
}

export function checksOf(service: Service): Promise<Listings> {
  return listed(service, 'verificationRun', (execution) => {
    const name = (execution.execution?.workflowId ?? '').replace(runWorkflowId(''), '');
    return isRunId(name) ? { ...common(execution), name, href: `/checks/${name}`, status: null } : null;
  });
}

const common = (execution: Execution): Pick<Listing, 'isRunning' | 'startedAt'> => ({
  isRunning: execution.status === RUNNING,
  startedAt: startOf(execution),
});

/** Each name once: the newest execution stands for it. */
async function listed(service: Service, type: string, of: (one: Execution) => Listing | null): Promise<Listings> {
  const rows = new Map<string, Listing>();
  for await (const execution of executions(service, `WorkflowType = '${type}'`)) {
    const row = of(execution);
    if (row !== null && rows.size >= MOST && !rows.has(row.name)) return { rows: [...rows.values()], more: true };
    if (row !== null && !rows.has(row.name)) rows.set(row.name, row);
  }
  return { rows: [...rows.values()], more: false };
}
