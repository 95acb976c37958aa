/**
 * Properties of `./temporal-dev.sh` and what it runs, with real processes:
 * - a missing or old Node, an unknown command and an unknown step are refused in one sentence;
 * - packages are installed again exactly when they are not what the lock file asks for;
 * - a process is told from another that has its pid; `down` signals the owner of the environment and nobody else;
 * - `up` ends only when a plan's servers and worker answer, a second `up` starts nothing, and all parts end with the owner,
 *   whether by `down` or by SIGKILL; its server knows our search attributes;
 * - in a shell with the lines that `up` prints, the client of the example does what its page shows, and again.
 */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { EnvironmentState } from '../../scripts/dev/environment-state';
import { identityOf, isStill, type ProcessIdentity } from '../../scripts/dev/process-identity';
import { ensureTemporalCli } from '../../scripts/dev/temporal-cli';
import { isSearchable } from '../../src/search-registration';

const run = promisify(execFile);
const bystanders: ChildProcess[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'temporal-dev-'));
});

afterEach(async () => {
  for (const child of bystanders.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

const shell = (args: string[], env: NodeJS.ProcessEnv = process.env): { code: number | null; stderr: string } => {
  const { status, stderr } = spawnSync('./temporal-dev.sh', args, { env, encoding: 'utf8' });
  return { code: status, stderr };
};

/** A script of `scripts/dev`, run as the shell runs it, on an environment of this test's own. */
async function dev(script: string, ...args: string[]): Promise<string> {
  const { path: cli } = await ensureTemporalCli();
  const env = { ...process.env, COUNTERSIGN_DEV_FOLDER: folder, TEMPORAL_CLI_PATH: cli };
  return (await run(process.execPath, ['--import', 'tsx', `scripts/dev/${script}.ts`, ...args], { env })).stdout;
}

function bystander(): ProcessIdentity {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  bystanders.push(child);
  return identityOf(child.pid!)!;
}

const state = (): Promise<EnvironmentState> =>
  readFile(path.join(folder, 'state.json'), 'utf8').then((text) => JSON.parse(text) as EnvironmentState);

const claim = (owner: ProcessIdentity): Promise<void> =>
  writeFile(path.join(folder, 'state.json'), JSON.stringify({ owner, places: null }));

test('what it cannot work with is refused in one sentence', async () => {
  expect(shell(['dance'])).toMatchObject({ code: 1, stderr: expect.stringContaining('no command "dance"') as string });
  expect(shell(['help'])).toEqual({ code: 0, stderr: '' });

  const tools = path.join(folder, 'bin');
  await mkdir(tools);
  for (const tool of ['env', 'bash', 'dirname']) await symlink(await which(tool), path.join(tools, tool));
  const env = { PATH: tools };
  expect(shell(['test'], env)).toEqual({
    code: 1,
    stderr: 'temporal-dev.sh: Node is not installed: install Node 20.19 or newer from https://nodejs.org.\n',
  });
  await script(path.join(tools, 'node'), '[ "$1" = --version ] && echo v20.18.3 && exit 0; exit 1');
  await script(path.join(tools, 'npm'), 'exit 0');
  expect(shell(['test'], env)).toEqual({
    code: 1,
    stderr: 'temporal-dev.sh: Node v20.18.3 is too old: install Node 20.19 or newer from https://nodejs.org.\n',
  });
});

test('an unknown step is named, with those that there are', async () => {
  await expect(dev('run-steps', 'lint', 'dance')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no step "dance"; the steps are lint, .*tests/) as string,
  });
});

const lock = { '': { version: '1.0.0' }, 'node_modules/a': { version: '1.0.0', integrity: 'x' } };
test.each([
  ['the same', lock, { 'node_modules/a': lock['node_modules/a'] }, 0],
  ['nothing installed', lock, null, 1],
  ['another version', lock, { 'node_modules/a': { version: '1.0.1', integrity: 'x' } }, 1],
  ['other bytes', lock, { 'node_modules/a': { version: '1.0.0', integrity: 'y' } }, 1],
  [
    'a package missing',
    { ...lock, 'node_modules/b': { version: '2.0.0' } },
    { 'node_modules/a': lock['node_modules/a'] },
    1,
  ],
  [
    'one for another platform missing',
    { ...lock, 'node_modules/b': { version: '2.0.0', optional: true } },
    { 'node_modules/a': lock['node_modules/a'] },
    0,
  ],
])('packages are up to date or not: %s', async (_case, wanted, present, code) => {
  await mkdir(path.join(folder, 'node_modules'));
  await writeFile(path.join(folder, 'package-lock.json'), JSON.stringify({ packages: wanted }));
  const hidden = path.join(folder, 'node_modules', '.package-lock.json');
  if (present !== null) await writeFile(hidden, JSON.stringify({ packages: present }));
  expect(spawnSync(process.execPath, ['scripts/dev/installed.mjs', folder]).status).toBe(code);
});

test('a pid is not an identity', async () => {
  const [one, other] = [bystander(), bystander()];
  expect([isStill(one), isStill({ ...one, started: other.started + '0' })]).toEqual([true, false]);
  bystanders[0]!.kill('SIGKILL');
  await expect.poll(() => isStill(one)).toBe(false);
  expect(identityOf(one.pid)).toBeNull();
});

test('down signals the owner only, and nobody who was given its pid later', async () => {
  const [owner, other] = [bystander(), bystander()];
  await claim({ ...other, started: `${other.started}0` });
  expect(await dev('down')).toBe('Nothing is up.\n');
  expect(isStill(other)).toBe(true);

  await claim(owner);
  expect(await dev('down')).toBe('Down.\n');
  expect([isStill(owner), isStill(other)]).toEqual([false, true]);
});

test(
  'up starts all parts once; they end with down, and with an owner that is killed',
  { timeout: 400_000 },
  async () => {
    const other = bystander();
    const places = JSON.parse(await dev('up', '--json')) as NonNullable<EnvironmentState['places']>;
    const { owner } = await state();
    const connection = await Connection.connect({ address: places.temporal });
    // The worker says that it is up before its first poll has reached the server.
    await vi.waitFor(
      async () => {
        const { pollers } = await connection.workflowService.describeTaskQueue({
          namespace: 'default',
          taskQueue: { name: places.taskQueue },
          taskQueueType: 1,
        });
        expect(pollers).toHaveLength(1);
      },
      { timeout: 60_000, interval: 250 },
    );
    expect(await isSearchable(connection, 'default')).toBe(true);
    await connection.close();
    const urls = [places.webUi, `${places.fhir}/metadata`, places.billing];
    expect(await Promise.all(urls.map(answers))).toEqual([true, true, true]);

    expect(JSON.parse(await dev('up', '--json'))).toEqual(places);
    expect((await state()).owner).toEqual(owner);

    const lines = (await dev('up')).split('\n').filter((line) => line.startsWith('  export '));
    expect(lines).toHaveLength(4);
    const page = await readFile('examples/vitals/README.md', 'utf8');
    const client = /npx tsx examples\/vitals\/src\/client\.ts/.exec(page)![0];
    const expected = /```\n(committed[^`]*)```/.exec(page)![1]!;
    const told = async (): Promise<string> => (await run('/bin/bash', ['-c', [...lines, client].join('\n')])).stdout;
    expect(await told()).toBe(expected);
    expect(await told()).toBe(expected.replace('completed\n', 'completed (replayed)\n'));

    process.kill(owner.pid, 'SIGKILL');
    await expect.poll(() => Promise.all(urls.map(answers)), { timeout: 10_000 }).toEqual([false, false, false]);

    const again = JSON.parse(await dev('up', '--json')) as typeof places;
    expect(await answers(again.webUi)).toBe(true);
    expect(await dev('down')).toBe('Down.\n');
    expect(await answers(again.webUi)).toBe(false);
    expect(existsSync(path.join(folder, 'state.json'))).toBe(false);
    expect(isStill(other)).toBe(true);
  },
);

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

const which = async (tool: string): Promise<string> =>
  (await run('/bin/sh', ['-c', `command -v ${tool}`])).stdout.trim();

async function script(file: string, body: string): Promise<void> {
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
}
