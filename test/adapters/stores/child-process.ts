/**
 * Real processes for tests: started from TypeScript, spoken to by messages, ended by their own id.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { afterEach } from 'vitest';

export interface ChildOptions {
  /** Put before the node command: `sh -c '… exec "$@"' sh`, for limits and mounts of the child alone. */
  readonly prelude?: readonly string[];
  /** Give up the superuser's rights once everything is loaded. */
  readonly unprivileged?: boolean;
}

/** A message of the child that is not an answer. */
export type Note = { readonly done: string };
type Answer = { readonly value: unknown } | { readonly code?: string; readonly message: string };

const running = new Set<ChildProcess>();

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

export class Child<Action> {
  readonly notes: Note[] = [];
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #waiting: ((answer: Answer) => void)[] = [];

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = once(child, 'exit').then(([code, signal]) => String(signal ?? code));
    child.on('message', (message: Answer | Note) => {
      if ('done' in message) this.notes.push(message);
      else this.#waiting.shift()?.(message);
    });
    void this.ended.then(() => {
      running.delete(child);
      for (const answer of this.#waiting.splice(0)) answer({ code: 'ended', message: 'the process ended' });
    });
  }

  /** Starts `<script>` with arguments, and waits until it says that it is ready. */
  static async start<Action>(
    script: string,
    args: readonly string[],
    options: ChildOptions = {},
  ): Promise<Child<Action>> {
    const node = [process.execPath, '--require', 'tsx/cjs', path.join(__dirname, script), ...args];
    const [command, ...rest] = [...(options.prelude ?? []), ...node] as [string, ...string[]];
    const child = spawn(command, rest, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...(options.unprivileged ? { RUN_UNPRIVILEGED: '1' } : {}) },
    });
    running.add(child);
    const ready = once(child, 'message');
    const started = new Child<Action>(child);
    await Promise.race([
      ready,
      started.ended.then((how) => Promise.reject(new Error(`${script} ended before it was ready: ${how}`))),
    ]);
    return started;
  }

  /** The value that an action returned, or the code of its failure as `{ failed }`. */
  async ask(action: Action): Promise<unknown> {
    const answer = new Promise<Answer>((resolve) => this.#waiting.push(resolve));
    this.#child.send(action as object);
    const found = await answer;
    return 'value' in found ? found.value : 'message' in found ? { failed: found.code } : undefined;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async end(): Promise<void> {
    this.#child.disconnect();
    await this.ended;
  }
}
