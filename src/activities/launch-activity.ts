/**
 * Launching as Temporal activities. Invariant: who is calling, and when it was scheduled, comes from the server; a refusal is
 * final, and whatever else goes wrong is an execution that did not come back.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApplicationFailure, Context, log } from '@temporalio/activity';
import { jobWorkflowId, orderFromRecord } from '../rules/launches/job-order';
import { Refusal } from '../rules/refusal';
import type { Engine } from './engine';
import {
  LAUNCH_ACTIVITY,
  SETTLE_ACTIVITY,
  PUT_LAUNCH_ACTIVITY,
  STAGED_LAUNCH_ACTIVITY,
  STAGE_LAUNCH_ACTIVITY,
  SUBMIT_UPDATE,
  JOB_CHANGED_SIGNAL,
  type LaunchActivities,
  type StagedLaunch,
} from './launch-contract';
import { launch } from './launch';
import type { Carriers, LaunchCaller, LaunchEngine, LaunchPoint } from './launch-engine';
import { type Launchers } from './launchers';
import { forgetAnswer, keepAnswer, keptAnswer } from './put-answers';
import { settle } from './settle';
import { relieve, stoodBy } from './stand-by';
import { stageLaunch } from './stage-launch';

type TemporalClient = Context['client'];

export interface LaunchOptions {
  readonly launchers: Launchers;
  readonly launchRoles?: readonly string[];
  readonly atLaunch?: (point: LaunchPoint) => void | Promise<void>;
}

const HEARTBEAT_MS = 1_000;
/** Pauses between tries to tell a workflow what the journal knows already; without it the workflow finds out by its timers. */
const TELL_PAUSES_MS = [0, 500, 2_000, 5_000, 15_000, 30_000, 60_000];

export function createLaunchEngine(engine: Engine, options: LaunchOptions): LaunchEngine {
  const { journal, contents, reviewers, newOwner, now, withDeadline } = engine;
  return {
    ...{ journal, contents, reviewers, newOwner, now, withDeadline },
    launchers: options.launchers,
    launchRoles: options.launchRoles ?? null,
    newSecret: () => randomBytes(32).toString('hex'),
    warn: (sentence, about) => log.warn(`countersign: ${sentence}`, about),
    ...(options.atLaunch === undefined ? {} : { atLaunch: options.atLaunch }),
  };
}

/** Tells the workflows of jobs. Nothing rests on being told, so it waits for nothing and gives up in the end. */
export function carriersOver(client: () => TemporalClient | undefined): Carriers {
  const tell = (jobId: string, say: (handle: Handle) => Promise<unknown>): Promise<void> => {
    void (async () => {
      for (const pauseMs of TELL_PAUSES_MS) {
        await sleep(pauseMs, undefined, { ref: false });
        try {
          const handle = client()?.workflow.getHandle(jobWorkflowId(jobId));
          if (handle !== undefined) await say(handle);
          return;
        } catch (fault) {
          // It has ended, or refuses: it has read the journal itself.
          if (isFinal(fault)) return;
        }
      }
    })();
    return Promise.resolve();
  };
  return {
    submitted: (jobId, submission) =>
      tell(jobId, (handle) =>
        handle.startUpdate(SUBMIT_UPDATE, {
          args: [{ job_id: jobId, submission }],
          updateId: `submission-${submission.slice('sha256:'.length)}`,
          waitForStage: 'ACCEPTED',
        }),
      ),
    changed: (jobId) => tell(jobId, (handle) => handle.signal(JOB_CHANGED_SIGNAL)),
  };
}

type Handle = ReturnType<TemporalClient['workflow']['getHandle']>;

function isFinal(fault: unknown): boolean {
  return fault instanceof Error && ['WorkflowNotFoundError', 'WorkflowUpdateFailedError'].includes(fault.name);
}

export function createLaunchActivities(engine: LaunchEngine): LaunchActivities {
  return {
    [LAUNCH_ACTIVITY]: (request) =>
      refusing(async (context) => {
        const { client } = context;
        const beat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
        const { taskQueue } = context.info;
        const carriers = carriersOver(() => client);
        try {
          return await stoodBy({ request, taskQueue, client: () => client, warn: engine.warn }, () =>
            launch(engine, callerOf(context), carriers, request),
          );
        } finally {
          clearInterval(beat);
        }
      }),
    [SETTLE_ACTIVITY]: (request) =>
      refusing(async (context) => {
        const { client } = context;
        const result = await settle(engine, callerOf(context), request);
        // The first that a job's own workflow asks for of what an author's has launched.
        if (request.does.does === 'close' && result.refused === undefined) {
          relieve(() => client, orderFromRecord(request.order).jobId);
        }
        return result;
      }),
    [PUT_LAUNCH_ACTIVITY]: async (request) => {
      const context = Context.current();
      const { workflowId = '' } = context.info.workflowExecution ?? {};
      await keepAnswer(context, engine, request, () => stageLaunch(engine, workflowId, request.launch));
    },
    [STAGED_LAUNCH_ACTIVITY]: async (request) => {
      const context = Context.current();
      const answer = await keptAnswer<StagedLaunch>(context, engine, request, () => context.cancellationSignal.aborted);
      if (answer !== null) forgetAnswer(context, engine, request);
      return { answer };
    },
    [STAGE_LAUNCH_ACTIVITY]: (request) =>
      refusing(({ info }) => stageLaunch(engine, info.workflowExecution?.workflowId ?? '', request)),
  };
}

function callerOf({ info }: Context): LaunchCaller {
  return {
    workflowId: info.workflowExecution?.workflowId ?? null,
    scheduledAt: info.currentAttemptScheduledTimestampMs,
  };
}

async function refusing<T>(act: (context: Context) => Promise<T>): Promise<T> {
  try {
    return await act(Context.current());
  } catch (fault) {
    if (fault instanceof Refusal) throw ApplicationFailure.nonRetryable(fault.message, fault.code);
    throw fault;
  }
}
