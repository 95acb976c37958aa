/**
 * An MCP server as a child process, spoken to over its standard input and output.
 *
 * Invariant: the child gets a declared environment only, ends with this process in whatever way that ends, keeps it from ending in
 * no way, and is never sent anything after it has died.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { type Socket } from 'node:net';
import { endWithUs } from '../end-with-us';

/** A server that is started here and spoken to over its standard input and output. */
export interface McpProgram {
  /** The server's own program: with a launcher like `npx` between, only the launcher is ended. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Names of this process's environment that the server may see. @default ['PATH'] */
  readonly passEnv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

const MAX_QUEUED = 16 * 1024 * 1024;

/** What the SDK asks of a transport. */
export class McpStdio {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: unknown) => void;
  #child: ChildProcess | null = null;
  #arrived = '';

  constructor(
    private readonly program: McpProgram,
    private readonly maxAnswerBytes: number,
  ) {}

  /** Whether a message that is sent now reaches a process. */
  get alive(): boolean {
    return this.#child !== null;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async start(): Promise<void> {
    const { command, args = [], passEnv = ['PATH'], env, cwd } = this.program;
    const passed = passEnv.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
    const child = spawn(command, args, {
      env: { ...(Object.fromEntries(passed) as Record<string, string>), ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    this.#child = child;
    const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    endWithUs(child.pid ?? 0, exited);
    void exited.then(() => this.#gone());
    child.on('error', () => this.#gone());
    child.stdin.on('error', () => this.#gone());
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    for (const handle of [child, child.stdin as Socket, child.stdout as Socket]) handle.unref();
  }

  send(message: unknown): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin || stdin.writableLength > MAX_QUEUED) return Promise.reject(new Error('Not connected'));
    stdin.write(`${JSON.stringify(message)}\n`);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#child?.kill('SIGKILL');
    this.#gone();
    return Promise.resolve();
  }

  #take(text: string): void {
    this.#arrived += text;
    const lines = this.#arrived.split('\n');
    this.#arrived = lines.pop() ?? '';
    if ([this.#arrived, ...lines].some((line) => line.length > this.maxAnswerBytes)) return void this.close();
    for (const line of lines) {
      try {
        this.onmessage?.(JSON.parse(line));
      } catch {
        // A line that is no message; its text may be anything.
      }
    }
  }

  #gone(): void {
    if (!this.#child) return;
    this.#child = null;
    this.onclose?.();
  }
}
