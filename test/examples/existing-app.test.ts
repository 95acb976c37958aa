/**
 * Properties of the example "existing-app", run from its page:
 * - the diff on the page is the difference of the two apps, and has less than 30 changed lines;
 * - with its worker killed while the shop answers, the app before charges twice, and the app after charges once.
 */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { builtProgram } from '../cli/support';
import { useRig } from '../support/rig';
import { Shells, blocksOf } from './page';

const rig = useRig();
const blocks = blocksOf('examples/existing-app/README.md');
const changed = (diff: string): string[] => diff.split('\n').filter((line) => /^[+-](?![+-]{2} )/.test(line));

test('the diff', () => {
  const args = ['-c', 'diff -ruN before after || true'];
  const real = execFileSync('/bin/bash', args, { cwd: 'examples/existing-app', encoding: 'utf8' });
  const shown = blocks.find(({ language }) => language === 'diff')!.text;
  expect(changed(shown)).toEqual(changed(real));
  expect(changed(shown).length).toBeLessThan(30);
});

test('before and after', { timeout: 300_000 }, async () => {
  const cli = builtProgram();
  const [services, before, count, twice, after, once] = blocks.filter(({ language }) => language !== 'diff');
  const [init, ...started] = after!.text.trim().split('\n');
  expect(init).toBe('npx tsx src/cli/main.ts journal init journal');
  execFileSync(process.execPath, [cli, 'journal', 'init', 'journal'], { cwd: rig.folder });
  expect(await charges(services!.text, before!.text.trim().split('\n'), count!.text)).toBe(twice!.text.trim());
  expect(await charges(services!.text, started, count!.text)).toBe(once!.text.trim());
});

/** What the shop says at the end of the story. */
async function charges(services: string, [worker, client]: string[], count: string): Promise<string> {
  const shells = new Shells({});
  rig.atEnd(() => shells.end());
  await shells.start(services.split('\n')[1]!);
  // The page's worker keeps its journal where it is started, which is the repository: here that is a folder of the test.
  const program = worker!
    .replace('npx tsx ', `exec node_modules/.bin/tsx `)
    .replaceAll(/(node_modules|examples)/g, `${process.cwd()}/$1`);
  const start = `cd ${rig.folder} && echo started && ${program}`;
  const first = await shells.start(start);
  const bought = shells.run(client!);
  const told = (): Promise<string> => shells.run(count).then((text) => text.trim());
  await expect.poll(told, { timeout: 60_000 }).toBe('{"count":1,"begun":1}');
  await first.kill();
  await shells.start(start);
  expect(await bought).toBe('490000\n');
  const end = await told();
  await shells.end();
  return end;
}
