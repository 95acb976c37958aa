/**
 * The table of answers at the doors of a real server: a raw Update by any client, and one by the Temporal CLI.
 *
 * Held here:
 * - each answer of the table is refused with its code, or kept, whoever sends it and however;
 * - refused answers leave no event in the history, and nothing in the journal;
 * - 10,000 of them, 8 at once, neither fill the history nor keep a real approval from being done;
 * - answers that come early, late, twice, for another plan, or while the plan continues as new, are kept once or refused.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import type { PlanHandle, Question } from '../../src/client';
import { CASES, MISPLACED, REPLAYED, REQUESTER, RULE, reviewers, type Case } from '../doors/table';
import { approvalOf, personOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { temporalAddress, temporalCli } from '../support/temporal';
import { parkedFor } from './scenarios/support';

const rig = useRig();
const run = promisify(execFile);

async function asking(): Promise<{ handle: PlanHandle; asked: Question }> {
  const plan = await rig.plans.prepare(rig.draft(['lookup', 'enforcing']), { requester: personOf('rita') });
  expect(plan.requester).toBe(REQUESTER);
  const handle = await rig.plans.start(plan);
  await rig.until(handle, parkedFor('approval_missing'));
  return { handle, asked: (await handle.approvals())! };
}

/** A server has its own clock: what the table says to the millisecond is told elsewhere. */
const TIMED = (one: Case): boolean => one.afterMs !== undefined;
const tokenNow = ({ token, afterMs }: Case, asked: Question): unknown =>
  token(asked, Date.now() - (afterMs === undefined ? 0 : 61_000));

async function codeOf(answer: Promise<unknown>): Promise<string | null> {
  const fault: unknown = await answer.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (fault === null) return null;
  const { cause } = fault as WorkflowUpdateFailedError;
  return cause instanceof ApplicationFailure ? (cause.type ?? 'untyped') : String(fault);
}

const raw = (handle: PlanHandle, door: string, token: unknown): Promise<unknown> =>
  handle.workflow.executeUpdate(door, { args: [token] as never });

async function byCli(handle: PlanHandle, door: string, token: unknown): Promise<string | null> {
  const target = ['--address', temporalAddress(), '--namespace', rig.temporal.namespace];
  const update = ['workflow', 'update', 'execute', '--workflow-id', handle.workflowId, '--name', door];
  try {
    await run(temporalCli(), [...update, ...target, '--input', JSON.stringify(token)]);
    return null;
  } catch (fault) {
    return /receipt_[a-z_]+/.exec(String((fault as { stderr?: unknown }).stderr))?.[0] ?? String(fault);
  }
}

async function trace(handle: PlanHandle): Promise<{ events: number; entries: unknown; claims: unknown }> {
  const entries = await Promise.all(
    ['receipts', 'resolutions'].map((name) => rig.journal.list(`${handle.runId}/${name}`)),
  );
  return { events: (await rig.historyOf(handle)).events.length, entries, claims: await rig.journal.list('claims') };
}

const REFUSED = [...CASES, ...MISPLACED].filter(({ code }) => code !== null);
const KEPT = CASES.filter((one) => one.code === null && !TIMED(one));

describe('each answer of the table', () => {
  test('is refused as a raw Update, without a trace', async () => {
    await rig.worker({ plugin: { reviewers: reviewers(), policy: () => RULE } });
    const { handle, asked } = await asking();
    const before = await trace(handle);
    for (const one of REFUSED) {
      expect([one.says, await codeOf(raw(handle, one.door ?? 'approve', tokenNow(one, asked)))]).toEqual([
        one.says,
        one.code,
      ]);
    }
    expect(await trace(handle)).toEqual(before);
    const first = REPLAYED.first(asked, Date.now());
    await raw(handle, 'approve', first);
    await raw(handle, 'approve', first);
    expect(await codeOf(raw(handle, 'approve', REPLAYED.second(asked, Date.now())))).toBe('receipt_replayed');
    await handle.cancel();
  });

  test('is refused from the Temporal CLI', async () => {
    await rig.worker({ plugin: { reviewers: reviewers(), policy: () => RULE } });
    const { handle, asked } = await asking();
    const before = await trace(handle);
    for (const one of REFUSED) {
      expect([one.says, await byCli(handle, one.door ?? 'approve', tokenNow(one, asked))]).toEqual([
        one.says,
        one.code,
      ]);
    }
    expect(await trace(handle)).toEqual(before);
    await handle.cancel();
  });

  test.each(['a raw Update', 'the Temporal CLI'])('is kept that comes by %s', async (way) => {
    await rig.worker({ plugin: { reviewers: reviewers(), policy: () => RULE } });
    for (const one of KEPT) {
      const { handle, asked } = await asking();
      const token = tokenNow(one, asked);
      const answer =
        way === 'a raw Update'
          ? codeOf(raw(handle, one.door ?? 'approve', token))
          : byCli(handle, one.door ?? 'approve', token);
      expect([one.says, await answer]).toEqual([one.says, null]);
      expect(await rig.journal.list(`${handle.runId}/receipts`)).toHaveLength(1);
      await handle.cancel().catch(() => undefined); // a rejection has ended it
    }
  });
});

test('10,000 answers that are none do not delay a real approval', { timeout: 300_000 }, async () => {
  await rig.worker({ plugin: { reviewers: reviewers(), policy: () => ({ approvals: 1 }) } });
  const { handle, asked } = await asking();
  const { entries } = await trace(handle);
  const other = { ...asked, planDigest: `sha256:${'0'.repeat(64)}` };
  // The first letter of the signature: the last one carries only two bits.
  const unsigned = approvalOf(asked, 'ann').replace(/[^.](?=[^.]*$)/, (letter) => (letter === 'A' ? 'B' : 'A'));
  const junk = ['junk', approvalOf(other, 'ann'), approvalOf(asked, 'nobody'), unsigned];
  const codes = new Set<string | null>();
  let [sent, ended] = [0, false];
  const flood = async (): Promise<void> => {
    while (sent < 10_000 && !ended) {
      const code = await codeOf(raw(handle, 'approve', junk[(sent += 1) % junk.length]));
      // The last ones meet a plan that has ended.
      if (code?.startsWith('receipt_') !== false) codes.add(code);
    }
  };
  const lanes = Promise.all(Array.from({ length: 8 }, flood));
  await expect.poll(() => sent, { timeout: 250_000 }).toBeGreaterThan(8_000);
  expect(await trace(handle)).toMatchObject({ entries, claims: [] });
  const approved = raw(handle, 'approve', approvalOf(asked, 'bob')).then(() => (ended = true));
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(sent).toBeLessThan(10_000);
  await Promise.all([lanes, approved]);
  expect([...codes].sort()).toEqual([
    'receipt_malformed',
    'receipt_unknown_key',
    'receipt_unsigned',
    'receipt_wrong_plan',
  ]);
  expect((await rig.historyOf(handle)).events.length).toBeLessThan(60);
});

test('an answer that comes early is refused, and so is one that comes late', async () => {
  const { handle: before, asked } = await (async () => {
    const worker = await rig.worker({ plugin: { reviewers: reviewers(), policy: () => ({ approvals: 1 }) } });
    const started = await asking();
    await worker.stop();
    return started;
  })();
  // The first execution of the next plan is held at the store, so that nothing is asked yet.
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  const held = { ...reviewers(), load: () => gate.then(() => reviewers().load()) };
  await rig.worker({ plugin: { reviewers: held, policy: () => ({ approvals: 1 }) } });
  const handle = await rig.start(['lookup']);
  const early = { ...asked, runId: handle.runId };
  expect(await codeOf(raw(handle, 'approve', approvalOf(early, 'ann')))).toBe('receipt_not_wanted');
  release();
  await rig.until(handle, parkedFor('approval_missing'));
  const now = (await handle.approvals())!;
  expect(await codeOf(raw(handle, 'approve', approvalOf(asked, 'ann')))).toBe('receipt_wrong_run');
  await raw(handle, 'approve', approvalOf(now, 'ann'));
  await handle.result();
  await expect(raw(handle, 'approve', approvalOf(now, 'bob'))).rejects.toThrow();
  await raw(before, 'approve', approvalOf(asked, 'ann'));
  expect(await before.result()).toMatchObject({ status: 'completed' });
});

test('answers while the plan continues as new are each kept once', { timeout: 180_000 }, async () => {
  await rig.worker({ plugin: { reviewers: reviewers(), policy: () => RULE } });
  const { handle, asked } = await asking();
  const first = (await handle.workflow.describe()).runId;
  const current = rig.plans.getHandle(handle.runId);
  const ann = approvalOf(asked, 'ann');
  await current.approve(ann);
  let asks = 0;
  const ask = async (): Promise<void> => {
    while (asks < 520) {
      asks += 1;
      await (asks % 10 === 0 ? raw(current, 'approve', ann) : current.reobserve());
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  await expect.poll(async () => (await current.workflow.describe()).runId, { timeout: 60_000 }).not.toBe(first);
  await raw(current, 'approve', ann);
  expect(await rig.journal.list(`${handle.runId}/receipts`)).toHaveLength(1);
  expect((await current.approvals())?.have).toHaveLength(1);
  await current.approve(approvalOf(asked, 'bob'));
  expect(await current.result()).toMatchObject({ status: 'completed' });
  expect(rig.sinks.counts()).toMatchObject({ writes: 2, received: 2 });
});
