/**
 * A real PostgreSQL server for tests: on a free port of 127.0.0.1, with a data folder of its own; several may run at once.
 *
 * Invariant: the server answers when `startPostgres` or `start` returns; it does not outlive the process that started it, however
 * that one ends, and its folder goes with it. It can be stopped, killed, frozen and started again with the same data and port.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { endWithUs } from '../../src/testing/end-with-us';
import { findFreePorts } from '../../src/testing/dev-server';
import { isMissing, type Missing, type Running } from './system';
import { findPostgres, type PostgresBinaries } from './postgres-binaries';
import { removeWithUs } from './remove-with-us';
import { startChild, type ServerChild } from './server-child';

const HOST = '127.0.0.1';
const START_TRIES = 5;
const READY_WITHIN_MS = 60_000;

/** As in postgresql.conf: `{ max_prepared_transactions: 10, idle_in_transaction_session_timeout: '2s' }`. */
export type PostgresSettings = Readonly<Record<string, string | number | boolean>>;

export interface PostgresOptions {
  readonly settings?: PostgresSettings;
  /** The owner `postgres` must give this password; without it, nobody is asked for one. */
  readonly password?: string;
  /** @internal Begin with a copy of this data. */
  readonly dataFrom?: string;
}

export interface PostgresServer extends Running {
  readonly host: string;
  readonly port: number;
  /** Of the postmaster; another one after each `start`. */
  readonly pid: number;
  /** Name of the owner of everything, a superuser. */
  readonly owner: string;
  /** Where its data stands, for looks from outside. */
  readonly folder: string;
  /** `postgres://user@127.0.0.1:port/database`, by default of the owner. */
  address(database?: string, user?: string): string;
  /** Makes a database with a name of its own, and gives the name back. */
  makeDatabase(): Promise<string>;
  /** Runs statements as the owner, on a connection of their own, and gives back the rows of the last one. */
  query(database: string, statements: string): Promise<readonly Record<string, unknown>[]>;
  /** Ends it in order (`fast`: open transactions are rolled back) or at once, as by a crash (`immediate`). */
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
  /** SIGKILL to the postmaster and to every process of its. */
  kill(): Promise<void>;
  /** SIGSTOP to all of them: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Starts it again with the same data on the same port; settings are added to those it had. */
  start(settings?: PostgresSettings): Promise<void>;
  /** A streaming hot standby of this server, which is restarted for it. */
  makeStandby(settings?: PostgresSettings): Promise<PostgresServer>;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer | Missing> {
  const binaries = findPostgres();
  if (isMissing(binaries)) return binaries;
  const folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-postgres-'));
  const guard = removeWithUs(folder);
  try {
    own(folder, binaries);
    return await PostgresOnDisk.open({ folder, binaries, guard, options });
  } catch (error) {
    guard.removed();
    rmSync(folder, { recursive: true, force: true });
    binaries.remove();
    throw error;
  }
}

interface Parts {
  readonly folder: string;
  readonly binaries: PostgresBinaries;
  readonly guard: { removed(): void };
  readonly options: PostgresOptions;
}

class PostgresOnDisk implements PostgresServer {
  readonly host = HOST;
  readonly owner = 'postgres';
  readonly #parts: Parts;
  readonly #standbys: PostgresServer[] = [];
  #settings: PostgresSettings;
  #port = 0;
  #postmaster: ServerChild | null = null;
  #frozen: { readonly pids: readonly number[]; thawed(): void } | null = null;
  #databases = 0;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.#settings = { fsync: 'on', ...parts.options.settings };
  }

  static async open(parts: Parts): Promise<PostgresOnDisk> {
    const server = new PostgresOnDisk(parts);
    server.#initialise();
    for (let tries = 1; ; tries += 1) {
      [server.#port] = (await findFreePorts(1)) as [number];
      try {
        await server.start();
        return server;
      } catch (error) {
        if (tries === START_TRIES || !/could not bind|in use/i.test(server.#log())) throw error;
      }
    }
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    if (this.#postmaster === null) throw new Error('The PostgreSQL server is not running.');
    return this.#postmaster.pid;
  }

  get folder(): string {
    return this.#data;
  }

  address(database = 'postgres', user = this.owner): string {
    const { password } = this.#parts.options;
    const secret = password !== undefined && user === this.owner ? `:${encodeURIComponent(password)}` : '';
    return `postgres://${user}${secret}@${HOST}:${this.#port}/${database}`;
  }

  async makeDatabase(): Promise<string> {
    const name = `test_${process.pid}_${(this.#databases += 1)}`;
    await this.query('postgres', `CREATE DATABASE ${name} TEMPLATE template0`);
    return name;
  }

  async query(database: string, statements: string): Promise<readonly Record<string, unknown>[]> {
    const client = new Client({ connectionString: this.address(database) });
    client.on('error', () => undefined);
    await client.connect();
    try {
      const result: unknown = await client.query(statements);
      const last = (Array.isArray(result) ? result.at(-1) : result) as { rows: Record<string, unknown>[] };
      return last.rows;
    } finally {
      await client.end();
    }
  }

  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#endBy(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
  }

  async kill(): Promise<void> {
    const postmaster = this.#postmaster;
    if (postmaster === null) return;
    signalAll('SIGSTOP', [this.pid]); // it must not replace the processes that end before it
    const all = [this.pid, ...childrenOf(this.pid)];
    signalAll('SIGKILL', all);
    await postmaster.exited;
    this.#frozen?.thawed();
    this.#frozen = null;
  }

  freeze(): void {
    signalAll('SIGSTOP', [this.pid]); // first: it makes no new process any more
    const pids = [this.pid, ...childrenOf(this.pid)];
    signalAll('SIGSTOP', pids);
    let thawed = (): void => undefined;
    const until = new Promise<void>((resolve) => (thawed = resolve));
    for (const pid of pids) endWithUs(pid, until); // a stopped process does not see that its postmaster is gone
    this.#frozen = { pids, thawed };
  }

  thaw(): void {
    const frozen = this.#frozen;
    if (frozen === null) return;
    this.#frozen = null;
    frozen.thawed();
    signalAll('SIGCONT', [...frozen.pids].reverse());
  }

  async start(settings: PostgresSettings = {}): Promise<void> {
    if (this.#postmaster !== null) throw new Error('The PostgreSQL server is running already.');
    this.#settings = { ...this.#settings, ...settings };
    const deadline = performance.now() + READY_WITHIN_MS;
    for (;;) {
      const why = await this.#launch(deadline);
      if (why === null) return;
      // After a SIGKILL the memory of the last run is held until the last of its processes is gone.
      const held = /shared memory block|lock file "postmaster.pid" already exists/.test(this.#log());
      if (!held || performance.now() > deadline) throw new Error(`PostgreSQL did not start: ${why}\n${this.#log()}`);
      await delay(50);
    }
  }

  async makeStandby(settings: PostgresSettings = {}): Promise<PostgresServer> {
    await this.stop();
    const options = { ...this.#parts.options, settings: { ...this.#settings, ...settings }, dataFrom: this.#data };
    const copied = await (async () => {
      const folder = mkdtempSync(path.join(os.tmpdir(), 'countersign-postgres-'));
      const guard = removeWithUs(folder);
      own(folder, this.#parts.binaries);
      const binaries = { ...this.#parts.binaries, remove: () => undefined };
      const primary = `host=${HOST} port=${this.#port} user=${this.owner} password=${this.#parts.options.password ?? ''}`;
      cpSync(this.#data, path.join(folder, 'data'), { recursive: true });
      writeFileSync(path.join(folder, 'data', 'standby.signal'), '');
      appendFileSync(path.join(folder, 'data', 'postgresql.conf'), `\nprimary_conninfo = '${primary}'\n`);
      ownAll(path.join(folder, 'data'), binaries);
      return { folder, binaries, guard, options };
    })();
    await this.start();
    const standby = await PostgresOnDisk.open(copied);
    this.#standbys.push(standby);
    return standby;
  }

  async end(): Promise<void> {
    for (const standby of this.#standbys.splice(0)) await standby.end();
    await this.kill();
    this.#parts.guard.removed();
    rmSync(this.#parts.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
    this.#parts.binaries.remove();
  }

  get #data(): string {
    return path.join(this.#parts.folder, 'data');
  }

  #log(): string {
    try {
      return readFileSync(path.join(this.#parts.folder, 'log'), 'utf8').slice(-4_000);
    } catch {
      return '';
    }
  }

  #initialise(): void {
    const { folder, binaries, options } = this.#parts;
    if (options.dataFrom !== undefined) return;
    const secret = path.join(folder, 'password');
    writeFileSync(secret, `${options.password ?? 'unused'}\n`, { mode: 0o600 });
    own(secret, binaries);
    const auth = options.password === undefined ? 'trust' : 'scram-sha-256';
    const flags = ['-D', this.#data, '-U', this.owner, '-A', auth, `--pwfile=${secret}`, '-E', 'UTF8', '--locale=C'];
    execFileSync(path.join(binaries.folder, 'initdb'), [...flags, '--no-sync', '--no-instructions'], {
      ...binaries.as,
      cwd: folder,
      env: environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: READY_WITHIN_MS,
    });
    rmSync(secret);
  }

  /** Null when it answers, else why it does not. */
  async #launch(deadline: number): Promise<string | null> {
    const { folder, binaries } = this.#parts;
    const log = path.join(folder, 'log');
    rmSync(log, { force: true });
    const fixed = { listen_addresses: HOST, unix_socket_directories: '', port: this.#port };
    const flags = Object.entries({ ...this.#settings, ...fixed }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const how = { ...binaries.as, cwd: folder, env: environment() };
    const postmaster = startChild(path.join(binaries.folder, 'postgres'), ['-D', this.#data, ...flags], log, how);
    if (postmaster === null) return 'its program could not be started';
    this.#postmaster = postmaster;
    void postmaster.exited.then(() => {
      if (this.#postmaster === postmaster) this.#postmaster = null;
    });
    while (!postmaster.hasEnded() && performance.now() < deadline) {
      if (await this.#answers()) return null;
      await delay(20);
    }
    if (postmaster.hasEnded()) return 'it ended at once';
    await this.#endBy('SIGKILL');
    return `it did not answer within ${READY_WITHIN_MS} ms`;
  }

  async #answers(): Promise<boolean> {
    // Says its pid only once it accepts connections; so no stranger on the same port passes for it.
    try {
      const [pid, , , , , , , status] = readFileSync(path.join(this.#data, 'postmaster.pid'), 'utf8').split('\n');
      if (Number(pid) !== this.#postmaster?.pid || !/ready|standby/.test(status ?? '')) return false;
      await this.query('postgres', 'SELECT 1');
      return true;
    } catch {
      return false;
    }
  }

  async #endBy(signal: NodeJS.Signals): Promise<void> {
    const postmaster = this.#postmaster;
    if (postmaster === null) return;
    this.thaw();
    postmaster.child.kill(signal);
    await postmaster.exited;
  }
}

/** No variable of the caller's (`PGDATA`, `PGPORT`, …) changes the server. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '', LC_ALL: 'C', TZ: 'UTC' };
}

function own(target: string, { as }: PostgresBinaries): void {
  if (as.uid !== undefined && as.gid !== undefined) chownSync(target, as.uid, as.gid);
}

function ownAll(folder: string, { as }: PostgresBinaries): void {
  chmodSync(folder, 0o700);
  if (as.uid !== undefined) execFileSync('chown', ['-R', `${as.uid}:${as.gid}`, folder]);
}

function childrenOf(pid: number): number[] {
  const listed =
    os.platform() === 'linux'
      ? readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      : execFileSync('/bin/sh', ['-c', 'pgrep -P "$1" || true', 'sh', String(pid)], { encoding: 'utf8' });
  return listed.split(/\s+/).filter(Boolean).map(Number);
}

function signalAll(signal: NodeJS.Signals, pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // ended meanwhile
    }
  }
}
