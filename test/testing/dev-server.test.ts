/**
 * Properties of the dev server helper, against the real program:
 * - a namespace asked for is usable when the start returns, and only loopback addresses are listened on;
 * - a port in use is refused with the server's own reason;
 * - a workflow survives a SIGKILL of the server and a start on the same port and database file;
 * - the server ends when the process that started it is killed with SIGKILL.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { startDevServer, type DevServer, type DevServerOptions } from '../../src/testing/dev-server';
import { connectTemporal, temporalAddress, temporalCli, uniqueTaskQueue } from '../support/temporal';

const servers: DevServer[] = [];
const folders: string[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
});

async function start(options: DevServerOptions = {}): Promise<DevServer> {
  const server = await startDevServer({ executable: temporalCli(), ...options });
  servers.push(server);
  return server;
}

test('namespaces asked for are there, on a loopback address', async () => {
  const server = await start({ namespaces: ['one', 'two'], ui: true });
  expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/);
  expect((await fetch(server.uiUrl!)).status).toBe(200);
  const temporal = await connectTemporal({ address: server.address });
  for (const namespace of ['one', 'two']) {
    const described = await temporal.client.workflowService.describeNamespace({ namespace });
    expect(described.namespaceInfo?.name).toBe(namespace);
  }
  await temporal.close();
});

test('a port in use is refused', async () => {
  const port = Number(temporalAddress().split(':')[1]);
  await expect(start({ port })).rejects.toThrow(/did not start.*\n.*address already in use/);
});

test('a workflow survives a killed server that starts again on the same port and file', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'dev-server-'));
  folders.push(folder);
  const dbFile = path.join(folder, 'temporal.db');
  const first = await start({ dbFile });
  const before = await connectTemporal({ address: first.address });
  const handle = await before.client.workflow.start('never-run', { taskQueue: uniqueTaskQueue(), workflowId: 'kept' });
  await first.kill();
  await before.close();

  const second = await start({ dbFile, port: first.port });
  expect(second.pid).not.toBe(first.pid);
  const after = await connectTemporal({ address: second.address });
  const described = await after.client.workflow.getHandle('kept').describe();
  expect([described.runId, described.status.name]).toEqual([handle.firstExecutionRunId, 'RUNNING']);
  await after.close();
});

test('the server ends with a starter that is killed', async () => {
  const module = path.resolve('src/testing/dev-server.ts');
  const program = `require(${JSON.stringify(module)}).startDevServer(${JSON.stringify({ executable: temporalCli() })})
    .then((server) => console.log(server.pid))`;
  const starter = spawn(process.execPath, ['--import', 'tsx', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(starter.stdout), 'line')) as [string];
  const pid = Number(line);
  expect(isAlive(pid)).toBe(true);
  starter.kill('SIGKILL');
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
