/**
 * Records the histories of authors' workflows of this version under `test/histories/<version>/authors`, with their journal and
 * the workflows that carry their plans. Run it after `record-histories`, which clears the folder of the version.
 */
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { CountersignPlugin, putContent } from '../src';
import { fileStore } from '../src/adapters/stores';
import { PlanClient } from '../src/client';
import { recordHistory, startCountingServer, type Fault } from '../src/testing';
import { startDevServer } from '../src/testing/dev-server';
import { effectsAt } from '../test/workflows/authors/effects';
import { REPOSITORY } from './dev/repository';
import { ensureTemporalCli } from './dev/temporal-cli';

const { version } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
const HISTORIES = path.join(REPOSITORY, 'test', 'histories', version, 'authors');
const IDENTITY = 'countersign@recording';
const TASK_QUEUE = 'recording';
/** Planted in every argument; no history may hold it. */
const CONTENT = 'planted-operation-content';

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { path: executable } = await ensureTemporalCli({});
  const server = await startDevServer({ executable });
  const sinks = await startCountingServer();
  const folder = await mkdtemp(path.join(tmpdir(), 'record-histories-'));
  const connection = await Connection.connect({ address: server.address });
  const native = await NativeConnection.connect({ address: server.address });
  const [store, contents] = ['journal', 'contents'].map((name) =>
    fileStore(path.join(folder, name), { createRoot: true }),
  );
  const worker = await Worker.create({
    ...{ connection: native, taskQueue: TASK_QUEUE, identity: IDENTITY },
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: path.join(REPOSITORY, 'test/workflows/authors/workflows.ts'),
      logger: new DefaultLogger('ERROR'),
    }),
    plugins: [
      new CountersignPlugin({ store: store!, contents: contents!, effects: effectsAt(sinks.url), development: true }),
    ],
  });
  const running = worker.run();
  try {
    await rm(HISTORIES, { recursive: true, force: true });
    const client = new Client({ connection, identity: IDENTITY });
    const order = (): Promise<unknown> => putContent(contents!, { amount: 7, note: CONTENT });
    const record = async (
      name: string,
      workflow: string,
      args: unknown[],
      faults: readonly Fault[] = [],
      meanwhile?: (handle: WorkflowHandle) => Promise<void>,
    ): Promise<void> => {
      sinks.faults.programme(faults);
      const handle = await client.workflow.start(workflow, { workflowId: name, taskQueue: TASK_QUEUE, args });
      await meanwhile?.(handle);
      await handle.result().catch(() => undefined);
      sinks.faults.clear();
      await recordHistory(client, name, path.join(HISTORIES, `${name}.json`), handle.firstExecutionRunId);
    };

    await record('charged', 'chargeContent', [await order()]);
    await record('in-a-loop', 'inALoop', [3]);
    await record('all-together', 'allTogether', [10]);
    await record('the-same-again', 'thrice', []);
    await record('a-plan', 'planned', [[1, 2, 3]]);
    await record('by-reference', 'byReference', [await order()]);
    await record('rejected', 'chargeContent', [await order()], [{ fault: 'status', status: 400 }]);
    await record('unfit', 'chargeContent', [await putContent(contents!, { amount: CONTENT })]);
    await record('continued', 'continued', [1, []]);
    await record('cancelled-scope', 'inAScope', [], [{ fault: 'in_flight', times: 0 }], async (handle) => {
      await sinks.arrivals.wait('looked_up', '*', 1, 30_000);
      await handle.signal('stop');
      sinks.faults.clear();
    });
    const plans = new PlanClient({ client, contents: contents!, taskQueue: TASK_QUEUE });
    await record('parked', 'chargeContent', [await order()], [{ fault: 'wrong_digest', times: 0 }], async () => {
      const carrier = plans.getHandle(await parkedRun(client));
      while ((await carrier.status()).state !== 'parked') await new Promise((resolve) => setTimeout(resolve, 50));
      sinks.faults.clear();
      await carrier.reobserve();
      await carrier.result();
      await recordHistory(client, carrier.workflowId, path.join(HISTORIES, 'parked-carrier.json'));
    });
    await cp(path.join(folder, 'journal'), path.join(HISTORIES, 'journal'), { recursive: true });
    await withoutMachine();
  } finally {
    worker.shutdown();
    await running;
    await Promise.all([connection.close(), native.close(), sinks.close()]);
    await server.stop();
    await rm(folder, { recursive: true });
  }
}

/** The run of the one plan that a workflow of its own carries. */
async function parkedRun(client: Client): Promise<string> {
  for (;;) {
    for await (const { workflowId } of client.workflow.list({ query: "WorkflowType = 'governedPlan'" })) {
      return workflowId.replace('countersign/', '');
    }
  }
}

/** Stack traces name the folder that the code stood in. */
async function withoutMachine(): Promise<void> {
  for (const name of (await readdir(HISTORIES)).filter((entry) => entry.endsWith('.json'))) {
    const file = path.join(HISTORIES, name);
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(`${REPOSITORY}/`, ''));
  }
}

void main();
