/**
 * What the programs that record histories share: a real server, a journal and a content store, workers under a name that is nobody's,
 * and the folder that is filled, `test/histories/<version>/<name>`. Each program can be run by itself; with a folder as its argument it
 * fills that one instead. Invariant: what is recorded names no machine, and stands there beside the journal that it wrote.
 */
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker, bundleWorkflowCode } from '@temporalio/worker';
import type { CountersignPlugin } from '../../src';
import { fileStore, type FileStore } from '../../src/adapters/stores';
import { initJournal } from '../../src/journal-init';
import { recordHistory } from '../../src/testing';
import { startDevServer } from '../../src/testing/dev-server';
import { REPOSITORY } from './repository';
import { ensureTemporalCli } from './temporal-cli';

/** Planted in every operation; no history may hold it. */
export const CONTENT = 'planted-operation-content';
const IDENTITY = 'countersign@recording';
const TASK_QUEUE = 'recording';

export interface RecordingOptions {
  /** Events after which workflows are told to continue as new. @default as the server is */
  readonly eventsBeforeRenewal?: number;
  /** Made beside `default`. */
  readonly namespaces?: readonly string[];
}

export interface RecordedWorker {
  /** Source of the workflows, from the repository's root. @default the package's own */
  readonly workflows?: string;
  readonly plugin: CountersignPlugin;
  /** @default 'default' */
  readonly namespace?: string;
}

/** Where a worker finds everything, in this process or another. */
export interface RecordingPlaces {
  readonly address: string;
  readonly journal: string;
  readonly contents: string;
}

export async function createWorker(
  connection: NativeConnection,
  { workflows = 'src/workflow.ts', plugin, namespace = 'default' }: RecordedWorker,
): Promise<Worker> {
  return Worker.create({
    ...{ connection, namespace, taskQueue: TASK_QUEUE, identity: IDENTITY, plugins: [plugin] },
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: path.join(REPOSITORY, workflows),
      logger: new DefaultLogger('ERROR'),
    }),
  });
}

export class Recording {
  readonly taskQueue = TASK_QUEUE;
  readonly client: Client;
  readonly store: FileStore;
  readonly contents: FileStore;
  private readonly stops = new Set<() => Promise<void>>();
  private readonly closings: { close(): unknown }[] = [];

  constructor(
    readonly places: RecordingPlaces,
    readonly native: NativeConnection,
    private readonly connection: Connection,
    /** The folder that is filled. */
    private readonly into: string,
  ) {
    this.client = this.clientOf('default');
    this.store = fileStore(places.journal, { createRoot: true });
    this.contents = fileStore(places.contents, { createRoot: true });
  }

  clientOf(namespace: string): Client {
    return new Client({ connection: this.connection, namespace, identity: IDENTITY });
  }

  /** Starts a worker. The answer ends it; it ends with the recording at the latest. */
  async worker(worker: RecordedWorker): Promise<() => Promise<void>> {
    return this.runs(await createWorker(this.native, worker));
  }

  /** A worker that was made elsewhere ends with the recording, too. */
  runs(worker: { run(): Promise<void>; shutdown(): void }): () => Promise<void> {
    const running = worker.run();
    const stop = async (): Promise<void> => {
      if (!this.stops.delete(stop)) return;
      worker.shutdown();
      await running;
    };
    this.stops.add(stop);
    return stop;
  }

  /** Writes the history of one execution, by default the latest of its workflow. */
  keep(name: string, workflowId: string, runId?: string, client = this.client): Promise<void> {
    return recordHistory(client, workflowId, path.join(this.into, `${name}.json`), runId);
  }

  /** What workers talk to is closed when they have ended. */
  closing<T extends { close(): unknown }>(other: T): T {
    this.closings.push(other);
    return other;
  }

  async end(): Promise<void> {
    for (const stop of [...this.stops]) await stop();
    for (const other of this.closings.splice(0)) await other.close();
  }
}

/** Runs a program that records; a failure ends the process with 1, and leaves what was there before. */
export function recordInto(
  name: string,
  options: RecordingOptions,
  story: (recording: Recording) => Promise<void>,
): void {
  recorded(name, options, story).catch((fault: unknown) => {
    console.error(fault);
    process.exit(1);
  });
}

async function recorded(
  name: string,
  { eventsBeforeRenewal, namespaces = [] }: RecordingOptions,
  story: (recording: Recording) => Promise<void>,
): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { path: executable } = await ensureTemporalCli({});
  const dynamicConfig =
    eventsBeforeRenewal === undefined ? {} : { 'limit.historyCount.suggestContinueAsNew': eventsBeforeRenewal };
  const server = await startDevServer({ executable, namespaces, dynamicConfig });
  const folder = await mkdtemp(path.join(tmpdir(), 'record-histories-'));
  const [journal, contents, into] = ['journal', 'contents', 'histories'].map((each) => path.join(folder, each)) as [
    string,
    string,
    string,
  ];
  const connection = await Connection.connect({ address: server.address });
  const native = await NativeConnection.connect({ address: server.address });
  const recording = new Recording({ address: server.address, journal, contents }, native, connection, into);
  try {
    await initJournal(recording.store);
    await story(recording);
    await recording.end();
    await cp(journal, path.join(into, 'journal'), { recursive: true });
    await withoutMachine(into);
    await replace(process.argv[2] ?? placeOf(name), into);
  } finally {
    await recording.end();
    await Promise.all([native.close(), connection.close()]);
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function placeOf(name: string): string {
  const { version } = JSON.parse(readFileSync(path.join(REPOSITORY, 'package.json'), 'utf8')) as { version: string };
  return path.join(REPOSITORY, 'test', 'histories', version, name);
}

/** Other recordings may stand in folders of the same one. */
async function replace(place: string, by: string): Promise<void> {
  await mkdir(place, { recursive: true });
  const old = (await readdir(place)).filter((entry) => entry.endsWith('.json') || entry === 'journal');
  for (const entry of old) await rm(path.join(place, entry), { recursive: true });
  await cp(by, place, { recursive: true });
}

/** Stack traces name the folder that the code stood in. */
async function withoutMachine(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((entry) => entry.endsWith('.json'))) {
    const file = path.join(folder, name);
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(`${REPOSITORY}/`, ''));
  }
}

/** Until a question has an answer; a server or a workflow that is not there yet has none. */
export async function eventually<T>(ask: () => Promise<T | null | undefined | false>): Promise<T> {
  for (;;) {
    const answer = await ask().catch(() => null);
    if (answer !== null && answer !== undefined && answer !== false) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
