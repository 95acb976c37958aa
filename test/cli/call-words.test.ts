/**
 * Properties of what `invocations resolve` is told beside its word, before anybody is asked and anything is stored:
 * - a result, evidence and a reason belong to their own word, and are refused with any other;
 * - a reason is a code, a result is one JSON value, evidence is a file or a digest; a refusal quotes nothing of them.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { answerOf, cli } from './support';

const folder = mkdtempSync(path.join(os.tmpdir(), 'call-words-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const place = path.join(folder, name);
  writeFileSync(place, text);
  return place;
}

const SOUND = file('sound.json', '{"receipt":"r-77"}');
const BROKEN = file('broken.json', '{"patient":"Ann","patient":"Bob"}');

const refused: readonly (readonly [string, readonly string[], string, string])[] = [
  ['a result of a failure', ['mark_failed', '--result', SOUND], 'invalid_argument', 'result'],
  ['evidence of a failure', ['mark_failed', '--evidence', SOUND], 'invalid_argument', 'evidence'],
  ['a reason of a success', ['mark_succeeded', '--reason', 'card_declined'], 'invalid_argument', 'reason'],
  ['a reason in free words', ['mark_failed', '--reason', 'Ann said no'], 'invalid_argument', 'reason'],
  ['a result with a field twice', ['mark_succeeded', '--result', BROKEN], 'invalid_argument', 'result'],
];

it.each(refused)('%s', async (_what, words, code, field) => {
  const [word = '', ...more] = words;
  const call = ['s-1:1:1:1:0', '--as', word, '--key', 'ann', '--json', ...more];
  const ended = await cli('invocations', 'resolve', ...call);
  expect(ended.code).toBe(2);
  expect(answerOf(ended)).toMatchObject({ ok: false, error: { code, field } });
  expect(ended.out + ended.err).not.toMatch(/Ann|Bob|r-77/);
});

it('a file that is not there', async () => {
  const gone = path.join(folder, 'gone');
  for (const option of ['--result', '--evidence']) {
    const call = ['s-1:1:1:1:0', '--as', 'mark_succeeded', '--key', 'ann', '--json', option, gone];
    const ended = await cli('invocations', 'resolve', ...call);
    expect(answerOf(ended)).toMatchObject({ ok: false, error: { code: 'input_unreadable' } });
  }
});
