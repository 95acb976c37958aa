/**
 * `verificationRun`: the Temporal workflow of one verification run. Invariant: it ends only when the records of the run do, or when it
 * could not be opened; started again, it goes on from the records, so the same run is never made twice.
 */
import {
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunAct } from '../activities/verification-contract';
import { Refusal } from '../rules/refusal';
import { affirmationDigest, affirmationFromRecord } from '../rules/verification/affirmation';
import { runDigest, runFromRecord, runIdOf } from '../rules/verification/run';
import { runWorkflowId } from '../rules/verification/run-workflow';
import { sittingFromRecord } from '../rules/verification/sitting';
import { RunLoop, refused } from './run-loop';
import {
  affirmUpdate,
  applyUpdate,
  authorizeUpdate,
  cancelRunUpdate,
  obligationsQuery,
  openedUpdate,
  refreshUpdate,
  runStatusQuery,
  type RunStatus,
  type VerificationRunInput,
} from './run-messages';
import { statusOf } from './run-status';

/** Messages that one execution takes; people need a handful. */
const MOST_MESSAGES = 500;

export async function verificationRun(input: VerificationRunInput): Promise<RunStatus> {
  const loop = new RunLoop(input);
  const heard: Heard = { failure: null };
  listen(loop, heard);
  try {
    refuseMisnamed(input);
    await CancellationScope.nonCancellable(() => loop.run());
  } catch (fault) {
    // Anything else than a Temporal failure would be retried for ever as a failed workflow task.
    heard.failure = fault instanceof Refusal ? refused(fault.code, fault.message) : unwrapped(fault);
  }
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  if (heard.failure !== null) throw heard.failure;
  return statusOf(loop);
}

interface Heard {
  failure: unknown;
}

function refuseMisnamed({ run_id: runId, run }: VerificationRunInput): void {
  if (workflowInfo().workflowId !== runWorkflowId(runId)) {
    throw new Refusal('invalid_arguments', `the workflow of this run must be ${runWorkflowId(runId)}`, 'workflow_id');
  }
  if (run === undefined) return;
  // How many launched checks a run may have, the worker says.
  const digest = runDigest(runFromRecord(run, 'run', Number.MAX_SAFE_INTEGER));
  if (runIdOf(digest) !== runId) throw new Refusal('invalid_arguments', 'is not the id of this run', 'run_id');
}

/** What an activity refused, without what Temporal wrapped around it. */
function unwrapped(fault: unknown): unknown {
  const { cause } = fault as { readonly cause?: unknown };
  return cause instanceof ApplicationFailure ? cause : fault;
}

function listen(loop: RunLoop, heard: Heard): void {
  let messages = 0;
  const few = (): void => {
    if (messages >= MOST_MESSAGES) throw refused('receipt_not_wanted', 'too many messages for one run');
  };
  /** Throws why there is no such run, where it could not be opened. */
  const opened = async (): Promise<void> => {
    messages += 1;
    await condition(() => loop.isOpened || heard.failure !== null);
    if (!loop.isOpened) throw heard.failure;
  };
  const acted = async (act: RunAct): Promise<void> => {
    await opened();
    if (!loop.isClosed) throw refused('run_open', 'the run has not ended yet; wait for its end');
    await loop.act(act);
  };
  setHandler(runStatusQuery, () => statusOf(loop), { description: 'Where the run stands, job by job.' });
  setHandler(obligationsQuery, () => loop.obligations, { description: 'What has to be checked again of this run.' });
  setHandler(
    openedUpdate,
    async () => {
      await opened();
      return statusOf(loop);
    },
    { validator: few, description: 'Answers once the run is opened.' },
  );
  setHandler(
    authorizeUpdate,
    async (token) => {
      await opened();
      await loop.authorize(token);
      return statusOf(loop);
    },
    {
      validator: (token) => (few(), loop.check(token)),
      description: 'The signed receipt of the job that is waited for.',
    },
  );
  setHandler(
    refreshUpdate,
    async () => {
      await opened();
      await loop.refresh();
      return statusOf(loop);
    },
    { validator: few, description: 'Read journal and reviewers’ keys again.' },
  );
  setHandler(
    cancelRunUpdate,
    async () => {
      await opened();
      loop.cancel();
      await condition(() => loop.isClosed || heard.failure !== null);
      return statusOf(loop);
    },
    { validator: few, description: 'Launch nothing more, and end.' },
  );
  setHandler(
    applyUpdate,
    async (sitting) => {
      await acted({ does: 'apply', sitting });
      return loop.obligations;
    },
    {
      validator: (sitting) => (few(), void readable(() => sittingFromRecord(sitting))),
      description: 'A person has applied proposals of this run.',
    },
  );
  setHandler(
    affirmUpdate,
    async (affirmation) => {
      await acted({ does: 'affirm', affirmation });
      return affirmationDigest(affirmationFromRecord(affirmation));
    },
    {
      validator: (affirmation) => (few(), void readable(() => affirmationFromRecord(affirmation))),
      description: 'A person confirms an exact new target.',
    },
  );
  CancellationScope.current().cancelRequested.catch(() => loop.cancel());
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (fault) {
    if (fault instanceof Refusal) throw refused(fault.code, fault.message);
    throw fault;
  }
}
