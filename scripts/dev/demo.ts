/**
 * The demo: a plan of real effects, its worker killed in the middle of a send, and every effect done once all the same.
 *
 *   tsx scripts/dev/demo.ts [--keep] [--json]
 *
 * Everything runs on 127.0.0.1 and ends with this process; the journal stays on disk. With `--json` the last line on
 * standard output is `{ok, runId, journal, effects, checkpoints, verified, webUi}`, and all else goes to standard error.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { fileStore } from '../../src/adapters/stores';
import { PlanClient, type GovernedPlan, type PlanStatus } from '../../src/client';
import { effectRecords } from '../../src/rules/plans/plan';
import { startDevServer } from '../../src/testing/dev-server';
import { startFhirServer } from '../../src/testing/fhir-server';
import { startIdempotencyServer } from '../../src/testing/idempotency-server';
import type { SinkServer } from '../../src/testing/sink-server';
import { verify } from '../../src/verify';
import { withoutTemporalSettings } from './own-server';

const root = path.resolve(__dirname, '../..');
const example = path.join(root, 'examples/vitals');
const TASK_QUEUE = 'countersign';
const KILLED_AT = 'body-height';
const PATIENCE_MS = 180_000;

interface DemoResult {
  readonly ok: boolean;
  readonly runId: string;
  readonly journal: string;
  readonly effects: readonly { actionId: string; toolId: string; sinkWrites: number }[];
  readonly checkpoints: number;
  readonly verified: boolean;
  readonly webUi: string | null;
}

const json = process.argv.includes('--json');
const keep = process.argv.includes('--keep');
const endings: (() => Promise<unknown> | unknown)[] = [];

function say(line: string): void {
  (json ? process.stderr : process.stdout).write(`${line}\n`);
}

async function main(): Promise<void> {
  const folder = path.join(root, '.cache/demo', new Date().toISOString().replace(/[:.]/g, '-'));
  mkdirSync(folder, { recursive: true });
  const places = {
    journal: path.join(folder, 'journal'),
    contents: path.join(folder, 'contents'),
    ledger: path.join(folder, 'ledger.jsonl'),
  };

  say('1/6 starting a Temporal server, a FHIR server and a billing service on 127.0.0.1 …');
  const temporal = await startDevServer({ ui: true, dbFile: path.join(folder, 'temporal.db') });
  endings.push(() => temporal.stop());
  const fhir = await startFhirServer();
  endings.push(() => fhir.close());
  const billing = await startIdempotencyServer();
  endings.push(() => billing.close());

  const env = {
    ...withoutTemporalSettings(process.env),
    TEMPORAL_ADDRESS: temporal.address,
    COUNTERSIGN_JOURNAL: places.journal,
    COUNTERSIGN_CONTENTS: places.contents,
    COUNTERSIGN_TASK_QUEUE: TASK_QUEUE,
    FHIR_URL: fhir.baseUrl,
    BILLING_URL: billing.url,
    LEDGER_FILE: places.ledger,
  };
  // Never closed: a query that is about to be repeated would find its channel shut down, and that ends the process.
  const connection = await Connection.connect({ address: temporal.address });
  const plans = new PlanClient({
    client: new Client({ connection }),
    contents: fileStore(places.contents, { createRoot: true }),
    taskQueue: TASK_QUEUE,
  });
  const draft = JSON.parse(readFileSync(path.join(example, 'plan.json'), 'utf8')) as { effects: { id: string }[] };
  const plan = await plans.prepare(draft);
  const keys = effectRecords(plan).map((effect) => effect.idempotencyKey);
  const struck = keys[draft.effects.findIndex((effect) => effect.id === KILLED_AT)] as string;

  say('2/6 starting a worker …');
  const first = await startWorker(env);
  // The FHIR server commits this one write and keeps its answer to itself until the worker is dead.
  fhir.faults.programme([{ fault: 'hold_after', key: struck }]);
  const handle = await plans.start(plan);
  const webUi = temporal.uiUrl === null ? null : `${temporal.uiUrl}/namespaces/default/workflows/${handle.workflowId}`;
  say(`3/6 plan ${plan.runId} of ${plan.effects.length} effects is running${webUi === null ? '' : `: ${webUi}`}`);

  await fhir.arrivals.wait('held', struck, 1, PATIENCE_MS);
  first.kill('SIGKILL');
  await once(first, 'exit');
  fhir.faults.release(struck, 'drop');
  say(
    `4/6 worker ${first.pid} killed (SIGKILL): the server has committed "${KILLED_AT}", the worker never heard of it`,
  );

  say('    starting another worker …');
  await startWorker(env);
  say('    another worker is up; Temporal will notice the loss within 10 s …');
  const progress = follow(() => handle.status());
  const outcome = await handle.result();
  progress.stop();
  say(`5/6 plan ${outcome.status}`);

  const result = await report(plan, keys, places, { fhir, billing }, webUi);
  await finish(result);
}

/** Starts the example's own worker in a process of its own and waits until it says that it is ready. */
async function startWorker(env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', path.join(example, 'src/worker.ts')], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endings.push(() => child.kill('SIGKILL'));
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-4_000)));
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => chunk.toString().includes('worker ready') && resolve());
    child.once('exit', (code) => reject(new Error(`the worker ended with ${code} before it was ready\n${log}`)));
  });
  await ready;
  return child;
}

/** Prints each change of what is committed, so that the wait is not silent. */
function follow(status: () => Promise<PlanStatus>): { stop(): void } {
  let running = true;
  const loop = async (): Promise<void> => {
    let last = '';
    while (running) {
      const now = await status().catch(() => null);
      const line =
        now === null
          ? last
          : `    ${now.effects.filter((effect) => effect.state === 'committed').length}/${now.effects.length} committed, ${now.state}`;
      if (line !== last && running) say(line);
      last = line;
      await sleep(500);
    }
  };
  void loop();
  return { stop: () => void (running = false) };
}

async function report(
  plan: GovernedPlan,
  keys: readonly string[],
  places: { journal: string; ledger: string },
  servers: { fhir: SinkServer; billing: SinkServer },
  webUi: string | null,
): Promise<DemoResult> {
  const ledger = ledgerCounts(places.ledger);
  const written = (key: string): number =>
    servers.fhir.counts(key).writes + servers.billing.counts(key).writes + (ledger[key] ?? 0);
  const effects = plan.effects.map(({ actionId, toolId }, index) => ({
    actionId,
    toolId,
    sinkWrites: written(keys[index] as string),
  }));
  say('6/6 what the sinks themselves counted:');
  for (const effect of effects) say(`    ${effect.sinkWrites} × ${effect.toolId}  ${effect.actionId}`);

  const verified = await verify(places.journal, { strict: true });
  const chain = verified.runs[0]?.lineages[0];
  for (const checkpoint of chain?.chain ?? [])
    say(`    ${checkpoint.sequence} ${checkpoint.phase.padEnd(12)} ${checkpoint.digest}`);
  say(
    `    journal ${verified.ok ? 'verified without Temporal: valid and justified' : 'NOT VERIFIED'}: ${places.journal}`,
  );
  const checkpoints = chain?.checkpoints ?? 0;
  const ok = verified.ok && effects.every((effect) => effect.sinkWrites === 1);
  return { ok, runId: plan.runId, journal: places.journal, effects, checkpoints, verified: verified.ok, webUi };
}

function ledgerCounts(file: string): Record<string, number> {
  const tool = path.join(root, 'examples/ledger-tool/ledger.mjs');
  const out = execFileSync(process.execPath, [tool, 'count', file], { encoding: 'utf8' });
  return (JSON.parse(out) as { counts: Record<string, number> }).counts;
}

async function finish(result: DemoResult): Promise<void> {
  say(result.ok ? 'every effect was done exactly once' : 'FAILED: see above');
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  if (keep) {
    say(`kept running; look at ${result.webUi ?? 'the server'} and end it with Ctrl-C`);
    await new Promise(() => undefined);
  }
  await end(result.ok ? 0 : 1);
}

/** Ends what this process started, newest first. */
async function end(code: number): Promise<never> {
  for (const ending of endings.splice(0).reverse()) await Promise.resolve(ending()).catch(() => undefined);
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(130));
main().catch((fault: unknown) => {
  process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n`);
  void end(1);
});
