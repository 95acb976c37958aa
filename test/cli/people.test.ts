/**
 * People on the command line, on a real server: approvals and reviews with keys of their own.
 *
 * Held here:
 * - what waits is listed and shown: the plan's own digest and effects, the head, who asked and whether that is verified; what
 *   `approve` prints before it signs is the same; a plan that asks nothing says so;
 * - two people release a plan that asks for two, once; one rejection ends it; a receipt of `--out` is for its owner alone, is not
 *   handed over by itself, and counts when it is sent;
 * - a digest or a file of another plan signs nothing; a role is asked for when several would do, and refused when none does;
 * - a signed request makes the requester verified, and her approval is refused;
 * - every row of the table of doors is answered at this door as at every other;
 * - a doubt is shown with the key under which its sink knows the effect, and is resolved by who saw its head; an answer about another head, or one that answers nothing, is refused and changes
 *   nothing; a receipt that expired in between is refused.
 */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { reviewersFromFile } from '../../src/adapters/reviewers';
import type { PlanHandle, Question } from '../../src/client';
import type { ApprovalRule } from '../../src/rules/receipts/approval-rule';
import { receiptDigest } from '../../src/rules/receipts/jws';
import { CLERK, REVIEWERS } from '../rules/receipts/support';
import { doorTable } from '../rules/receipts/door-table';
import { APPROVER, AUDITOR, approvalOf, personOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { answerOf, cli, type JsonAnswer, type Ran } from './support';

const rig = useRig();
const keys = (): string => path.join(rig.folder, 'keys');
const reviewers = (): string => path.join(rig.folder, 'reviewers.json');

beforeEach(async () => {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  process.env['COUNTERSIGN_KEYS'] = keys();
  const people = { ann: [APPROVER, AUDITOR], bob: [APPROVER], dan: [CLERK], rita: [APPROVER] };
  for (const [name, roles] of Object.entries(people)) {
    await cli('keys', 'new', name, '--person', personOf(name), '--role', ...roles);
  }
  const { keys: own } = JSON.parse((await cli('keys', 'export')).out) as { keys: object[] };
  fs.writeFileSync(
    reviewers(),
    JSON.stringify({
      keys: [...own, ...REVIEWERS.filter(({ kid }) => !own.some((one) => 'kid' in one && one.kid === kid))],
    }),
  );
});

afterAll(() => void delete process.env['COUNTERSIGN_KEYS']);

const TWO: ApprovalRule = { approvals: 2, roles: [APPROVER, AUDITOR] };

async function worker(rule: ApprovalRule | null = TWO): Promise<void> {
  await rig.worker({ plugin: { policy: () => rule, reviewers: reviewersFromFile(reviewers()) } });
}

interface Answered extends Ran {
  readonly answer: JsonAnswer;
}
async function json(...args: readonly string[]): Promise<Answered> {
  const ran = await cli(...args, '--json');
  return { ...ran, answer: answerOf(ran) };
}
const refused = ({ code, answer }: Answered): unknown[] => [code, answer.error?.code];

async function waiting(requester?: string): Promise<{ handle: PlanHandle; question: Question }> {
  const draft = rig.draft(['enforcing', 'lookup']);
  const plan = await rig.plans.prepare(draft, requester === undefined ? {} : { requester });
  const handle = await rig.plans.start(plan);
  await rig.until(handle, ({ state }) => state === 'parked');
  return { handle, question: (await handle.approvals()) as Question };
}

describe('an approval', () => {
  it('is asked for, shown, given by two and carried out once', async () => {
    await worker();
    const { handle, question } = await waiting();
    const { runId } = handle;
    const listed = (await json('approvals', 'list')).answer.data?.['plans'] as { run_id: string }[];
    expect(listed.find((one) => one.run_id === runId)).toMatchObject({ reason: 'approval_missing', committed: '0/2' });
    const reviews = (await json('reviews', 'list')).answer.data?.['plans'] as { run_id: string }[];
    expect(reviews.filter((one) => one.run_id === runId)).toEqual([]);

    const shown = await cli('approvals', 'show', runId);
    expect(shown.code).toBe(0);
    for (const text of [question.planDigest, question.headDigest, 'requester: unverified: nobody is named']) {
      expect(shown.out).toContain(text);
    }
    expect(shown.out).toContain(`2 of ${APPROVER} or ${AUDITOR}`);
    const plan = await handle.plan();
    for (const { actionId, operationDigest } of plan.effects)
      expect(shown.out).toContain(`${actionId}  ${operationDigest}`);
    expect((await json('approvals', 'show', runId)).answer.data).toMatchObject({
      plan_digest: question.planDigest,
      head: { digest: question.headDigest },
      requester: 'unverified',
      asked: { asks_approval: true, have: [] },
      effects: plan.effects.map(({ operationDigest }) => ({ operation_digest: operationDigest, state: 'not_sent' })),
    });

    expect(refused(await json('approvals', 'approve', runId, '--key', 'ann'))).toEqual([2, 'invalid_argument']);
    const first = await cli('approvals', 'approve', runId, '--key', 'ann', '--role', AUDITOR, '--valid-for', '15m');
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out.startsWith(shown.out)).toBe(true);
    expect(first.out).toMatch(/\nhanded over: 0 of 2 effects committed, parked \(approval_missing\)\n$/);
    expect(rig.writes).toBe(0);
    expect((await cli('approvals', 'show', runId)).out).toMatch(
      /there: approve by key \S+ as role:example.org\/auditor/,
    );

    const twice = await json('approvals', 'approve', runId, '--key', 'ann', '--role', APPROVER);
    expect(refused(twice)).toEqual([6, 'receipt_voted']);
    const second = await json('approvals', 'approve', runId, '--key', 'bob', '--plan', question.planDigest);
    expect(second).toMatchObject({ code: 0, answer: { ok: true, command: 'approvals approve' } });
    expect(second.answer.data?.['shown']).toMatchObject({ plan_digest: question.planDigest, run_id: runId });
    await handle.result();
    expect(rig.writes).toBe(2);
    expect(refused(await json('approvals', 'approve', runId, '--key', 'rita'))).toEqual([6, 'receipt_not_wanted']);
    expect((await cli('approvals', 'show', runId)).out).toContain('nothing is asked; the plan is closed');
  });

  it('is refused by one, which ends the plan', async () => {
    await worker();
    const { handle } = await waiting();
    expect((await json('approvals', 'reject', handle.runId, '--key', 'bob')).code).toBe(0);
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'ApprovalRejected' } });
    expect(rig.writes).toBe(0);
  });

  it('waits in a file until it is sent', async () => {
    await worker({ approvals: 1 });
    const { handle, question } = await waiting();
    const out = path.join(rig.folder, 'receipt.jws');
    const made = await json('approvals', 'approve', handle.runId, '--key', 'bob', '--out', out);
    expect(made.code).toBe(0);
    expect(fs.statSync(out).mode & 0o777).toBe(0o600);
    expect((await handle.approvals())?.have).toEqual([]);
    expect(refused(await json('approvals', 'approve', handle.runId, '--key', 'bob', '--out', out))).toEqual([
      6,
      'output_exists',
    ]);
    const sent = await json('approvals', 'send', handle.runId, out);
    expect(sent.answer.data?.['receipt']).toBe(made.answer.data?.['receipt']);
    await handle.result();
    expect(question.runId).toBe(handle.runId);
    expect(rig.writes).toBe(2);
  });

  it('signs nothing about another plan, or in a role that is not held', async () => {
    await worker();
    const { handle } = await waiting();
    const other = await rig.prepare(['blind']);
    const approve = (...args: readonly string[]): Promise<Answered> => json('approvals', 'approve', ...args);
    const { runId } = handle;
    expect(refused(await approve(runId, '--key', 'bob', '--plan', other.planDigest))).toEqual([
      6,
      'receipt_wrong_plan',
    ]);
    expect(refused(await approve(runId, '--key', 'bob', '--plan', 'x'))).toEqual([2, 'invalid_argument']);
    expect(refused(await approve(other.runId, '--key', 'bob'))).toEqual([2, 'unknown_run']);
    expect(refused(await approve(runId, '--key', 'eve'))).toEqual([2, 'key_unknown']);
    expect(refused(await approve(runId))).toEqual([2, 'invalid_argument']);
    expect(refused(await approve(runId, '--key', 'bob', '--valid-for', '1y'))).toEqual([2, 'invalid_argument']);
    expect(refused(await approve(runId, '--key', 'bob', '--valid-for', '31d'))).toEqual([3, 'receipt_lifetime']);
    expect(refused(await approve(runId, '--key', 'bob', '--role', AUDITOR))).toEqual([3, 'receipt_wrong_role']);
    expect(refused(await approve(runId, '--key', 'dan'))).toEqual([3, 'receipt_wrong_role']);
    expect((await handle.approvals())?.have).toEqual([]);
  });

  it('needs somebody else than who signed the request', async () => {
    await worker({ approvals: 1, signedRequest: true });
    const { handle } = await waiting(personOf('rita'));
    const { runId } = handle;
    const requester = async (): Promise<unknown> => (await json('approvals', 'show', runId)).answer.data?.['requester'];
    expect(await requester()).toBe('named');
    expect(refused(await json('approvals', 'request', runId, '--key', 'bob'))).toEqual([3, 'receipt_requester']);
    expect((await json('approvals', 'request', runId, '--key', 'rita')).code).toBe(0);
    expect(await requester()).toBe('signed');
    expect(refused(await json('approvals', 'approve', runId, '--key', 'rita'))).toEqual([3, 'receipt_requester']);
    expect((await json('approvals', 'approve', runId, '--key', 'bob')).code).toBe(0);
    await handle.result();
  });

  it('passes the door like every other', async () => {
    await worker();
    const { handle, question } = await waiting(personOf('rita'));
    const rows = doorTable({ ...question, now: Date.now() });
    const answers: Record<string, string> = {};
    const admitted = (code: string): boolean => code === 'admitted';
    const order = [...rows.filter(({ code }) => !admitted(code)), ...rows.filter(({ code }) => admitted(code))];
    const file = path.join(rig.folder, 'row.jws');
    for (const { what, token } of order) {
      fs.writeFileSync(file, token);
      const { code, answer } = await json('approvals', 'send', handle.runId, file);
      answers[what] = answer.error?.code ?? (code === 0 ? 'admitted' : `exit ${code}`);
      if (!answer.ok) expect((await handle.approvals())?.have).toEqual([]);
    }
    expect(answers).toEqual(Object.fromEntries(order.map(({ what, code }) => [what, code])));
    await handle.result();
    expect(rig.writes).toBe(2);
  });
});

describe('a review', () => {
  async function doubtful(): Promise<{ handle: PlanHandle; question: Question }> {
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await rig.start(['blind']);
    await rig.until(handle, ({ state, reason }) => state === 'parked' && reason === 'ambiguous_effect');
    return { handle, question: (await handle.approvals()) as Question };
  }
  const resolve = (runId: string, resolution: string, head: string, ...more: readonly string[]): Promise<Answered> =>
    json('reviews', 'resolve', runId, '--key', 'bob', '--resolution', resolution, '--head', head, ...more);

  it('is resolved by who saw its head', async () => {
    await worker(null);
    const { handle, question } = await doubtful();
    const { runId } = handle;
    const [action = ''] = question.doubtful;
    const listed = (await json('reviews', 'list')).answer.data?.['plans'] as { run_id: string }[];
    expect(listed.find((one) => one.run_id === runId)).toMatchObject({ reason: 'ambiguous_effect' });
    const shown = (await cli('reviews', 'show', handle.workflowId)).out; // as the Web UI names it
    const [key = ''] = await rig.journal.list(`${runId}/sends`);
    const sought = `at its sink under ${key.replace(/\/$/, '')}`;
    const inspected = await cli('inspect', runId, '--journal', path.join(rig.folder, 'journal'));
    expect(inspected.out).toContain(`doubt: outcome_unknown, ${sought}`);
    for (const text of [`in doubt: ${action}, ${sought}`, question.headDigest, 'mark_absent', 'sinks asked at 2']) {
      expect(shown).toContain(text);
    }
    const { headDigest: head } = question;
    const stale = `sha256:${'0'.repeat(64)}`;
    const marks = ['--actions', action];
    expect(refused(await resolve(runId, 'mark_committed', stale, ...marks))).toEqual([6, 'receipt_stale_head']);
    expect(refused(await resolve(runId, 'new_lineage', head))).toEqual([6, 'receipt_not_wanted']);
    expect(refused(await resolve(runId, 'mark_committed', head))).toEqual([2, 'invalid_argument']);
    expect(refused(await resolve(runId, 'abort', head, ...marks))).toEqual([2, 'invalid_argument']);
    expect(refused(await resolve(runId, 'forget', head))).toEqual([2, 'invalid_argument']);
    expect(refused(await resolve(runId, 'mark_absent', head, ...marks, '--external-id', 'x'))).toEqual([
      2,
      'invalid_argument',
    ]);
    expect(refused(await resolve(runId, 'mark_absent', 'head', ...marks))).toEqual([2, 'invalid_argument']);
    expect(refused(await resolve(runId, 'mark_absent', head, '--actions', `act_${'0'.repeat(32)}`))).toEqual([
      6,
      'receipt_not_wanted',
    ]);
    expect(refused(await json('approvals', 'approve', runId, '--key', 'bob'))).toEqual([6, 'receipt_not_wanted']);
    expect((await handle.status()).head?.digest).toBe(head);

    const done = await resolve(runId, 'mark_committed', head, ...marks, '--external-id', 'row-1');
    expect(done.code).toBe(0);
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.writes).toBe(1);
  });

  it('is not resolved by a receipt that has expired since', async () => {
    await worker(null);
    const { handle, question } = await doubtful();
    const out = path.join(rig.folder, 'late.jws');
    expect((await resolve(handle.runId, 'abort', question.headDigest, '--valid-for', '1s', '--out', out)).code).toBe(0);
    const { exp } = JSON.parse(
      Buffer.from(fs.readFileSync(out, 'utf8').split('.')[1] ?? '', 'base64url').toString(),
    ) as { exp: number };
    while (Date.now() < exp * 1000) await new Promise((passed) => setTimeout(passed, 50));
    expect(refused(await json('approvals', 'send', handle.runId, out))).toEqual([4, 'receipt_expired']);
    expect((await resolve(handle.runId, 'abort', question.headDigest)).code).toBe(0);
    expect(await handle.result()).toMatchObject({ status: 'cancelled' });
  });
});

it('a receipt of another run is named as such', async () => {
  await worker({ approvals: 1 });
  const [one, other] = [await waiting(), await waiting()];
  const file = path.join(rig.folder, 'other.jws');
  const token = approvalOf(other.question, 'ann');
  fs.writeFileSync(file, `${token}\r\n`);
  expect(refused(await json('approvals', 'send', one.handle.runId, file))).toEqual([6, 'receipt_wrong_run']);
  const sent = await json('approvals', 'send', other.handle.runId, file);
  expect(sent.answer.data?.['receipt']).toBe(receiptDigest(token));
  await other.handle.result();
  expect(rig.writes).toBe(2);
});
