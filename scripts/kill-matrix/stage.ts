/**
 * What all cells share: one Temporal dev server, the sinks' servers, the workflow bundles, a replay worker, a folder.
 * Invariant: everything that was started is ended by `close`, and each part is a real process as in production.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, Runtime } from '@temporalio/worker';
import { SinkAdmin } from '../../src/testing/admin-api';
import { startDevServer, type DevServer } from '../../src/testing/dev-server';
import { buildChildren, programFile } from './build-child';
import { type CellSink, embeddedSink } from './cell-sink';
import { Child } from './child';
import { Gate } from './gate';
import { Replayer } from './replayer';
import type { JournalName } from './journals';
import { isReal, type ServerName, type SinkUrls } from './sinks';
import type { Systems } from './systems';

const WORKFLOWS = path.join(__dirname, '..', '..', 'src', 'workflow.ts');
/** Cells look at what happens, not at how fast: lift the one-shard limit of one step per 50 ms. */
const DYNAMIC_CONFIG = { 'history.transferProcessorMaxPollRPS': 10_000 };
export const RIVAL_NAMESPACE = 'rival';

/** A worker's start is all processor time; more at once would only starve the sends of others. */
const STARTS_AT_ONCE = 2;

const START_MS = 60_000;

export class Stage {
  readonly starts = new Gate(STARTS_AT_ONCE);

  private constructor(
    readonly folder: string,
    readonly executable: string,
    readonly server: DevServer,
    readonly connection: Connection,
    readonly urls: SinkUrls,
    readonly replayer: Replayer,
    readonly systems: Systems,
    readonly journals: JournalName,
    private readonly children: readonly Child[],
  ) {}

  /** The systems are ended by whoever has started them. */
  static async open(executable: string, systems: Systems, journals: JournalName): Promise<Stage> {
    Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
    const folder = mkdtempSync(path.join(os.tmpdir(), 'kill-matrix-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    await buildChildren(folder);
    const children = (['counting', 'fhir'] as const).map((name) => new Child(programFile(folder, name)));
    const [server, counting, fhir] = await Promise.all([
      startDevServer({ executable, dynamicConfig: DYNAMIC_CONFIG, namespaces: [RIVAL_NAMESPACE] }),
      ...children.map(urlOf),
      writeBundle(folder, 'workflow'),
    ]);
    const connection = await Connection.connect({ address: server.address });
    const replayer = new Replayer(bundleFile(folder, 'workflow'));
    return new Stage(
      folder,
      executable,
      server,
      connection,
      {
        ...{ counting: counting ?? '', fhir: fhir ?? '' },
        ...Object.fromEntries([...systems.sinks].map(([name, { url }]) => [name, url])),
      },
      replayer,
      systems,
      journals,
      children,
    );
  }

  /** The bundle that workers use; `faulty` is one whose workflow fails on the first answer of `drive`. */
  async bundle(kind: 'workflow' | 'faulty'): Promise<string> {
    if (kind === 'faulty') await (this.faulty ??= writeBundle(this.folder, kind));
    return bundleFile(this.folder, kind);
  }
  private faulty: Promise<void> | null = null;

  /** A sink for one cell; `operationOf` gives what the cell asks for under a key. */
  sink(server: ServerName, operationOf: (key: string) => unknown): CellSink {
    const real = isReal(server) ? this.systems.sinks.get(server) : undefined;
    return real?.cell(operationOf) ?? embeddedSink(new SinkAdmin(this.urls[server] ?? ''));
  }

  client(namespace: string, connection = this.connection): Client {
    return new Client({ connection, namespace });
  }

  /** A Temporal server of one cell's own, which it may kill. Its state survives in `dbFile`. */
  ownServer(dbFile: string, port?: number): Promise<DevServer> {
    const where = port === undefined ? { dbFile } : { dbFile, port };
    return startDevServer({ executable: this.executable, dynamicConfig: DYNAMIC_CONFIG, ...where });
  }

  async close(): Promise<void> {
    await this.replayer.close();
    await this.connection.close();
    await Promise.all([this.server.stop(), ...this.children.map((child) => child.kill())]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const bundleFile = (folder: string, kind: 'workflow' | 'faulty'): string => path.join(folder, `${kind}.js`);

async function writeBundle(folder: string, kind: 'workflow' | 'faulty'): Promise<void> {
  const faulty = kind === 'faulty' ? { workflowInterceptorModules: [path.join(__dirname, 'faulty-workflow.ts')] } : {};
  const { code } = await bundleWorkflowCode({
    workflowsPath: WORKFLOWS,
    logger: new DefaultLogger('ERROR'),
    ...faulty,
  });
  writeFileSync(bundleFile(folder, kind), code);
}

async function urlOf(child: Child): Promise<string> {
  const announced = await child.line(() => true, 1, 'its address', START_MS);
  return (JSON.parse(announced) as { url: string }).url;
}
