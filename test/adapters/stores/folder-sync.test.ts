/**
 * Properties, for any interleaving of calls and fsyncs that succeed or fail:
 * - whoever waits is answered only by an fsync that started after the call, and never by one that failed
 * - one folder has one fsync at a time, and waiters share: never more fsyncs than calls, and two for any burst
 * - after a failure, `settle` asks the disk again until it succeeds
 */
import path from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FolderSync } from '../../../src/adapters/stores/folder-sync';
import { workFolder } from './work-folder';

interface Flush {
  readonly started: number;
  finish(fails: boolean): void;
}

test('a waiter is answered by an fsync that started after the call', async () => {
  const step = fc.oneof(fc.constant('call' as const), fc.constant('succeed' as const), fc.constant('fail' as const));
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let clock = 0;
      let flushes = 0;
      let calls = 0;
      const open: Flush[] = [];
      const ended: { started: number; failed: boolean }[] = [];
      const answers: Promise<void>[] = [];
      const syncs = new FolderSync(() => {
        flushes += 1;
        expect(open).toEqual([]);
        const started = (clock += 1);
        return new Promise((resolve, reject) => {
          open.push({
            started,
            finish: (failed) => {
              open.pop();
              ended.push({ started, failed });
              if (failed) reject(new Error('disk'));
              else resolve();
            },
          });
        });
      });
      const settleAll = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      const call = (): void => {
        calls += 1;
        const at = (clock += 1);
        answers.push(
          syncs.sync('folder').then(
            () => expect(ended.some(({ started, failed }) => started > at && !failed)).toBe(true),
            () => expect(ended.some(({ started, failed }) => started > at && failed)).toBe(true),
          ),
        );
      };
      for (const next of steps) {
        if (next === 'call') call();
        else open[0]?.finish(next === 'fail');
        await settleAll();
      }
      while (open.length > 0) {
        open[0]?.finish(false);
        await settleAll();
      }
      await Promise.all(answers);
      expect(flushes).toBeLessThanOrEqual(calls);
    }),
    { numRuns: 500 },
  );
});

test('a burst of calls costs two fsyncs', async () => {
  let flushes = 0;
  const syncs = new FolderSync(async () => {
    flushes += 1;
  });
  await Promise.all(Array.from({ length: 100 }, () => syncs.sync('folder')));
  expect(flushes).toBe(2);
  expect(syncs.settle('folder')).toBeUndefined();
});

test('what was not made durable stays unsettled until it is', async () => {
  let works = false;
  const syncs = new FolderSync(() => (works ? Promise.resolve() : Promise.reject(new Error('disk'))));
  await expect(syncs.sync('folder')).rejects.toThrow('disk');
  await expect(syncs.settle('folder')).rejects.toThrow('disk');
  expect(syncs.settle('other')).toBeUndefined();
  works = true;
  await syncs.settle('folder');
  expect(syncs.settle('folder')).toBeUndefined();
});

test('a real folder can be synced, and a missing one says so', async () => {
  const folder = workFolder();
  await new FolderSync().sync(folder);
  await expect(new FolderSync().sync(path.join(folder, 'missing'))).rejects.toThrow('ENOENT');
});
