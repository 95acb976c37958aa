/**
 * The background process behind `up`: a Temporal dev server, the example's servers and its worker, until SIGTERM. Invariant:
 * it publishes its places only when all of them answer, and none of its parts outlives it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { registrations } from '../../src/search-registration';
import { startDevServer } from '../../src/testing/dev-server';
import { endWithUs } from '../../src/testing/end-with-us';
import { startFhirServer } from '../../src/testing/fhir-server';
import { startIdempotencyServer } from '../../src/testing/idempotency-server';
import { claimState, dropState, environmentFolder, publishState, type EnvironmentPlaces } from './environment-state';
import { withoutTemporalSettings } from './own-server';
import { identityOf } from './process-identity';
import { REPOSITORY } from './repository';

const WORKER = path.join(REPOSITORY, 'examples', 'vitals', 'src', 'worker.ts');
const TASK_QUEUE = 'countersign';
const WORKER_PATIENCE_MS = 15_000;

const owner = identityOf(process.pid)!;
const endings: (() => Promise<unknown>)[] = [];
let ending = false;

async function main(): Promise<void> {
  if (!claimState(owner)) throw new Error('An environment is already running here.');
  const folder = environmentFolder();
  const dbFile = path.join(folder, 'temporal.db');
  const temporal = await startDevServer({ ui: true, dbFile, searchAttributes: registrations() });
  endings.push(() => temporal.stop());
  void temporal.exited.then(() => ending || fail(new Error('The Temporal dev server ended by itself.')));
  const fhir = await startFhirServer();
  endings.push(() => fhir.close());
  const billing = await startIdempotencyServer();
  endings.push(() => billing.close());

  const places: EnvironmentPlaces = {
    temporal: temporal.address,
    webUi: temporal.uiUrl!,
    fhir: fhir.baseUrl,
    billing: billing.url,
    taskQueue: TASK_QUEUE,
    journal: path.join(folder, 'journal'),
    contents: path.join(folder, 'contents'),
  };
  await startWorker(places, folder);
  publishState({ owner, places });
  console.log('ready');
}

async function startWorker(places: EnvironmentPlaces, folder: string): Promise<void> {
  const worker = spawn(process.execPath, ['--import', 'tsx', WORKER], {
    cwd: REPOSITORY,
    detached: true, // it stops when we tell it to, not when a terminal's Ctrl-C reaches its group
    env: {
      ...withoutTemporalSettings(process.env),
      TEMPORAL_ADDRESS: places.temporal,
      COUNTERSIGN_JOURNAL: places.journal,
      COUNTERSIGN_CONTENTS: places.contents,
      COUNTERSIGN_TASK_QUEUE: TASK_QUEUE,
      FHIR_URL: places.fhir,
      BILLING_URL: places.billing,
      LEDGER_FILE: path.join(folder, 'ledger.jsonl'),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(worker, 'exit');
  endWithUs(worker.pid!, exited);
  endings.push(() => stopWorker(worker, exited));
  const ready = new Promise<void>((resolve) =>
    worker.stdout.on('data', (chunk: Buffer) => {
      process.stdout.write(chunk);
      if (chunk.includes('worker ready')) resolve();
    }),
  );
  const ended = exited.then(() => {
    if (ending) return;
    throw new Error('The worker ended by itself; see its lines above.');
  });
  await Promise.race([ready, ended]);
  ended.catch(fail);
}

async function stopWorker(worker: ChildProcess, exited: Promise<unknown>): Promise<void> {
  worker.kill('SIGTERM');
  const force = setTimeout(() => worker.kill('SIGKILL'), WORKER_PATIENCE_MS);
  await exited;
  clearTimeout(force);
}

/** Newest first: the worker finishes what it is sending while all that it needs is still there. */
async function end(code: number): Promise<void> {
  if (ending) return;
  ending = true;
  for (const stop of endings.splice(0).reverse()) await stop().catch((error: unknown) => console.error(error));
  dropState(owner);
  process.exit(code);
}

function fail(error: unknown): void {
  console.error(error instanceof Error ? error.message : String(error));
  void end(1);
}

process.on('SIGTERM', () => void end(0));
process.on('SIGINT', () => void end(0));
main().catch(fail);
