/**
 * The page of an example, run as it reads: its blocks in order, its long-running programs as processes of their own, each
 * ended by its own id.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { temporalAddress } from '../support/temporal';

export interface Block {
  readonly language: string;
  readonly text: string;
}

export function blocksOf(page: string): readonly Block[] {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```(\w*)\n([^]*?)^```/gm);
  return [...blocks].map(([, language, text]) => ({ language: language!, text: text! }));
}

/** Shells with one environment, as a reader who pastes every `export` line into each. */
export class Shells {
  readonly env: NodeJS.ProcessEnv;
  /** What all programs wrote to their standard error; shown when one fails. */
  private complaints = '';
  private readonly running = new Set<ChildProcess>();
  /** `npx` writes into its cache, and two of them at once get into each other's way there. */
  private readonly npxCache = mkdtempSync(path.join(tmpdir(), 'countersign-npx-'));

  constructor(env: NodeJS.ProcessEnv) {
    this.env = { ...process.env, TEMPORAL_ADDRESS: temporalAddress(), npm_config_cache: this.npxCache, ...env };
  }

  /** Runs lines to their end and answers what they print. */
  async run(lines: string): Promise<string> {
    const child = this.spawn(lines);
    let printed = '';
    child.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`${lines} ended with ${code}: ${printed}${this.complaints.slice(-2_000)}`);
    return printed;
  }

  /** Starts a program that stays; resolves with its first line. Exports of that line count from then on. */
  async start(line: string): Promise<{ readonly said: string; kill(): Promise<void> }> {
    const child = this.spawn(line);
    const said = await new Promise<string>((resolve, reject) => {
      let printed = '';
      child.stdout!.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        if (printed.includes('\n')) resolve(printed);
      });
      child.once('close', () => reject(new Error(`${line} ended by itself`)));
    });
    for (const [, name, value] of said.matchAll(/^export (\w+)=(.*)$/gm)) this.env[name!] = value;
    return { said, kill: () => this.kill(child) };
  }

  async end(): Promise<void> {
    await Promise.all([...this.running].map((child) => this.kill(child)));
    rmSync(this.npxCache, { recursive: true, force: true });
  }

  private spawn(line: string): ChildProcess {
    // In a group of its own: `npx` starts the program as a child, and both are to go.
    const child = spawn('/bin/bash', ['-ec', line], {
      env: this.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr!.on('data', (chunk: Buffer) => (this.complaints += chunk.toString()));
    this.running.add(child);
    child.once('exit', () => this.running.delete(child));
    return child;
  }

  private async kill(child: ChildProcess): Promise<void> {
    const gone = once(child, 'close');
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      return; // it has ended meanwhile
    }
    await gone;
  }
}
