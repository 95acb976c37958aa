/**
 * Records the histories of verification runs of this version under `test/histories/<version>/runs`, with their journal. Run it after
 * `record-histories`, which clears the folder of the version. Every key in them is made up here.
 */
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import { CountersignPlugin } from '../src';
import { fileStore } from '../src/adapters/stores';
import { VerificationClient, type RunTimes, type VerificationHandle } from '../src/client';
import { initJournal } from '../src/journal-init';
import { jobWorkflowId } from '../src/rules/launches/job-order';
import { recordHistory } from '../src/testing';
import { startDevServer } from '../src/testing/dev-server';
import { startPaidProvider } from '../test/systems/paid-provider';
import {
  ANN,
  checks,
  draft,
  local,
  paidLauncher,
  proposalId,
  reviewers,
  signed,
} from '../test/workflows/verification/support';
import { REPOSITORY } from './dev/repository';
import { ensureTemporalCli } from './dev/temporal-cli';
import { withoutMachine } from './dev/without-machine';

const { version } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
const HISTORIES = path.join(REPOSITORY, 'test', 'histories', version, 'runs');
const IDENTITY = 'countersign@recording';
const TASK_QUEUE = 'recording';

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
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: path.join(REPOSITORY, 'src/workflow.ts'),
      logger: new DefaultLogger('ERROR'),
    }),
    plugins: [
      new CountersignPlugin({ ...{ store, contents, reviewers, checks }, launchers: [paidLauncher(provider.url)] }),
    ],
  });
  const running = worker.run();
  try {
    await rm(HISTORIES, { recursive: true, force: true });
    const client = new Client({ connection, identity: IDENTITY });
    const runs = new VerificationClient({ ...{ client, store, contents }, taskQueue: TASK_QUEUE });
    const keep = (name: string, workflowId: string): Promise<void> =>
      recordHistory(client, workflowId, path.join(HISTORIES, `${name}.json`));
    const carried = async (handle: VerificationHandle): Promise<void> => {
      for (let wanted = await handle.wanted(); wanted !== null; wanted = await handle.wanted()) {
        await handle.authorize(signed(wanted));
      }
      await handle.result();
    };
    const started = async (name: string, times: RunTimes = {}): Promise<VerificationHandle> =>
      runs.start(await runs.prepare(draft(1, 1, { goal: name, checks: [local(0, 1), ...draft(0, 1).checks] })), times);

    const completed = await started('completed');
    await carried(completed);
    await keep('completed', completed.workflowId);
    const { jobs } = await completed.status();
    for (const { job_id, role } of jobs) await keep(`completed-${role}`, jobWorkflowId(job_id));

    await runs.apply(completed.runId, { person: ANN, proposals: [proposalId(0)] });
    await keep('applied', completed.workflowId);
    const [owed] = await runs.obligations(completed.runId);
    const capture = {
      source: 'documents/one',
      content: 'All of it, corrected.',
      target: 'short',
      reference: 'section-2',
    };
    const asked = { person: ANN, intentId: owed!.intentId, goal: 'completed', protectedIntent: 'the figures', capture };
    const rechecked = await runs.recheck(asked);
    await carried(rechecked);
    await keep('rechecked', rechecked.workflowId);

    const cancelled = await started('cancelled');
    await cancelled.wanted();
    await cancelled.cancel();
    await keep('cancelled', cancelled.workflowId);

    const lapsed = await started('lapsed', { authorizationMs: 1_000 });
    await lapsed.result();
    await keep('lapsed', lapsed.workflowId);

    provider.mode = { status: 429 };
    const declined = await started('declined');
    await carried(declined);
    await keep('declined', declined.workflowId);

    const refused = await runs.prepare(draft(1, 0, { goal: 'refused' }));
    await runs.start({ ...refused, person: 'nobody' }).catch(() => undefined);
    await keep('refused', runs.handle(refused.runId).workflowId);
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
  process.exitCode = 1;
});
