/**
 * Properties of a launch whose author's workflow is not there to hear of it, on the real server. Nobody asks for it again, and:
 * - whatever became of that workflow (terminated, timed out, reset and gone another way, ended), while the launch was under way or
 *   between its answer and the next step: the job ends by itself, typed, as its author would have been told, and was launched once;
 * - so it does where the worker is killed in the middle of the launch, and another comes later;
 * - a launch that its author's workflow hears of leaves nothing behind that stands by, and a quick one has had nothing;
 * - who stands by a job that another carries leaves it alone.
 */
import path from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LauncherDefinition } from '../../../src';
import { standbyWorkflowId } from '../../../src/rules/launches/job-order';
import { processLauncher } from '../../../src/adapters/launchers';
import { startPaidProvider, type PaidProvider } from '../../systems/paid-provider';
import { startDying } from '../../support/dying-worker';
import { useRig } from '../../support/rig';
import {
  asked,
  authorizedStart,
  eventually,
  MODEL,
  paidLauncher,
  PROVIDER,
  reviewers,
  runOf,
  signed,
  startedBy,
  trackJob,
  WORKFLOWS,
  type StartedLaunch,
  type Wanted,
} from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
beforeEach(async () => {
  provider = await startPaidProvider();
});
afterEach(() => provider.close());

const paid = (): ReturnType<typeof rig.worker> =>
  rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers } });

const standbyOf = ({ launch }: StartedLaunch): WorkflowHandle =>
  rig.client.workflow.getHandle(standbyWorkflowId(launch.jobId));

/** What the job came to without its author; whatever stood by for it is replayed at the end, as the job is. */
async function endOf(started: StartedLaunch): Promise<unknown> {
  await eventually(() => runOf(started.job));
  const end: unknown = await started.job.result();
  const standby = standbyOf(started);
  await standby.result();
  rig.track({ client: rig.client, workflowId: standby.workflowId, runId: (await runOf(standby)) ?? '' });
  return end;
}

/** Starts a workflow that launches when told to, and can leave. */
async function toldToLaunch(more: Wanted): Promise<StartedLaunch> {
  const author = await rig.client.workflow.start('launchWhenTold', {
    workflowId: `author-${rig.taskQueue}`,
    taskQueue: rig.taskQueue,
    args: [asked(more)],
  });
  await eventually(async () => ((await eventsOf(author)).some(isFirstStep) ? true : null));
  await author.signal('tell', 'launch');
  const started = await startedBy(rig, author);
  await author.signal('authorize', signed(started.launch));
  trackJob(rig, started);
  return started;
}

type Events = Awaited<ReturnType<typeof rig.historyOf>>['events'];
const eventsOf = async (workflow: WorkflowHandle): Promise<Events> => (await rig.historyOf({ workflow })).events;
const isFirstStep = (event: Events[number]): boolean => 'workflowTaskCompletedEventAttributes' in event;
const isAnswer = (event: Events[number]): boolean => 'activityTaskCompletedEventAttributes' in event;

/** Starts a process that never submits, once it is let; counts its launches. */
class Gate {
  launches = 0;
  private letGo: () => void = () => undefined;
  private readonly open = new Promise<void>((resolve) => (this.letGo = resolve));

  let(): void {
    this.letGo();
  }

  get launcher(): LauncherDefinition {
    const script = path.resolve(__dirname, '../../adapters/launchers/worker.mjs');
    const inner = processLauncher({ command: process.execPath, args: [script, 'wait'], lifetimeMs: 60_000 });
    const launch: typeof inner.launch = async (job, context) => {
      this.launches += 1;
      await this.open;
      return inner.launch(job, context);
    };
    return { provider: PROVIDER, model: MODEL, launcher: { ...inner, deadlineMs: 30_000, launch } };
  }

  begun(): Promise<unknown> {
    return eventually(async () => (this.launches > 0 ? true : null));
  }
}

type Way = (author: WorkflowHandle) => Promise<unknown>;
const terminated: Way = (author) => author.terminate();
const WAYS: Record<string, Way> = {
  terminated,
  ended: async (author) => {
    await author.signal('tell', 'leave');
    expect(await author.result()).toBe('left');
  },
  'reset, and not told to launch any more': async ({ workflowId }) => {
    const { runId } = await rig.client.workflow.getHandle(workflowId).describe();
    await rig.client.workflowService.resetWorkflowExecution({
      namespace: rig.temporal.namespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: 3 as never, // declared Long, a number does
      requestId: `${runId}-reset`,
      reason: 'a test',
      resetReapplyExcludeTypes: [1], // its signals
    });
  },
};

describe('while the launch is under way, the author’s workflow is', () => {
  test.each(Object.entries(WAYS))('%s: its worker has its deadline', async (_name, goes) => {
    const gate = new Gate();
    await rig.worker({ plugin: { launchers: [gate.launcher], reviewers } });
    const started = await toldToLaunch({ runningDeadlineMs: 1_500, launchLeaseMs: 60_000 });
    await gate.begun();
    await goes(started.author);
    gate.let();
    // Long before the lease of the launch is over.
    expect(await endOf(started)).toMatchObject({ reason: 'running_deadline_exceeded', launched: 'yes' });
    expect(gate.launches).toBe(1);
  });

  test('terminated: a provider that never answers has its lease', async () => {
    provider.mode = 'hangs';
    await paid();
    const started = await authorizedStart(rig, { launchLeaseMs: 4_000 });
    await provider.arrived(1);
    await started.author.terminate();
    expect(await endOf(started)).toMatchObject({ reason: 'launch_outcome_unknown', launched: 'unknown' });
    expect(provider.requests()).toBe(1);
  });

  test('terminated: what its worker submits counts', async () => {
    provider.mode = 'holds';
    await paid();
    const started = await authorizedStart(rig, { launchLeaseMs: 60_000 });
    await provider.arrived(1);
    await eventually(() => runOf(standbyOf(started)));
    await started.author.terminate();
    provider.release();
    // The launch has answered with the end of the job, and takes away what stood by.
    await eventually(async () => ((await runOf(standbyOf(started))) === null ? true : null));
    const again = await rig.client.workflow.start('launchOne', {
      workflowId: started.author.workflowId,
      taskQueue: rig.taskQueue,
      args: [asked({ launchLeaseMs: 60_000 })],
    });
    expect(await again.result()).toMatchObject({ status: 'submission', replayed: true });
    expect(provider.requests()).toBe(1);
  });
});

test('terminated after the launch has answered, before it heard of it', async () => {
  const gate = new Gate();
  const taskQueue = `${rig.taskQueue}-launchers`;
  const authors = await rig.worker({ plugin: { reviewers } });
  await rig.worker({ taskQueue, plugin: { launchers: [gate.launcher], reviewers } });
  const started = await authorizedStart(rig, { runningDeadlineMs: 1_500, launchLeaseMs: 60_000, taskQueue });
  await gate.begun();
  await authors.stop();
  gate.let();
  await eventually(async () => ((await eventsOf(started.author)).some(isAnswer) ? true : null));
  await started.author.terminate();
  await rig.worker({ plugin: { reviewers } });
  expect(await endOf(started)).toMatchObject({ reason: 'running_deadline_exceeded', launched: 'yes' });
  expect(gate.launches).toBe(1);
});

test.each([{ maxCachedWorkflows: 100 }, { maxCachedWorkflows: 0 }])(
  'terminated, and the worker killed in the middle of the launch: %j',
  async (more) => {
    provider.mode = 'holds';
    const main = path.join(__dirname, 'worker-main.ts');
    const child = await startDying(rig, main, { killAt: 'never', providerUrl: provider.url });
    const started = await authorizedStart(rig, { launchLeaseMs: 6_000 });
    await provider.arrived(1);
    await eventually(() => runOf(standbyOf(started)));
    child.kill('SIGKILL');
    await started.author.terminate();
    await rig.worker({ ...more, plugin: { launchers: [paidLauncher(provider.url)], reviewers } });
    expect(await endOf(started)).toMatchObject({ reason: 'launch_outcome_unknown', launched: 'unknown' });
    expect(provider.requests()).toBe(1);
  },
);

describe('of a launch that its author hears of, there is', () => {
  test('nothing left that stands by, and of a quick one there has been nothing', async () => {
    await paid();
    const quick = await authorizedStart(rig);
    await quick.result();
    expect(await runOf(standbyOf(quick))).toBeNull();

    provider.mode = 'holds';
    const slow = await authorizedStart(rig);
    await eventually(() => runOf(standbyOf(slow)));
    provider.release();
    expect(await slow.result()).toMatchObject({ status: 'submission' });
    await eventually(async () => ((await runOf(standbyOf(slow))) === null ? true : null));
    expect(await runOf(slow.job)).toBeNull();
  });

  test('one carrier: who stood by goes, or leaves it alone', async () => {
    const gate = new Gate();
    await rig.worker({ plugin: { launchers: [gate.launcher], reviewers } });
    const started = await authorizedStart(rig, { runningDeadlineMs: 8_000, launchLeaseMs: 60_000 });
    await gate.begun();
    const runId = await eventually(() => runOf(standbyOf(started)));
    gate.let();
    expect(await started.result()).toMatchObject({ reason: 'running_deadline_exceeded', replayed: false });
    const left = await runOf(standbyOf(started));
    if (left !== null) expect(await standbyOf(started).result()).toMatchObject({ launched: 'yes' });
    expect([null, runId]).toContain(left);
    const runs = await eventsOf(started.job);
    expect(runs.filter((event) => 'workflowExecutionStartedEventAttributes' in event)).toHaveLength(1);
    expect(gate.launches).toBe(1);
  });
});
