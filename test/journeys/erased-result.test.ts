/**
 * A sender that is killed between keeping what its sink gave back and writing the end of its slot, on a real server with worker
 * processes.
 *
 * Held here:
 * - the plan goes on and ends by itself, and what the dead sender kept is named nowhere;
 * - erasing the run finds it all the same, by its salt, and takes it before the salt goes: cut short there, it is found again;
 * - nothing of another run is taken, and the journal verifies as before.
 */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import { eraseContents } from '../../src/erase-contents';
import { contentPaths } from '../../src/transfer';
import { verify } from '../../src/verify';
import { cli } from '../cli/support';
import { temporalAddress } from '../support/temporal';
import { Clusters, type Cluster } from './clusters';

let all: Clusters;
let cluster: Cluster;
beforeEach(async () => {
  temporalAddress(); // this file starts its own servers, with the program of the shared one
  all = new Clusters();
  await all.open();
  cluster = await all.cluster();
}, 300_000);
afterEach(() => all.close());

const results = (): string[] => readdirSync(path.join(all.contents, 'results')).map((name) => `results/${name}`);

test('leaves nothing when its run is erased', { timeout: 240_000 }, async () => {
  const dying = await all.worker(cluster, 'lookup', { at: 'result_kept', nth: 1, does: 'kill' });
  const handle = await cluster.plans.start(await all.prepare(cluster.plans, 'lookup', 2, 'erased'));
  await dying.passes('struck');
  await all.worker(cluster, 'lookup');
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  const other = await cluster.plans.start(await all.prepare(cluster.plans, 'lookup', 2, 'another'));
  await other.result();

  const contents = fileStore(all.contents);
  const read = (entry: string): Promise<Uint8Array | null> => contents.read(entry);
  const named = await contentPaths(all.store, read, handle.runId);
  const kept = await contentPaths(all.store, read, other.runId);
  const unnamed = results().filter((entry) => !named.includes(entry) && !kept.includes(entry));
  expect(unnamed).toHaveLength(1);

  let deleted = 0;
  const cutShort = Object.assign(Object.create(contents) as typeof contents, {
    scope: contents.scope,
    read,
    list: (folder: string) => contents.list(folder),
    delete: async (entry: string) => {
      if (deleted === 1) throw new Error('the process ends here');
      deleted += 1;
      await contents.delete(entry);
    },
  });
  await expect(eraseContents(all.store, cutShort, handle.runId)).rejects.toThrow('ends here');
  expect(results()).not.toContain(unnamed[0]);
  expect(await contents.read(`salts/${handle.runId}`)).not.toBeNull();

  const erased = await cli('contents', 'erase', handle.runId, '--journal', all.journal, '--contents', all.contents);
  expect(erased, erased.err).toMatchObject({ code: 0 });
  expect(results().sort()).toEqual(kept.filter((entry) => entry.startsWith('results/')).sort());
  expect(await verify(all.journal, { strict: true })).toMatchObject({ ok: true, justified: true });
});
