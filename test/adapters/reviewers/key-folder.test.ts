/**
 * Properties of a person's own keys:
 * - a key appears whole, readable by its owner alone; of many who make one name at once exactly one does; none is replaced;
 * - no name leads out of the folder; a file that is a link, another's, open to others, no key or too large is refused;
 * - the development key is made once, says so, and is a reviewer that decides alone.
 */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { KeyFolder, developmentKey } from '../../../src/adapters/reviewers';
import { readOwnFile } from '../../../src/adapters/reviewers/own-file';
import { admitDecision } from '../../../src/rules/receipts/admit';
import { signReceipt } from '../../../src/rules/receipts/jws';
import { APPROVER, CONTEXT, approval, personOf } from '../../rules/receipts/support';
import { foreignFile, workFolder } from './support';

const folderIn = (work: string): KeyFolder => new KeyFolder(path.join(work, 'deep', 'keys'));
const mode = (file: string): number => fs.lstatSync(file).mode & 0o777;

describe('a key', () => {
  it('is its owner’s alone, and read back', async () => {
    const work = workFolder();
    const keys = folderIn(work);
    const old = process.umask(0);
    const key = await keys.make('own', personOf('own'), [APPROVER]).finally(() => process.umask(old));
    expect(mode(path.join(keys.folder, 'own.jwk'))).toBe(0o600);
    expect(mode(keys.folder)).toBe(0o700);
    expect(fs.readdirSync(keys.folder)).toEqual(['own.jwk']);
    expect(await keys.read('own')).toEqual(key);
    expect(await keys.list()).toEqual([{ name: 'own', key }]);
  });

  it('is made by one of many, and never replaced', async () => {
    const keys = folderIn(workFolder());
    const made = await Promise.allSettled(
      Array.from({ length: 8 }, () => keys.make('own', personOf('own'), [APPROVER])),
    );
    const winners = made.filter((one) => one.status === 'fulfilled');
    expect(winners).toHaveLength(1);
    const losers = made.filter((one) => one.status === 'rejected').map((one) => (one.reason as { code: string }).code);
    expect(new Set(losers)).toEqual(new Set(['key_exists']));
    expect(await keys.read('own')).toEqual(winners[0]?.value);
    expect(fs.readdirSync(keys.folder)).toEqual(['own.jwk']);
  });

  it.each(['', '.', '..', '../own', 'a/b', '/etc/passwd', '-own', '.own', 'own.', 'a'.repeat(64), 'a\0b', 'a b', 'ä'])(
    'has no name like %j',
    async (name) => {
      const keys = folderIn(workFolder());
      await expect(keys.make(name, personOf('own'), [APPROVER])).rejects.toMatchObject({ code: 'key_name_invalid' });
      await expect(keys.read(name)).rejects.toMatchObject({ code: 'key_name_invalid' });
      expect(fs.existsSync(keys.folder)).toBe(false);
    },
  );

  it('that is not there is unknown, and no folder is made', async () => {
    const keys = folderIn(workFolder());
    await expect(keys.read('own')).rejects.toMatchObject({ code: 'key_unknown' });
    expect(await keys.list()).toEqual([]);
    expect(fs.existsSync(keys.folder)).toBe(false);
  });

  it.each<readonly [string, (file: string) => void, string]>([
    ['open to its group', (file) => fs.chmodSync(file, 0o640), 'input_unprotected'],
    ['open to others', (file) => fs.chmodSync(file, 0o604), 'input_unprotected'],
    [
      'a link',
      (file) => fs.renameSync(file, `${file}.real`) ?? fs.symlinkSync(`${file}.real`, file),
      'input_unreadable',
    ],
    ['a folder', (file) => fs.rmSync(file) ?? fs.mkdirSync(file), 'input_unreadable'],
    ['cut off', (file) => fs.truncateSync(file, 40), 'key_invalid'],
    ['empty', (file) => fs.truncateSync(file, 0), 'key_invalid'],
    ['too large', (file) => fs.appendFileSync(file, ' '.repeat(65_536)), 'input_limit'],
    ['in a folder that others can change', (file) => fs.chmodSync(path.dirname(file), 0o777), 'input_unprotected'],
  ])('that is %s is refused', async (_what, change, code) => {
    const keys = folderIn(workFolder());
    const { seed } = await keys.make('own', personOf('own'), [APPROVER]);
    change(path.join(keys.folder, 'own.jwk'));
    const fault: unknown = await keys.read('own').catch((reason: unknown) => reason);
    expect(fault).toMatchObject({ code });
    expect((fault as Error).message).not.toContain(Buffer.from(seed).toString('base64url').slice(0, 20));
  });
});

it('a file of somebody else is not read', async () => {
  await expect(readOwnFile(foreignFile(workFolder(), 'x'), 65_536)).rejects.toMatchObject({
    code: 'input_unprotected',
  });
});

describe('the development key', () => {
  it('is made once, decides alone, and says so', async () => {
    const folder = path.join(workFolder(), 'keys');
    const [first, again] = [await developmentKey(folder), await developmentKey(folder)];
    expect([first.made, again.made]).toEqual([true, false]);
    expect(again.key).toEqual(first.key);
    expect(first.notice).toContain(first.key.kid);
    const [role = ''] = first.key.roles;
    const token = signReceipt(approval({ role }), first.key);
    const context = { ...CONTEXT, keys: await again.reviewers.load(), rules: [{ approvals: 1 }] };
    expect(admitDecision(token, context)).toMatchObject({ ok: true });
  });

  it('is one, whoever makes it first', async () => {
    const folder = path.join(workFolder(), 'keys');
    const all = await Promise.all([1, 2, 3].map(() => developmentKey(folder)));
    expect(new Set(all.map(({ key }) => key.kid)).size).toBe(1);
    expect(all.filter(({ made }) => made)).toHaveLength(1);
  });
});
