/**
 * Properties of a launch that is a child process, with real ones:
 * - it gets its context and hands in its result, with the credential of its environment; that stands in no argument, and nothing
 *   of our environment is there but what was declared;
 * - with another credential, without one, or in another form nothing is answered but a code;
 * - that it has ended is told once what it said before was heard, however it ended; it is ended at its limit, or when it floods;
 * - a program that is not there, or cannot be started, was not launched.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { processLauncher, type ProcessLauncherOptions } from '../../../src/adapters/launchers';
import { JOB, KeptDoor, shut, visit } from './support';

const launcher = (steps: string, more: Partial<ProcessLauncherOptions> = {}): ReturnType<typeof processLauncher> =>
  processLauncher({ command: process.execPath, args: [path.join(__dirname, 'worker.mjs'), steps], ...more });

async function run(
  steps: string,
  more: Partial<ProcessLauncherOptions> = {},
  door = new KeptDoor(),
): Promise<KeptDoor> {
  const at = visit(door);
  expect(await launcher(steps, more).launch(JOB, at)).toEqual({ outcome: 'started' });
  await at.ended;
  return door;
}

test('fetches and submits', async () => {
  const { outputs } = await run('context,submit');
  expect(outputs).toEqual([{ verdict: 'fine', seen: { context: { prompt: 'check this' } } }]);
});

test('sees a declared environment, and its credential in no argument', async () => {
  const { outputs } = await run('environment,submit', { env: { EXTRA: '1' } });
  const names = ['COUNTERSIGN_JOB_ID', 'EXTRA', 'PATH'];
  const ours = (outputs as [{ seen: { names: string[]; argv: string[] } }])[0].seen;
  expect(ours.names.filter((name) => !name.startsWith('__'))).toEqual(names);
  expect(ours.argv).toEqual(['environment,submit']);
});

test.each([
  ['stranger', 'worker_unknown'],
  ['without', 'worker_unknown'],
  ['junk', 'invalid_request'],
])('%s is answered with a code', async (step, code) => {
  const door = await run(`${step},submit`);
  expect(door.outputs).toEqual([{ verdict: 'fine', seen: { refused: code } }]);
  expect(door.fetched).toBe(0);
});

test('the same again is taken, another is not', async () => {
  expect((await run('same,same,other')).outputs).toEqual([{ verdict: 'same' }]);
});

test('what the door refuses is told as its code', async () => {
  const at = visit({ ...shut, submit: new KeptDoor().submit });
  const kept = new KeptDoor();
  const door = { fetchContext: shut.fetchContext, submit: (output: unknown) => kept.submit(output) };
  expect(await launcher('context,submit').launch(JOB, { ...at, door })).toEqual({ outcome: 'started' });
  await at.ended;
  expect(kept.outputs).toEqual([{ verdict: 'fine', seen: { refused: 'receipt_expired' } }]);
});

test.each(['exit', 'flood,wait'])('is over: %s', async (steps) => {
  expect((await run(steps)).outputs).toEqual([]);
});

test('is ended at its limit', async () => {
  expect((await run('wait', { lifetimeMs: 50 })).outputs).toEqual([]);
});

test('that is not there was not launched', async () => {
  const at = visit(new KeptDoor());
  const missing = processLauncher({ command: path.join(__dirname, 'no-such-program') });
  expect(await missing.launch(JOB, at)).toEqual({ outcome: 'not_launched' });
  const impossible = processLauncher({ command: process.execPath, args: ['a\0b'] });
  expect(await impossible.launch(JOB, at)).toEqual({ outcome: 'not_launched' });
});
