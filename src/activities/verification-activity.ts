/**
 * Advancing a run as a Temporal activity. Invariant: who is calling, and when it was scheduled, comes from the server; a refusal is
 * final, and whatever else goes wrong is tried again, as every record is written once.
 */
import { ApplicationFailure, Context } from '@temporalio/activity';
import { Refusal } from '../rules/refusal';
import { MOST_SPECIALISTS } from '../rules/verification/run';
import { advance } from './advance';
import type { Checks } from './checks';
import type { LaunchEngine } from './launch-engine';
import type { RunEngine } from './run-engine';
import { ADVANCE_ACTIVITY, type VerificationActivities } from './verification-contract';

export interface RunOptions {
  readonly checks: Checks;
  readonly mostLaunchedChecks?: number;
  readonly atRecord?: RunEngine['atRecord'];
}

const HEARTBEAT_MS = 1_000;
/** After that it comes back and is asked again; a check that runs then may still take its whole deadline. */
const BUDGET_MS = 60_000;
/** What another try may not meet. */
const PASSING: readonly string[] = ['reviewers_unavailable'];

export function createRunEngine(engine: LaunchEngine, options: RunOptions): RunEngine {
  const { checks, mostLaunchedChecks = MOST_SPECIALISTS, atRecord } = options;
  return { ...engine, checks, mostLaunchedChecks, ...(atRecord === undefined ? {} : { atRecord }) };
}

export function createVerificationActivities(engine: RunEngine): VerificationActivities {
  return {
    [ADVANCE_ACTIVITY]: async (request) => {
      const context = Context.current();
      const beat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
      const until = performance.now() + BUDGET_MS;
      const { info, cancellationSignal } = context;
      const caller = {
        workflowId: info.workflowExecution?.workflowId ?? null,
        scheduledAt: info.currentAttemptScheduledTimestampMs,
        stopping: () => cancellationSignal.aborted || performance.now() > until,
      };
      try {
        return await advance(engine, caller, request);
      } catch (fault) {
        if (fault instanceof Refusal && !PASSING.includes(fault.code)) {
          throw ApplicationFailure.nonRetryable(fault.message, fault.code);
        }
        throw fault;
      } finally {
        clearInterval(beat);
      }
    },
  };
}
