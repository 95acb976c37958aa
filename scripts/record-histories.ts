/**
 * Records the histories of plans under `test/histories/<version>`, with their journal: one execution for each way in which a plan can
 * go. The histories of released versions stay, so that later ones are held to what they wrote.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { CountersignPlugin } from '../src';
import { fileStore } from '../src/adapters/stores';
import { PlanClient, type PlanHandle } from '../src/client';
import { countingSink, startCountingServer, type CountingMode, type Fault } from '../src/testing';
import { CONTENT, createWorker, eventually, recordInto, type Recording, type RecordingPlaces } from './dev/recording';

const OTHER = 'other';

interface Setting {
  readonly places: RecordingPlaces;
  readonly sinkUrl: string;
}

const toolId = (mode: CountingMode): string => `tool:example.org/${mode}@1.0.0`;

function plugin({ places, sinkUrl: url }: Setting, killAt: string | null = null): CountersignPlugin {
  const limits = { deadlineMs: 5_000, settleMs: 1_000 };
  return new CountersignPlugin({
    store: fileStore(places.journal),
    contents: fileStore(places.contents, { createRoot: true }),
    effects: (['enforcing', 'lookup', 'blind'] as const).map((mode) => ({
      toolId: toolId(mode),
      sink: countingSink({ url, mode, ...limits }),
    })),
    at: (point) => {
      if (point === killAt) process.kill(process.pid, 'SIGKILL');
    },
  });
}

/** This program again, as a worker that is killed when it has ended a send. */
async function runToBeKilled(setting: Setting): Promise<void> {
  const connection = await NativeConnection.connect({ address: setting.places.address });
  await (await createWorker(connection, { plugin: plugin(setting, 'ended') })).run();
}

class Plans {
  private readonly plans: PlanClient;

  constructor(
    private readonly recording: Recording,
    private readonly sinks: Awaited<ReturnType<typeof startCountingServer>>,
  ) {
    this.plans = this.plansOf(recording.client);
  }

  async all(): Promise<void> {
    const stop = await this.startWorker();
    await this.record('completed-1-effect', ['lookup']);
    await this.record('completed-3-effects', ['enforcing', 'lookup', 'blind']);
    await this.record('rejected', ['lookup', 'enforcing'], { faults: [{ fault: 'status', status: 400 }] });
    await this.record('cancelled-by-update', ['blind', 'lookup'], {
      faults: [{ fault: 'drop_reply' }],
      meanwhile: async (handle) => {
        await until(handle, 'parked');
        await handle.cancel();
      },
    });
    await this.record('parked-and-reobserved', ['lookup'], {
      faults: [{ fault: 'wrong_digest', times: 0 }],
      meanwhile: async (handle) => {
        await until(handle, 'parked');
        await handle.reobserve();
        this.sinks.faults.clear();
        await handle.reobserve();
      },
    });
    await this.record('waited-in-flight', ['lookup', 'enforcing'], { faults: [{ fault: 'in_flight', times: 2 }] });
    await this.continuedAsNew();
    await this.overtaken();
    const plan = await this.plans.prepare(draft('previewed', ['lookup', 'blind']));
    await this.plans.preview(plan);
    await this.recording.keep('previewed', `${this.plans.getHandle(plan.runId).workflowId}/preview`);
    await stop();
    await this.workerKilled();
  }

  private async record(
    name: string,
    modes: readonly CountingMode[],
    story: { faults?: readonly Fault[]; meanwhile?: (handle: PlanHandle) => Promise<void> } = {},
  ): Promise<void> {
    this.sinks.faults.programme(story.faults ?? []);
    const handle = await this.plans.start(await this.plans.prepare(draft(name, modes)));
    await story.meanwhile?.(handle);
    await handle.result().catch(() => undefined);
    this.sinks.faults.clear();
    await this.recording.keep(name, handle.workflowId);
  }

  private async continuedAsNew(): Promise<void> {
    this.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const started = await this.plans.start(await this.plans.prepare(draft('continued', ['lookup'])));
    await until(started, 'parked');
    const { runId: first } = await started.workflow.describe();
    const handle = this.plans.getHandle(started.runId);
    while ((await handle.workflow.describe()).runId === first) await handle.reobserve();
    this.sinks.faults.clear();
    await handle.reobserve();
    await handle.result();
    await this.recording.keep('continued-as-new-1', handle.workflowId, first);
    await this.recording.keep('continued-as-new-2', handle.workflowId);
  }

  /** Two namespaces on one journal. */
  private async overtaken(): Promise<void> {
    this.sinks.faults.programme([{ fault: 'in_flight', times: 0 }]);
    const plan = await this.plans.prepare(draft('overtaken', ['lookup', 'enforcing']));
    const handle = await this.plans.start(plan);
    await until(handle, 'waiting');
    const stop = await this.startWorker(OTHER);
    const client = this.recording.clientOf(OTHER);
    const other = await this.plansOf(client).start(plan);
    await until(handle, 'following');
    this.sinks.faults.clear();
    await Promise.all([handle.result(), other.result()]);
    await this.recording.keep('overtaken-follower', handle.workflowId);
    await this.recording.keep('overtaking', other.workflowId, undefined, client);
    await stop();
  }

  private async workerKilled(): Promise<void> {
    const env = { ...process.env, RECORD_WORKER: JSON.stringify(this.setting) };
    const child = spawn(process.execPath, [...process.execArgv, __filename], { env, stdio: 'inherit' });
    const handle = await this.plans.start(await this.plans.prepare(draft('worker-killed', ['lookup', 'enforcing'])));
    await once(child, 'exit');
    const stop = await this.startWorker();
    await handle.result();
    await this.recording.keep('worker-killed', handle.workflowId);
    await stop();
  }

  private get setting(): Setting {
    return { places: this.recording.places, sinkUrl: this.sinks.url };
  }

  private startWorker(namespace = 'default'): Promise<() => Promise<void>> {
    return this.recording.worker({ plugin: plugin(this.setting), namespace });
  }

  private plansOf(client: Client): PlanClient {
    const { contents, taskQueue } = this.recording;
    return new PlanClient({ client, contents, taskQueue });
  }
}

function draft(name: string, modes: readonly CountingMode[]): Record<string, unknown> {
  return {
    workflow_id: 'workflow:example.org/recorded',
    name,
    effects: modes.map((mode, index) => ({
      ...{ id: `e${index}`, tool_id: toolId(mode), kind: 'local_tool', operation: { text: `${CONTENT} ${index}` } },
    })),
  };
}

async function until(handle: PlanHandle, state: string): Promise<void> {
  await eventually(async () => (await handle.status()).state === state);
}

const killed = process.env['RECORD_WORKER'];
if (killed !== undefined) void runToBeKilled(JSON.parse(killed) as Setting);
else {
  /** Few enough events that a plan that is asked a dozen times continues as new. */
  recordInto('', { namespaces: [OTHER], eventsBeforeRenewal: 60 }, async (recording) => {
    await new Plans(recording, recording.closing(await startCountingServer())).all();
  });
}
