/**
 * Records the histories of authorized launches of this version under `test/histories/<version>/launches`, with their journal: those of
 * authors' workflows, and of the jobs that they launch. Run it after `record-histories`, which clears the folder of the version.
 */
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { CountersignPlugin, type LauncherDefinition } from '../src';
import { processLauncher } from '../src/adapters/launchers';
import { fileStore } from '../src/adapters/stores';
import { initJournal } from '../src/journal-init';
import { jobWorkflowId } from '../src/rules/launches/job-order';
import { recordHistory } from '../src/testing';
import { startDevServer } from '../src/testing/dev-server';
import type { LaunchToAuthorize } from '../src/workflow';
import { startPaidProvider, type ProviderMode } from '../test/systems/paid-provider';
import {
  asked,
  eventually,
  paidLauncher,
  reviewers,
  signed,
  WORKFLOWS,
  type Signing,
  type Wanted,
} from '../test/workflows/launches/support';
import { REPOSITORY } from './dev/repository';
import { ensureTemporalCli } from './dev/temporal-cli';
import { withoutMachine } from './dev/without-machine';

const { version } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
const HISTORIES = path.join(REPOSITORY, 'test', 'histories', version, 'launches');
const IDENTITY = 'countersign@recording';
const TASK_QUEUE = 'recording';
const SCRIPT = path.join(REPOSITORY, 'test/adapters/launchers/worker.mjs');

/** Workers that are processes, by what they do. */
const PROCESSES = { submits: 'context,submit', exits: 'exit', waits: 'wait' } as const;
const processes: readonly LauncherDefinition[] = Object.entries(PROCESSES).map(([model, steps]) => ({
  ...{ provider: 'process', model },
  launcher: processLauncher({ command: process.execPath, args: [SCRIPT, steps], lifetimeMs: 60_000 }),
}));

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { path: executable } = await ensureTemporalCli({});
  const server = await startDevServer({ executable });
  const provider = await startPaidProvider();
  const folder = await mkdtemp(path.join(tmpdir(), 'record-histories-'));
  const connection = await Connection.connect({ address: server.address });
  const native = await NativeConnection.connect({ address: server.address });
  const store = fileStore(path.join(folder, 'journal'), { createRoot: true });
  const contents = fileStore(path.join(folder, 'contents'), { createRoot: true });
  await initJournal(store);
  const worker = await Worker.create({
    ...{ connection: native, taskQueue: TASK_QUEUE, identity: IDENTITY },
    workflowBundle: await bundleWorkflowCode({ workflowsPath: WORKFLOWS, logger: new DefaultLogger('ERROR') }),
    plugins: [
      new CountersignPlugin({
        ...{ store, contents, reviewers },
        launchers: [paidLauncher(provider.url), ...processes],
      }),
    ],
  });
  const running = worker.run();
  try {
    await rm(HISTORIES, { recursive: true, force: true });
    const client = new Client({ connection, identity: IDENTITY });
    const keep = (name: string, workflowId: string, runId?: string): Promise<void> =>
      recordHistory(client, workflowId, path.join(HISTORIES, `${name}.json`), runId);
    const started = (name: string, more: Wanted = {}): Promise<WorkflowHandle> =>
      client.workflow.start('launchOne', { workflowId: name, taskQueue: TASK_QUEUE, args: [asked(more)] });
    const authorized = async (author: WorkflowHandle, signing: Signing = {}): Promise<LaunchToAuthorize> => {
      const launch = await eventually(() => author.query<LaunchToAuthorize | null>('to_authorize'));
      await author.signal('authorize', signed(launch, signing));
      return launch;
    };
    /** An author's history, and that of the job. */
    const record = async (
      name: string,
      more: Wanted = {},
      mode: ProviderMode = 'answers',
      signing: Signing = {},
    ): Promise<void> => {
      provider.mode = mode;
      const author = await started(name, more);
      const { jobId } = await authorized(author, signing);
      await author.result();
      await keep(name, name);
      await keep(`${name}-job`, jobWorkflowId(jobId));
    };

    await record('submitted');
    const again = await started('submitted');
    await authorized(again);
    await again.result();
    await keep('submitted-again', 'submitted');
    await record('refused', {}, { status: 429 });
    await record('unknown', { launchLeaseMs: 1_000 }, { status: 500 });
    await record('by-a-process', { provider: 'process', model: 'submits' });
    await record('exited', { provider: 'process', model: 'exits' });
    await record('late', { provider: 'process', model: 'waits', runningDeadlineMs: 500 });
    await record('expired', {}, 'answers', { iat: Math.floor(Date.now() / 1_000) - 100, livesS: 10 });
    await record('of-another-key', {}, 'answers', { who: 'nobody' });
    await record('of-nobody', { provider: 'nobody' });

    const cancelled = await started('cancelled', { provider: 'process', model: 'waits', runningDeadlineMs: 1_000 });
    const { jobId } = await authorized(cancelled);
    await eventually(() =>
      client.workflow
        .getHandle(jobWorkflowId(jobId))
        .describe()
        .catch(() => null),
    );
    await cancelled.cancel();
    await cancelled.result().catch(() => undefined);
    await keep('cancelled', 'cancelled');
    await keep('cancelled-job', jobWorkflowId(jobId));
    await withoutMachine(HISTORIES);
    await cp(path.join(folder, 'journal'), path.join(HISTORIES, 'journal'), { recursive: true });
  } finally {
    worker.shutdown();
    await running;
    await Promise.all([native.close(), connection.close(), provider.close()]);
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

main().catch((fault: unknown) => {
  console.error(fault);
  process.exit(1);
});
