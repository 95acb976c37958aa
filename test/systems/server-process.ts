/**
 * One server program for tests: on a free port of 127.0.0.1, with a data folder of its own.
 *
 * Invariant: it answers when `start` returns; it does not outlive this process, however that one ends, and its folder goes with
 * it. It can be killed, frozen and started again with the same data on the same port.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePorts } from '../../src/testing/dev-server';
import { removeWithUs } from './remove-with-us';
import { startChild, type ServerChild } from './server-child';
import { type Running } from './system';

export interface ServerProgram {
  readonly name: string;
  /** The command line for this port; `folder` is the server's own, and its working folder. */
  command(port: number, folder: string): readonly [command: string, ...args: string[]];
  /** Beside `PATH` and `HOME`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it answers at this port. */
  answers(port: number): Promise<boolean>;
  readonly readyWithinMs: number;
}

const START_TRIES = 5;

export class ServerProcess implements Running {
  readonly folder: string;
  readonly #program: ServerProgram;
  readonly #guard: { removed(): void };
  #port = 0;
  #running: ServerChild | null = null;

  private constructor(program: ServerProgram) {
    this.#program = program;
    this.folder = mkdtempSync(path.join(os.tmpdir(), `countersign-${program.name}-`));
    this.#guard = removeWithUs(this.folder);
  }

  static async open(program: ServerProgram): Promise<ServerProcess> {
    const server = new ServerProcess(program);
    for (let tries = 1; ; tries += 1) {
      [server.#port] = (await findFreePorts(1)) as [number];
      try {
        await server.start();
        return server;
      } catch (error) {
        if (tries < START_TRIES && /in use/i.test(server.#log())) continue; // somebody took the port meanwhile
        await server.end();
        throw error;
      }
    }
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    if (this.#running !== null) throw new Error(`${this.#program.name} is running already.`);
    const { name, env, readyWithinMs } = this.#program;
    const [command, ...args] = this.#program.command(this.#port, this.folder);
    const { PATH = '', HOME = '' } = process.env;
    const running = startChild(command, args, this.#logFile, { cwd: this.folder, env: { PATH, HOME, ...env } });
    if (running === null) throw new Error(`${name} could not be started.`);
    this.#running = running;
    const deadline = performance.now() + readyWithinMs;
    while (!running.hasEnded() && performance.now() < deadline) {
      if (await this.#program.answers(this.#port).catch(() => false)) return;
      await delay(20);
    }
    await this.kill();
    throw new Error(`${name} did not answer within ${readyWithinMs} ms: ${this.#log()}`);
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    running.child.kill('SIGKILL');
    await running.exited;
    this.#running = null;
  }

  /** SIGSTOP: connections are still taken by the system, and nothing answers. */
  freeze(): void {
    this.#running?.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#running?.child.kill('SIGCONT');
  }

  async end(): Promise<void> {
    await this.kill();
    this.#guard.removed();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  get #logFile(): string {
    return path.join(this.folder, 'log');
  }

  #log(): string {
    try {
      return readFileSync(this.#logFile, 'utf8').slice(-4_000);
    } catch {
      return '';
    }
  }
}
