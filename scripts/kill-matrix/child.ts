/**
 * Child processes of the matrix. Invariant: each is ended by its own pid, by us at the latest when this process ends; one
 * that we cannot end any more ends by itself, because its standard input closes.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

const PACKAGES = path.join(__dirname, '..', '..', 'node_modules');

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class Child {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  private readonly process: ChildProcess;
  private readonly lines: string[] = [];
  private readonly news = new EventEmitter().setMaxListeners(0);
  private gone = false;

  /** Runs a program that `build-child` made; its standard error goes to the open file `log`. */
  constructor(file: string, args: readonly string[] = [], log: number | 'ignore' = 'ignore') {
    const child = spawn(process.execPath, [file, ...args], {
      stdio: ['pipe', 'pipe', log],
      // The built file stands elsewhere, and what it does not contain is found here.
      env: { ...process.env, NODE_PATH: PACKAGES },
    });
    this.process = child;
    this.pid = child.pid ?? 0;
    running.add(child);
    child.stdin?.on('error', () => undefined);
    this.exited = new Promise((resolve) => {
      child.once('error', () => resolve({ code: null, signal: null }));
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      this.lines.push(line);
      this.news.emit('news');
    });
    // What a process wrote before its end still counts: its end is news only when its last line has been read.
    lines.once('close', () => {
      this.gone = true;
      this.news.emit('news');
    });
    void this.exited.then(() => running.delete(child));
  }

  /** The `nth` line that fits; rejects when the process ends, or `withinMs` are over, before it comes. */
  async line(fits: (line: string) => boolean, nth: number, what: string, withinMs: number): Promise<string> {
    const signal = AbortSignal.timeout(withinMs);
    for (;;) {
      const found = this.lines.filter(fits)[nth - 1];
      if (found !== undefined) return found;
      if (this.gone) throw new Error(`a process ended before it came to "${what}"`);
      if (signal.aborted) throw new Error(`a process did not come to "${what}" within ${withinMs} ms`);
      await new Promise<void>((resolve) => {
        const done = (): void => {
          this.news.off('news', done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        this.news.on('news', done);
        signal.addEventListener('abort', done);
      });
    }
  }

  write(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal);
  }

  async kill(): Promise<Exit> {
    this.process.kill('SIGKILL');
    return this.exited;
  }
}
