/**
 * Properties of rechecks in the inbox:
 * - what a person applied is listed while it is owed, and leads to what a recheck of it must be; the page starts nothing and takes nothing
 * - an intent that is not owed, or is no intent, leads nowhere
 * - a run that does not read is an item itself, and hides nothing else
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { VerificationClient } from '../../src/client';
import { useRig } from '../support/rig';
import '../support/temporal';
import { startPaidProvider, type PaidProvider } from '../systems/paid-provider';
import {
  ANN,
  WORKFLOWS,
  authorizeAll,
  checks,
  clientOf,
  draft,
  local,
  paidLauncher,
  proposalId,
  reviewers,
} from '../workflows/verification/support';
import { openInbox } from './support';

const rig = useRig({ workflowsPath: WORKFLOWS });
let provider: PaidProvider;
let runs: VerificationClient;
beforeEach(async () => {
  provider = await startPaidProvider();
  await rig.worker({ plugin: { launchers: [paidLauncher(provider.url)], reviewers, checks } });
  runs = clientOf(rig);
});
afterEach(() => provider.close());

it('lists what is owed, and leads to its start without starting it', async () => {
  const { origin } = await openInbox(rig);
  const page = async (path: string): Promise<readonly [status: number, body: string]> => {
    const answer = await fetch(`${origin}${path}`);
    return [answer.status, await answer.text()];
  };
  const source = await runs.prepare(draft(1, 1, { checks: [local(0, 1), ...draft(0, 1).checks] }));
  await authorizeAll(rig, await runs.start(source));
  await runs.apply(source.runId, { person: ANN, proposals: [proposalId(0), proposalId(1)] });
  const [owed] = await runs.obligations(source.runId);
  const launched = provider.requests();
  const hex = (owed?.intentId ?? '').slice('sha256:'.length);

  const [, list] = await page('/');
  expect(list).toContain(`id="item-recheck-${hex}"`);
  expect(list).toContain(`href="/rechecks/${hex}"`);
  const [status, shown] = await page(`/rechecks/${hex}`);
  expect(status).toBe(200);
  for (const text of [source.runId, owed?.intentId ?? '', '0 of 2 proposals', 'verify-run recheck DRAFT']) {
    expect(shown).toContain(text);
  }
  expect(shown.match(/<form|<button/g) ?? []).toEqual([]);
  for (const path of [`/rechecks/${'0'.repeat(64)}`, '/rechecks/x', '/rechecks/']) {
    expect([path, (await page(path))[0]]).toEqual([path, 404]);
  }
  expect((await fetch(`${origin}/rechecks/${hex}`, { method: 'POST' })).status).toBe(403);
  expect(await runs.obligations(source.runId)).toMatchObject([{ state: 'pending_capture' }]);
  expect(provider.requests()).toBe(launched);
});

it('lists everything else while one run does not read', async () => {
  const prepared = await runs.prepare(draft(1, 0));
  await authorizeAll(rig, await runs.start(prepared));
  const file = path.join(rig.folder, 'journal', prepared.runId, 'lifecycle', `${'1'.padStart(20, '0')}.json`);
  const kept = readFileSync(file, 'utf8');
  writeFileSync(file, kept.replace('"sequence":1', '"sequence":7'));
  const { origin } = await openInbox(rig);
  const list = await fetch(origin);
  expect([list.status, await list.text()]).toEqual([200, expect.stringContaining('id="item-verification-runs"')]);
  writeFileSync(file, kept);
});
