/**
 * `drive` as a Temporal activity. Invariant: it takes who is calling, and when it was scheduled, from the server and not from
 * its argument; it heartbeats while it runs and learns from that when it must stop.
 */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Reviewers, Spans, Store } from '../ports';
import { driverDigest } from '../rules/plans/identity';
import { activityMeter } from './activity-meter';
import { Contents } from './contents';
import {
  BEGIN_ACTIVITY,
  DRIVE_ACTIVITY,
  PUT_CALL_ACTIVITY,
  STAGE_ACTIVITY,
  type CountersignActivities,
  type DriveRequest,
  type DriveResult,
} from './contract';
import { withDeadline } from './deadline';
import { drive } from './drive';
import type { ApprovalPolicy, Caller, Engine, EnginePoint } from './engine';
import { Journal } from './journal';
import { measuredStore } from './measured-store';
import { beginCall, keepAnswer } from './put-answers';
import { Registry, type Effects } from './registry';
import { stageFor, stagedPlan } from './stage';
import { refuseWorker, type ToolStanding } from './tool-door';
import { reported } from './tool-report';

export interface DriveOptions {
  readonly store: Store;
  readonly contents: Store;
  readonly effects: Effects;
  readonly policy?: ApprovalPolicy;
  readonly reviewers?: Reviewers;
  /** False where no exporter would ever see a measurement. @default true */
  readonly measured?: boolean;
  readonly spans?: Spans;
  readonly standing?: ToolStanding;
  /** True from the moment that the worker is asked to shut down. */
  readonly shuttingDown: () => boolean;
  /** @default Date.now */
  readonly now?: () => number;
  readonly at?: (point: EnginePoint) => void | Promise<void>;
}

const HEARTBEAT_MS = 1_000;

export function newOwner(): string {
  return `own_${randomBytes(16).toString('hex')}`;
}

export function createEngine(
  options: Omit<DriveOptions, 'shuttingDown'>,
  registry = new Registry(options.effects),
): Engine {
  const monotonic = (): number => performance.now();
  const meter = options.measured === false ? undefined : activityMeter();
  const [store, contents] =
    meter === undefined
      ? [options.store, options.contents]
      : [
          measuredStore(options.store, 'journal', meter, monotonic),
          measuredStore(options.contents, 'contents', meter, monotonic),
        ];
  return {
    journal: new Journal(store),
    contents: new Contents(contents),
    registry,
    policy: options.policy ?? null,
    reviewers: options.reviewers ?? null,
    newOwner,
    now: options.now ?? Date.now,
    monotonic,
    sleep: (ms) => sleep(ms),
    withDeadline,
    ...(meter === undefined ? {} : { meter }),
    ...(options.spans === undefined ? {} : { spans: options.spans }),
    ...(options.standing === undefined ? {} : { standing: options.standing }),
    ...(options.at === undefined ? {} : { at: options.at }),
  };
}

export function createActivities(options: DriveOptions, engine = createEngine(options)): CountersignActivities {
  return {
    [STAGE_ACTIVITY]: (request) => stageFor(Context.current(), engine, request),
    async [PUT_CALL_ACTIVITY](request) {
      const context = Context.current();
      await keepAnswer(context, engine, request, () => stagedPlan(context, engine, request.call));
    },
    [DRIVE_ACTIVITY]: (request) => beating((context, caller) => driven(context, engine, caller, request), options),
    [BEGIN_ACTIVITY]: (request) =>
      beating(
        (context, caller) =>
          beginCall(context, engine, request, caller.stopping, (first) => driven(context, engine, caller, first)),
        options,
      ),
  };
}

async function driven(context: Context, engine: Engine, caller: Caller, request: DriveRequest): Promise<DriveResult> {
  refuseWorker(engine, request);
  const took_at = Math.max(Date.now(), context.info.currentAttemptScheduledTimestampMs);
  const result = await drive(engine, caller, request);
  const { standing } = engine;
  if (standing === undefined) return result;
  return reported(context, request, { ...result, worker: { identity: standing.identity, took_at } });
}

async function beating<T>(
  act: (context: Context, caller: Caller) => Promise<T>,
  { shuttingDown }: Pick<DriveOptions, 'shuttingDown'>,
): Promise<T> {
  const context = Context.current();
  const { info } = context;
  const execution = info.workflowExecution;
  let cancelled = context.cancellationSignal.aborted;
  context.cancellationSignal.addEventListener('abort', () => (cancelled = true));
  const beat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  const caller: Caller = {
    workflowId: execution?.workflowId ?? null,
    driver: driverDigest({
      namespace: info.namespace,
      workflowId: execution?.workflowId ?? info.activityId,
      temporalRunId: execution?.runId ?? info.activityId,
    }),
    scheduledAt: info.currentAttemptScheduledTimestampMs,
    stopping: () => cancelled || shuttingDown(),
  };
  try {
    return await act(context, caller);
  } finally {
    clearInterval(beat);
  }
}
