/**
 * Properties of reviewers' keys from a file:
 * - what is written counts with the next load, a revocation too; the same bytes are the same keys;
 * - a file that is broken, gone, too large, no file or writable by anybody is refused with a sentence, and never waited for;
 * - keys that were read bridge a broken file for less than a minute.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { reviewersFromFile } from '../../../src/adapters/reviewers';
import { MAX_JWKS_BYTES } from '../../../src/rules/receipts/jwks';
import { handClock, read, setOf, workFolder } from './support';

it('counts with the next load', async () => {
  const file = path.join(workFolder(), 'reviewers.json');
  const keys = reviewersFromFile(file);
  await expect(keys.load()).rejects.toMatchObject({ code: 'reviewers_unavailable' });
  for (const names of [['ann'], ['ann', 'bob'], ['-ann', 'bob'], ['bob']]) {
    fs.writeFileSync(file, setOf(...names));
    expect(await keys.load()).toEqual(read(...names));
  }
  expect(await keys.load()).toBe(await keys.load());
});

it('reads through a link, as mounted key sets are', async () => {
  const folder = workFolder();
  fs.writeFileSync(path.join(folder, 'v1'), setOf('ann'));
  fs.symlinkSync('v1', path.join(folder, 'reviewers.json'));
  expect(await reviewersFromFile(path.join(folder, 'reviewers.json')).load()).toEqual(read('ann'));
});

it.each<readonly [string, (file: string) => void, RegExp]>([
  ['no JSON', (file) => fs.writeFileSync(file, '{'), /not well-formed JSON/],
  ['half a set', (file) => fs.writeFileSync(file, setOf('ann').slice(0, -9)), /not well-formed JSON/],
  ['a folder', (file) => fs.mkdirSync(file), /is not a regular file/],
  ['a pipe', (file) => void execFileSync('mkfifo', [file]), /is not a regular file/],
  ['too large', (file) => fs.writeFileSync(file, ' '.repeat(MAX_JWKS_BYTES + 1)), /is larger than/],
  ['writable by anybody', (file) => fs.writeFileSync(file, setOf('ann')) ?? fs.chmodSync(file, 0o646), /chmod o-w/],
])('refuses what is %s', async (_what, make, told) => {
  const file = path.join(workFolder(), 'reviewers.json');
  make(file);
  await expect(reviewersFromFile(file).load()).rejects.toMatchObject({
    code: 'reviewers_unavailable',
    message: expect.stringMatching(told) as string,
  });
});

it('bridges a broken file for less than a minute', async () => {
  const file = path.join(workFolder(), 'reviewers.json');
  const clock = handClock();
  const keys = reviewersFromFile(file, clock);
  fs.writeFileSync(file, setOf('ann'));
  await keys.load();
  fs.writeFileSync(file, '{');
  clock.pass(59_999);
  expect(await keys.load()).toEqual(read('ann'));
  clock.pass(1);
  await expect(keys.load()).rejects.toMatchObject({ code: 'reviewers_unavailable' });
  fs.writeFileSync(file, setOf('bob'));
  expect(await keys.load()).toEqual(read('bob'));
});
