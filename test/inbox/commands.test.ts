/**
 * Commands that the pages of the inbox print:
 * - each can be pasted as it stands where the package is a dependency of an app: it begins with `npx`.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cli } from '../cli/support';

test('every command can be pasted', async () => {
  const root = path.resolve(__dirname, '../../src/inbox');
  const names = [...(await cli('--help')).out.matchAll(/^ {2}([a-z][a-z-]*) (?!\[command\])/gm)].map(
    ([, name]) => name!,
  );
  const command = new RegExp(`(npx )?\\bcountersign (?:\\$\\{|(?:${names.join('|')})\\b)`, 'g');
  const printed = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      [...readFileSync(path.join(root, name), 'utf8').matchAll(command)].map(([text, npx]) => ({ name, text, npx })),
    );
  expect(printed.filter(({ npx }) => npx === undefined)).toEqual([]);
  expect(printed.length).toBeGreaterThan(7);
});
