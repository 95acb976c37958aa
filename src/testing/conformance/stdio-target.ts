/**
 * A child process that is spoken to through its standard input and output, put behind a TCP address, so that the same proxy
 * can stand before it. Invariant: one process for each connection, ended with it, and none outlives this one.
 */
import { spawn } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { endWithUs } from '../end-with-us';
import type { Address } from './fault-proxy';

/** Stands for the command: passes its own standard input and output on to the port that it is given. */
export const STDIO_BRIDGE = [
  "const line = require('net').connect(Number(process.argv[1]), '127.0.0.1');",
  'process.stdin.pipe(line); line.pipe(process.stdout);',
  "line.on('close', () => process.exit(0)); line.on('error', () => process.exit(1));",
].join(' ');

export interface StdioTarget extends Address {
  close(): Promise<void>;
}

export async function startStdioTarget(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> | undefined,
): Promise<StdioTarget> {
  const ending = new Set<() => void>();
  const server = createServer((socket) => {
    const child = spawn(command, args, { env: env ?? process.env, stdio: ['pipe', 'pipe', 'ignore'] });
    const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
    if (child.pid !== undefined) endWithUs(child.pid, exited);
    const end = (): void => void child.kill('SIGKILL');
    ending.add(end);
    void exited.then(() => {
      ending.delete(end);
      socket.destroy();
    });
    child.on('error', () => socket.destroy());
    child.stdin.on('error', () => undefined);
    socket.on('error', () => undefined);
    socket.pipe(child.stdin);
    child.stdout.pipe(socket);
    socket.once('close', end);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        for (const end of ending) end();
        server.close(() => resolve());
      }),
  };
}
