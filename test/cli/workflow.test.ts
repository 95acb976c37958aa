/**
 * The governed workflow commands on a real server, as a script uses them.
 *
 * Held here:
 * - the story of a script: inspect, have a receipt, resume; the answer is the contract's object, with exactly its members, and its
 *   exit code; `agents workflow` is the same; with a journal and without one the answers agree;
 * - each status that a run can have, with its phase: waiting, completed, cancelled, denied by a person and by a sink, without a
 *   sink, without a carrier; our own `inspect` shows the same phase;
 * - what changes something does nothing about another state, another action, another workflow or an end, and needs a state;
 *   a run that is cancelled already stays so; of several things that are asked at once one comes about; nothing is written twice;
 * - a file that others may read, that is a link, no file, too large or no request is refused before anybody is asked;
 * - each receipt of the table of doors is refused with the contract's code, and a rejection resumes nothing;
 * - a question that is submitted for review stays what it is; a resolution answers it; where nobody could be asked, the workers look
 *   again;
 * - no server, no worker, an unknown run: said by code, in one line; the page of the command line says which code is which.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EffectDefinition } from '../../src';
import type { GovernedPlan, PlanHandle, PlanStatus, Question } from '../../src/client';
import { EXIT, GOVERNED_ERROR_EXITS, GOVERNED_STATUS_EXITS } from '../../src/cli/exit-codes';
import type { ApprovalRule } from '../../src/rules/receipts/approval-rule';
import { effectRecords } from '../../src/rules/plans/plan';
import type { RefusalCode } from '../../src/rules/refusal';
import { doorTable } from '../rules/receipts/door-table';
import {
  APPROVER,
  AUDITOR,
  TestReviewers,
  approvalOf,
  personOf,
  rejectionOf,
  resolutionOf,
} from '../support/reviewers';
import { toolId, useRig, type RigEffect, type RigWorker } from '../support/rig';
import { temporalAddress } from '../support/temporal';
import { answerOf, cli } from './support';

const rig = useRig();
beforeEach(() => void (process.env['TEMPORAL_ADDRESS'] = temporalAddress()));

const MEMBERS = [
  'run_id',
  'workflow_id',
  'action_digest',
  'state_digest',
  'phase',
  'status',
  'proposed_effect_count',
  'committed_effect_count',
  'receipt_digest',
  'review_request_digest',
];

interface Governed {
  readonly code: number | null;
  readonly error: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

let files = 0;
function file(text: string, mode = 0o600): string {
  const name = path.join(rig.folder, `input-${(files += 1)}`);
  fs.writeFileSync(name, text, { mode });
  fs.chmodSync(name, mode);
  return name;
}

function requestOf(plan: GovernedPlan, state: unknown = null, more: object = {}): Record<string, unknown> {
  return {
    schema_version: 'openmed.cli.workflow_request.v1',
    run_id: plan.runId,
    workflow_id: plan.workflowId,
    action_digest: plan.planDigest,
    expected_state_digest: state,
    ...more,
  };
}

/** Holds every answer to the form of the contract. */
async function raw(args: readonly string[], family: readonly string[] = ['workflow']): Promise<Governed> {
  const ran = await cli(...family, ...args, '--json');
  const answer: unknown = answerOf(ran);
  const { schema_version: version, ok, command, data, error, ...rest } = answer as Record<string, unknown>;
  expect(version).toBe('openmed.cli.governed_workflow.v1');
  expect([command, rest]).toEqual([args[0], {}]);
  expect(ok).toBe(
    data !== undefined && ['ready', 'completed', 'cancelled'].includes((data as { status: string }).status),
  );
  if (error === undefined) {
    expect(Object.keys(data as object)).toEqual(MEMBERS);
    return { code: ran.code, error: null, data: data as Record<string, unknown> };
  }
  expect(data).toBeUndefined();
  expect(Object.keys(error as object)).toEqual(['code', 'message']);
  return { code: ran.code, error: (error as { code: string }).code, data: {} };
}

const withJournal = (): readonly string[] => [
  '--journal',
  path.join(rig.folder, 'journal'),
  '--task-queue',
  rig.taskQueue,
];

/** One command about a plan, with the journal and its task queue. */
function governed(
  command: string,
  plan: GovernedPlan,
  state: unknown = null,
  ...more: readonly string[]
): Promise<Governed> {
  return raw([command, '--request', file(JSON.stringify(requestOf(plan, state))), ...withJournal(), ...more]);
}

/** As `inspect`, from all that is known and from the execution alone; both must agree. */
async function inspected(plan: GovernedPlan): Promise<Governed> {
  const all = await governed('inspect', plan);
  const alone = await raw(['inspect', '--request', file(JSON.stringify(requestOf(plan)))]);
  expect({ ...alone, data: { ...alone.data, receipt_digest: null } }).toEqual({
    ...all,
    data: { ...all.data, receipt_digest: null },
  });
  const own = answerOf(await cli('inspect', plan.runId, '--json', '--journal', path.join(rig.folder, 'journal')));
  expect(own.data?.['action_phase']).toBe(all.data['phase']);
  return all;
}

const RULE: ApprovalRule = { approvals: 1, roles: [APPROVER, AUDITOR] };

function worker(rule: ApprovalRule | null = RULE, effects?: readonly EffectDefinition[]): Promise<RigWorker> {
  const plugin = { policy: () => rule, reviewers: new TestReviewers(), ...(effects === undefined ? {} : { effects }) };
  return rig.worker({ plugin });
}

async function parked(
  effects: readonly RigEffect[],
): Promise<{ plan: GovernedPlan; handle: PlanHandle; status: PlanStatus; question: Question }> {
  const plan = await rig.plans.prepare(rig.draft(effects), { requester: personOf('rita') });
  const handle = await rig.plans.start(plan);
  const status = await rig.until(handle, ({ state }) => state === 'parked');
  return { plan, handle, status, question: (await handle.approvals()) as Question };
}

describe('a script', () => {
  it('inspects, has a receipt and resumes', async () => {
    await worker();
    const { plan, handle, status, question } = await parked(['enforcing', 'lookup']);
    const waiting = await inspected(plan);
    expect(waiting).toMatchObject({
      code: 4,
      data: {
        run_id: plan.runId,
        workflow_id: plan.workflowId,
        action_digest: plan.planDigest,
        state_digest: status.head?.digest,
        phase: 'waiting-review',
        status: 'review_required',
        proposed_effect_count: 2,
        committed_effect_count: 0,
        receipt_digest: null,
      },
    });
    expect(waiting.data['review_request_digest']).toMatch(/^sha256:/);
    for (const command of ['plan', 'preview']) expect(await governed(command, plan)).toEqual(waiting);
    const again = ['inspect', '--request', file(JSON.stringify(requestOf(plan)))];
    expect(await raw(again, ['agents', 'workflow'])).toEqual(await raw(again));
    expect((await handle.status()).head).toEqual(status.head);

    const receipt = file(`${approvalOf(question, 'ann')}\n`);
    const state = waiting.data['state_digest'];
    for (const stale of [null, `sha256:${'0'.repeat(64)}`]) {
      for (const command of ['submit-review', 'cancel']) {
        expect(await governed(command, plan, stale)).toMatchObject({ code: 6, error: 'state_conflict' });
      }
      expect(await governed('resume', plan, stale, '--receipt', receipt)).toMatchObject({
        code: 6,
        error: 'state_conflict',
      });
    }
    expect(rig.writes).toBe(0);
    const resumed = await governed('resume', plan, state, '--receipt', receipt);
    await handle.result();
    expect(resumed).toMatchObject({
      code: 0,
      data: { status: 'completed', phase: 'completed', committed_effect_count: 2 },
    });
    const done = await inspected(plan);
    expect(done).toMatchObject({ code: 0, data: { ...resumed.data, receipt_digest: done.data['receipt_digest'] } });
    expect(done.data['receipt_digest']).toMatch(/^sha256:/);
    for (const [command, ...more] of [['submit-review'], ['cancel'], ['resume', '--receipt', receipt]] as const) {
      expect(await governed(command, plan, done.data['state_digest'], ...more)).toMatchObject({
        code: 6,
        error: 'terminal_state',
      });
    }
    expect(rig.writes).toBe(2);
  });

  it('cancels, once and for all', async () => {
    await worker();
    const { plan, handle, status } = await parked(['lookup']);
    const cancelled = await governed('cancel', plan, status.head?.digest);
    expect(cancelled).toMatchObject({
      code: 5,
      data: { status: 'cancelled', phase: 'aborted', review_request_digest: null },
    });
    await handle.result();
    expect(await governed('cancel', plan, status.head?.digest)).toMatchObject({ code: 6, error: 'state_conflict' });
    expect(await governed('cancel', plan, cancelled.data['state_digest'])).toEqual(cancelled);
    expect(await inspected(plan)).toEqual(cancelled);
    const receipt = file('x');
    expect(await governed('resume', plan, cancelled.data['state_digest'], '--receipt', receipt)).toMatchObject({
      code: 6,
      error: 'terminal_state',
    });
    expect(rig.writes).toBe(0);
  });

  it('that asks for two things at once brings about one of them', async () => {
    await worker();
    const { plan, handle, status, question } = await parked(['lookup']);
    const receipts = ['ann', 'bob'].map((who) => file(approvalOf(question, who)));
    const state = status.head?.digest;
    const answers = await Promise.all([
      governed('cancel', plan, state),
      ...receipts.map((receipt) => governed('resume', plan, state, '--receipt', receipt)),
    ]);
    await handle.result();
    const end = await inspected(plan);
    expect(['completed', 'cancelled']).toContain(end.data['status']);
    expect(rig.writes).toBe(end.data['status'] === 'completed' ? 1 : 0);
    for (const { error, data } of answers) {
      // Who was answered in between saw it still going on; who was not answered in time changed nothing that anybody saw.
      if (error === null) expect([end.data['status'], 'ready']).toContain(data['status']);
      else expect(['state_conflict', 'terminal_state', 'receipt_conflict', 'adapter_unavailable']).toContain(error);
    }
    expect(answers.some(({ error }) => error === null || error === 'adapter_unavailable')).toBe(true);
  });

  it('reads for people, too', async () => {
    await worker();
    const { plan } = await parked(['lookup']);
    const ran = await cli('workflow', 'inspect', '--request', file(JSON.stringify(requestOf(plan))));
    expect(ran).toMatchObject({ code: 4, err: '' });
    expect(ran.out).toMatch(
      /^run run_\w+ of workflow:example.org\/rig: review_required\nphase waiting-review, 0 of 1 effects/,
    );
    const failed = await cli('workflow', 'cancel', '--request', file(JSON.stringify(requestOf(plan))));
    expect(failed).toMatchObject({ code: 6, out: '' });
    expect(failed.err).toMatch(/^countersign workflow cancel: state_conflict: [^\n]+\n$/);
  });
});

describe('a run', () => {
  it('that a person denied', async () => {
    await worker();
    const { plan, handle, question } = await parked(['lookup']);
    await handle.approve(rejectionOf(question, 'ann'));
    await handle.result().catch(() => undefined);
    expect(await inspected(plan)).toMatchObject({ code: 3, data: { status: 'denied', phase: 'aborted' } });
  });

  it('that a sink refused', async () => {
    await worker(null);
    rig.sinks.faults.programme([{ fault: 'status', status: 400 }]);
    const plan = await rig.prepare(['lookup', 'lookup']);
    await rig.plans.execute(plan).catch(() => undefined);
    expect(await inspected(plan)).toMatchObject({ code: 3, data: { status: 'denied', phase: 'aborted' } });
  });

  it('that is under way', async () => {
    await worker(null);
    rig.sinks.faults.programme([{ fault: 'in_flight', times: 0 }]);
    const plan = await rig.prepare(['lookup']);
    const handle = await rig.plans.start(plan);
    await rig.until(handle, ({ state }) => state === 'waiting');
    expect(await governed('inspect', plan)).toMatchObject({ code: 0, data: { status: 'ready' } });
    rig.sinks.faults.clear();
    await handle.result();
    expect(await inspected(plan)).toMatchObject({ code: 0, data: { status: 'completed', receipt_digest: null } });
  });

  it('that nobody carries any more', async () => {
    await worker();
    const { plan, handle, status } = await parked(['lookup']);
    await handle.workflow.terminate();
    const left = await governed('inspect', plan);
    expect(left).toMatchObject({
      code: 7,
      data: { status: 'unavailable', state_digest: status.head?.digest, committed_effect_count: 0 },
    });
    const receipt = file('x');
    for (const [command, ...more] of [['submit-review'], ['cancel'], ['resume', '--receipt', receipt]] as const) {
      expect(await governed(command, plan, status.head?.digest, ...more)).toMatchObject({
        code: 7,
        error: 'adapter_unavailable',
      });
    }
  });

  it('for which no worker answers', async () => {
    const running = await worker();
    const { plan, status } = await parked(['lookup']);
    await running.stop();
    const request = file(JSON.stringify(requestOf(plan, status.head?.digest)));
    expect(await raw(['inspect', '--request', request])).toMatchObject({ code: 7, error: 'adapter_unavailable' });
    expect(await governed('inspect', plan)).toMatchObject({
      code: 4,
      data: { status: 'review_required', phase: 'waiting-review', state_digest: status.head?.digest },
    });
    expect(await governed('cancel', plan, status.head?.digest)).toMatchObject({
      code: 7,
      error: 'adapter_unavailable',
    });
  }, 60_000);

  it('whose sink is missing', async () => {
    const full = await worker(null);
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const { plan, handle } = await parked(['lookup']);
    await full.stop();
    await worker(
      null,
      rig.definitions().filter((definition) => definition.toolId !== toolId('lookup')),
    );
    await handle.reobserve();
    await rig.until(handle, ({ reason }) => reason === 'no_adapter');
    expect(await inspected(plan)).toMatchObject({ code: 7, data: { status: 'unavailable', phase: 'waiting-review' } });
  }, 60_000);

  it('that is another, or unknown', async () => {
    await worker();
    const { plan, status } = await parked(['lookup']);
    const other = await rig.prepare(['blind']);
    const ask = (request: object): Promise<Governed> =>
      raw(['cancel', '--request', file(JSON.stringify(request)), ...withJournal()]);
    const state = status.head?.digest;
    expect(await ask(requestOf(plan, state, { action_digest: other.planDigest }))).toMatchObject({
      code: 6,
      error: 'action_conflict',
    });
    expect(await ask(requestOf(plan, state, { workflow_id: 'workflow:example.org/other' }))).toMatchObject({
      code: 6,
      error: 'action_conflict',
    });
    for (const command of ['plan', 'preview', 'inspect', 'cancel']) {
      expect(await governed(command, other)).toMatchObject({ code: 2, error: 'input_invalid' });
    }
  });

  it('is unreachable without a server', async () => {
    const plan = await rig.prepare(['blind']);
    process.env['TEMPORAL_ADDRESS'] = '127.0.0.1:1';
    expect(await governed('inspect', plan)).toMatchObject({ code: 7, error: 'adapter_unavailable' });
  });
});

describe('a preview', () => {
  it('says what would need a person, and leaves nothing', async () => {
    await worker(null);
    const plan = await rig.prepare(['lookup', 'lookup']);
    const [, second] = effectRecords(plan);
    const slow = {
      fault: 'status',
      status: 429,
      retryAfterMs: 60_000,
      times: 0,
      key: second?.idempotencyKey ?? '',
    } as const;
    rig.sinks.faults.programme([slow]);
    const handle = await rig.plans.start(plan);
    await rig.until(handle, ({ state }) => state === 'waiting');
    const before = await governed('inspect', plan);
    expect(before).toMatchObject({ code: 0, data: { status: 'ready', committed_effect_count: 0 } });
    expect(await governed('preview', plan)).toEqual(before);
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 1 }]);
    expect(await governed('preview', plan)).toEqual({
      ...before,
      code: 4,
      data: { ...before.data, status: 'review_required' },
    });
    expect(await inspected(plan)).toEqual(before);
    expect(rig.writes).toBe(1);
    const cancelled = await governed('cancel', plan, before.data['state_digest']);
    expect(cancelled).toMatchObject({ code: 5, data: { status: 'cancelled', committed_effect_count: 1 } });
    await handle.result();
  });
});

describe('an input file', () => {
  const plan = {
    runId: `run_${'5'.repeat(32)}`,
    workflowId: 'workflow:example.org/w',
    planDigest: `sha256:${'a'.repeat(64)}`,
  } as GovernedPlan;
  const good = JSON.stringify(requestOf(plan));
  const rows: readonly (readonly [string, string, () => string])[] = [
    ['of others to read', 'input_unprotected', () => file(good, 0o640)],
    ['of the world', 'input_unprotected', () => file(good, 0o604)],
    ['to execute by a group', 'input_unprotected', () => file(good, 0o610)],
    ['that is a link', 'input_unreadable', () => linked(file(good))],
    ['that is a folder', 'input_unreadable', () => rig.folder],
    ['that is a pipe', 'input_unreadable', () => pipe()],
    ['that is not there', 'input_unreadable', () => path.join(rig.folder, 'none')],
    ['of 64 KiB and one byte', 'input_limit', () => file(good + ' '.repeat(65_537 - good.length))],
    ['nine levels deep', 'input_limit', () => file(`${'['.repeat(9)}${']'.repeat(9)}`)],
    ['of 257 values', 'input_limit', () => file(JSON.stringify(Array(256).fill(0)))],
    ['with a field twice', 'input_invalid', () => file(good.replace('{', '{"run_id":null,'))],
    ['with NaN', 'input_invalid', () => file(good.replace('null', 'NaN'))],
    ['with a field more', 'input_invalid', () => file(good.replace('{', '{"receipt":null,'))],
    ['that is empty', 'input_invalid', () => file('')],
  ];
  it.each(rows)('%s is refused', async (_what, error, make) => {
    process.env['TEMPORAL_ADDRESS'] = '127.0.0.1:1'; // nobody is asked
    expect(await raw(['inspect', '--request', make()])).toMatchObject({ code: 2, error });
    if (error !== 'input_invalid' && !_what.includes('levels') && !_what.includes('values')) {
      expect(await raw(['resume', '--request', file(good), '--receipt', make()])).toMatchObject({ code: 2, error });
    }
  });

  it('is needed, and a receipt to resume', async () => {
    for (const args of [
      ['inspect'],
      ['resume', '--request', file(good)],
      ['resume', '--receipt', file(good)],
      ['forget'],
      [],
    ]) {
      expect((await cli('workflow', ...args)).code).toBe(2);
    }
  });

  function linked(target: string): string {
    fs.symlinkSync(target, `${target}-link`);
    return `${target}-link`;
  }
  function pipe(): string {
    const name = path.join(rig.folder, `pipe-${(files += 1)}`);
    execFileSync('mkfifo', ['-m', '600', name]);
    return name;
  }
});

describe('a receipt', () => {
  /** As the contract calls what our door refuses. */
  const CALLED: Partial<Record<RefusalCode, readonly [number, string]>> = {
    receipt_malformed: [2, 'receipt_invalid'],
    receipt_wrong_type: [2, 'receipt_invalid'],
    receipt_unsigned: [3, 'receipt_unverified'],
    receipt_unknown_key: [3, 'receipt_unverified'],
    receipt_revoked: [3, 'receipt_unverified'],
    receipt_lifetime: [3, 'receipt_unverified'],
    receipt_wrong_role: [3, 'receipt_unverified'],
    receipt_requester: [3, 'receipt_unverified'],
    receipt_expired: [4, 'receipt_expired'],
    receipt_not_yet_valid: [4, 'receipt_future'],
    receipt_wrong_plan: [6, 'receipt_conflict'],
    receipt_wrong_run: [6, 'receipt_conflict'],
    receipt_wrong_lineage: [6, 'receipt_conflict'],
    receipt_wrong_journal: [6, 'receipt_conflict'],
  };

  it('passes the door like every other', async () => {
    await worker({ ...RULE, approvals: 2 });
    const { plan, handle, question } = await parked(['enforcing']);
    const reviewers = handle;
    const rows = doorTable({ ...question, now: Date.now() }).filter(
      ({ what }) => what !== 'a revoked key' && what !== 'a role that may not decide',
    );
    const state = question.headDigest;
    const answers: Record<string, unknown> = {};
    const refused = rows.filter(({ code }) => code !== 'admitted');
    for (const { what, token } of refused) {
      const { code, error } = await governed('resume', plan, state, '--receipt', file(token));
      answers[what] = [code, error];
    }
    expect(answers).toEqual(Object.fromEntries(refused.map(({ what, code }) => [what, CALLED[code as RefusalCode]])));
    // A key that nobody knows yet may be known when the workers have looked again: it must not turn a resume into a rejection.
    const nothings = [rejectionOf(question, 'ann'), resolutionOf(question, 'ann', { resolution: 'abort' })];
    for (const nothing of [...nothings, rejectionOf(question, 'zoe')]) {
      expect(await governed('resume', plan, state, '--receipt', file(nothing))).toMatchObject({
        code: 6,
        error: 'receipt_conflict',
      });
    }
    expect((await reviewers.approvals())?.have).toEqual([]);
    const first = file(approvalOf(question, 'ann'));
    const waits = await governed('resume', plan, state, '--receipt', first);
    expect(waits).toMatchObject({ code: 4, data: { status: 'review_required', committed_effect_count: 0 } });
    expect(await governed('resume', plan, state, '--receipt', first)).toEqual(waits);
    expect(await governed('resume', plan, state, '--receipt', file(approvalOf(question, 'bob')))).toMatchObject({
      code: 0,
      data: { status: 'completed' },
    });
    await handle.result();
    expect(rig.writes).toBe(1);
  });
});

describe('a review', () => {
  it('keeps its digest while it is the same, and is answered by a resolution', async () => {
    await worker(null);
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const plan = await rig.prepare(['blind']);
    const handle = await rig.plans.start(plan);
    const { head } = await rig.until(handle, ({ reason }) => reason === 'ambiguous_effect');
    const seen = await inspected(plan);
    expect(seen.data['state_digest']).toBe(head?.digest);
    expect(seen).toMatchObject({ code: 4, data: { status: 'review_required', phase: 'waiting-review' } });
    const submitted = await governed('submit-review', plan, head?.digest);
    expect(submitted).toEqual(seen);
    const state = submitted.data['state_digest'];
    expect(await governed('submit-review', plan, state)).toEqual(submitted);
    expect(await inspected(plan)).toEqual(submitted);
    const question = (await handle.approvals()) as Question;
    const token = resolutionOf(question, 'ann', { resolution: 'mark_committed', actionIds: question.doubtful });
    expect(await governed('resume', plan, state, '--receipt', file(token))).toMatchObject({
      code: 0,
      data: { status: 'completed', committed_effect_count: 1 },
    });
    await handle.result();
    expect(rig.writes).toBe(1);
  });

  it('of a doubt that is gone is answered by another look', async () => {
    await worker(null);
    rig.sinks.faults.programme([{ fault: 'wrong_digest', times: 0 }]);
    const plan = await rig.prepare(['lookup']);
    const handle = await rig.plans.start(plan);
    const { head } = await rig.until(handle, ({ state }) => state === 'parked');
    rig.sinks.faults.clear();
    const again = file(resolutionOf((await handle.approvals()) as Question, 'ann', { resolution: 'reobserve' }));
    expect(await governed('resume', plan, head?.digest, '--receipt', again)).toMatchObject({
      code: 0,
      data: { status: 'completed' },
    });
    await handle.result();
    expect(rig.writes).toBe(1);
  });

  it('is put together when it could not be before', async () => {
    const reviewers = new TestReviewers();
    reviewers.away = true;
    await rig.worker({ plugin: { policy: () => RULE, reviewers } });
    const plan = await rig.prepare(['lookup']);
    const handle = await rig.plans.start(plan);
    await rig.until(handle, ({ reason }) => reason === 'reviewers_unavailable');
    const before = await inspected(plan);
    expect(before).toMatchObject({ code: 4, data: { status: 'review_required', review_request_digest: null } });
    const state = before.data['state_digest'];
    const receipt = file('x');
    expect(await governed('resume', plan, state, '--receipt', receipt)).toMatchObject({
      code: 7,
      error: 'adapter_unavailable',
    });
    reviewers.away = false;
    const asked = await governed('submit-review', plan, state);
    expect(asked).toMatchObject({ code: 4, data: { status: 'review_required', state_digest: state } });
    expect(asked.data['review_request_digest']).toMatch(/^sha256:/);
    expect(await inspected(plan)).toEqual(asked);
  });
});

it('the page of the command line says the same of every status and error', () => {
  const page = fs.readFileSync('docs/command-line.md', 'utf8');
  const told: Record<string, number> = {};
  for (const [, names = '', code] of page.matchAll(/^\| ([a-z_, ]+?) +\| (\d) +\|/gm)) {
    for (const name of names.split(', ')) told[name] = Number(code);
  }
  const exits = { ...GOVERNED_STATUS_EXITS, ...GOVERNED_ERROR_EXITS };
  expect(told).toEqual(Object.fromEntries(Object.entries(exits).map(([name, exit]) => [name, EXIT[exit]])));
});
