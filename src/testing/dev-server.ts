/**
 * Starts a real Temporal dev server for tests, demos and benches: on free ports of 127.0.0.1, ready when this returns.
 * Invariant: the server does not outlive the process that started it, however that one ends, and this module ends no
 * other process. It can be killed and started again on the same port and database file.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Connection } from '@temporalio/client';
import { endWithUs } from './end-with-us';
import { findTemporalCli, type FindTemporalCliOptions } from './temporal-cli';

const LOOPBACK = '127.0.0.1';
const START_TRIES = 5;
const STOP_PATIENCE_MS = 10_000;
const KEPT_LOG_CHARS = 4_000;

export interface DevServerOptions extends FindTemporalCliOptions {
  /** Keep the server's state in this file; without it, all is lost when the server ends. */
  readonly dbFile?: string;
  /** Default: a free port. */
  readonly port?: number;
  /** Serve the Web UI on this port, on a free one (`true`), or not at all (default). */
  readonly ui?: boolean | number;
  /** Made at start beside `default`. */
  readonly namespaces?: readonly string[];
  /** As the server knows them, e.g. `{ 'history.transferProcessorMaxPollRPS': 10000 }`. */
  readonly dynamicConfig?: Readonly<Record<string, unknown>>;
  /** Custom search attributes of every namespace, as in `OrderId=Keyword`. */
  readonly searchAttributes?: readonly string[];
  readonly extraArgs?: readonly string[];
  /** Default `error`. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'never';
  /** Default 30 s. */
  readonly readyWithinMs?: number;
}

export interface DevServer {
  readonly address: string;
  readonly port: number;
  readonly uiUrl: string | null;
  readonly pid: number;
  /** Settles when the server has ended, whoever ended it. */
  readonly exited: Promise<void>;
  /** Orderly end; by force after 10 s. */
  stop(): Promise<void>;
  /** SIGKILL, as a crash would be. */
  kill(): Promise<void>;
}

export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  const { path: program } = await findTemporalCli(options);
  for (let tries = 1; ; tries++) {
    const ports = await freePorts(options);
    const started = await launch(program, ports, options);
    if (started.ready) return started.server;
    // Between our look and the server's bind another process may have taken a port; only a port asked for by number stays.
    const raced = /address already in use|can't bind|can't set/i.test(started.log);
    if (!raced || tries === START_TRIES) {
      throw new Error(`The Temporal dev server did not start: ${started.why}.${started.log && `\n${started.log}`}`);
    }
  }
}

interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly metrics: number;
  readonly ui: number | null;
}

async function freePorts(options: DevServerOptions): Promise<Ports> {
  const [grpc, http, metrics, ui] = await findFreePorts(4);
  const uiPort = typeof options.ui === 'number' ? options.ui : options.ui ? ui! : null;
  return { grpc: options.port ?? grpc!, http: http!, metrics: metrics!, ui: uiPort };
}

/** Free when looked at: all are held open together, so they differ. */
export async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, LOOPBACK));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}

type Launched =
  | { readonly ready: true; readonly server: DevServer }
  | { readonly ready: false; readonly why: string; readonly log: string };

async function launch(program: string, ports: Ports, options: DevServerOptions): Promise<Launched> {
  const child = spawn(program, commandLine(ports, options), {
    // Out of our process group: Ctrl-C reaches us, and we end the server when its workers are done with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const failed = new Promise<string>((resolve) => child.once('error', (error) => resolve(error.message)));
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const output = listen(child);
  if (child.pid === undefined) return { ready: false, why: await failed, log: '' };
  endWithUs(child.pid, exited);

  const server: DevServer = {
    address: `${LOOPBACK}:${ports.grpc}`,
    port: ports.grpc,
    uiUrl: ports.ui === null ? null : `http://${LOOPBACK}:${ports.ui}`,
    pid: child.pid,
    exited,
    stop: () => end(child, 'SIGTERM', exited),
    kill: () => end(child, 'SIGKILL', exited),
  };
  const why = await whyNotReady(server, child, output.announced, options);
  if (why === null) return { ready: true, server };
  await server.kill();
  return { ready: false, why, log: output.tail() };
}

function commandLine(ports: Ports, options: DevServerOptions): string[] {
  const level = options.logLevel ?? 'error';
  return [
    ...['server', 'start-dev', '--ip', LOOPBACK, '--port', String(ports.grpc)],
    ...['--http-port', String(ports.http), '--metrics-port', String(ports.metrics), '--log-level', level],
    ...(ports.ui === null ? ['--headless'] : ['--ui-ip', LOOPBACK, '--ui-port', String(ports.ui)]),
    ...(options.dbFile === undefined ? [] : ['--db-filename', options.dbFile]),
    ...(options.namespaces ?? []).flatMap((namespace) => ['--namespace', namespace]),
    ...(options.searchAttributes ?? []).flatMap((attribute) => ['--search-attribute', attribute]),
    ...Object.entries(options.dynamicConfig ?? {}).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
    ...(options.extraArgs ?? []),
  ];
}

/**
 * Ready: ours has announced itself, which it does once it has its ports (so no stranger on one of them passes for it),
 * and describes every namespace.
 */
async function whyNotReady(
  server: DevServer,
  child: ChildProcess,
  announced: () => boolean,
  options: DevServerOptions,
): Promise<string | null> {
  const limitMs = options.readyWithinMs ?? 30_000;
  const deadline = performance.now() + limitMs;
  const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const namespaces = ['default', ...(options.namespaces ?? [])];
  while (!ended() && performance.now() < deadline) {
    if (!announced()) {
      await pause();
      continue;
    }
    try {
      const connection = await Connection.connect({ address: server.address, connectTimeout: 2_000 });
      try {
        for (const namespace of namespaces) await connection.workflowService.describeNamespace({ namespace });
      } finally {
        await connection.close();
      }
      if (!ended()) return null;
    } catch {
      await pause();
    }
  }
  return ended()
    ? `it ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`
    : `not ready within ${limitMs} ms`;
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

async function end(child: ChildProcess, signal: NodeJS.Signals, exited: Promise<void>): Promise<void> {
  child.kill(signal);
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS);
  await exited;
  clearTimeout(force);
}

function listen(child: ChildProcess): { announced(): boolean; tail(): string } {
  let tail = '';
  let announced = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      tail = (tail + chunk).slice(-KEPT_LOG_CHARS);
      announced ||= /Server: +\S+:\d+/.test(tail);
    });
  }
  return { announced: () => announced, tail: () => tail.trim() };
}
