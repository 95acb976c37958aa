/**
 * The door of `drive` for calls of tools.
 *
 * Held here:
 * - the queue of the tool of a plan's one effect may drive it, and do nothing else to it; no other queue may, and none may drive a plan of
 *   several effects, or of a tool that no session has;
 * - a call id counts only for the run that it derives, and only then does the handler hear of it;
 * - a worker that is not on a list, its own or the call's, fails before anything is written; one that only looks is let through.
 */
import { describe, expect, it } from 'vitest';
import { ApplicationFailure } from '@temporalio/common';
import type { DriveIntent } from '../../src/activities/contract';
import { Registry } from '../../src/activities/registry';
import { queueOf, refuseOtherCall, refuseWorker, type ToolStanding } from '../../src/activities/tool-door';
import { isAllowed } from '../../src/rules/invocations/allowed-workers';
import { callRunId } from '../../src/rules/invocations/names';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { planToRecord, type GovernedPlan } from '../../src/rules/plans/plan';
import { Bench } from './support';

const CHARGE = 'tool:tools.countersign.local/charge@1.0.0';
const QUEUE = 'countersign-queue/charge@1.0.0';
const refused = { status: 'refused', code: 'not_the_plans_workflow' };

const door = (standing?: ToolStanding, registry = new Registry([])) => ({
  registry,
  ...(standing === undefined ? {} : { standing }),
});

describe('a queue', () => {
  it('drives the calls of its tool', async () => {
    const bench = new Bench([{ toolId: CHARGE }]);
    const engine = bench.engine({ toolId: CHARGE });
    expect(await bench.drive(engine, {}, { workflowId: QUEUE })).toMatchObject({ status: 'done' });
    expect(bench.told.sent).toHaveLength(1);
  });

  it.each(['cancel', 'follow'] as const)('may not %s them', async (intent: DriveIntent) => {
    const bench = new Bench([{ toolId: CHARGE }]);
    const before = bench.bytes();
    expect(await bench.drive(bench.engine({ toolId: CHARGE }), { intent }, { workflowId: QUEUE })).toMatchObject(
      refused,
    );
    expect(bench.bytes()).toBe(before);
  });

  const others: readonly (readonly [string, string, readonly string[]])[] = [
    ['of another version', 'countersign-queue/charge@1.0.1', [CHARGE]],
    ['without a version', 'countersign-queue/charge@default', [CHARGE]],
    ['of another tool', 'countersign-queue/refund@1.0.0', [CHARGE]],
    ['by a longer name', `${QUEUE}/x`, [CHARGE]],
    ['of a plan with several effects', QUEUE, [CHARGE, CHARGE]],
    ['of an author’s own tool', 'countersign-queue/charge@1.0.0', ['tool:example.org/charge@1.0.0']],
  ];
  it.each(others)('%s may not', async (_name, workflowId, tools) => {
    const bench = new Bench(tools.map((toolId) => ({ toolId })));
    const before = bench.bytes();
    const definition = { toolId: tools[0] ?? '' };
    expect(await bench.drive(bench.engine(definition), { reclaim: true }, { workflowId })).toMatchObject(refused);
    expect(bench.bytes()).toBe(before);
    expect(bench.told.sent).toEqual([]);
  });
});

function callPlan(callId: string): GovernedPlan {
  const run_id = callRunId(callId, { tool: 'charge', version: '1.0.0' });
  const effects = [{ id: callId, tool_id: CHARGE, kind: 'local_tool', operation: { n: 1 } }];
  const draft = draftFromJson({ workflow_id: 'workflow:countersign.local/session', run_id, effects });
  return planFromDraft(draft, 'ab'.repeat(32), { origin: null, requester: null }).plan;
}

it('a call id is that of the run, or refused', async () => {
  const plan = callPlan('s1:v1:1:1:0');
  const asked = { ...new Bench().request(), plan: planToRecord(plan), run_id: plan.runId };
  expect(() => refuseOtherCall(plan, asked)).not.toThrow();
  expect(() => refuseOtherCall(plan, { ...asked, call_id: 's1:v1:1:1:0' })).not.toThrow();
  expect(queueOf(plan)).toBe(QUEUE);
  for (const call_id of ['s1:v1:1:1:1', 's1:v1:1:2:0', 's2:v1:1:1:0', 's1:v2:1:1:0', 'x', '']) {
    expect(() => refuseOtherCall(plan, { ...asked, call_id })).toThrow(/call_id/);
  }
  const bench = new Bench([{ toolId: CHARGE }]);
  const result = await bench.drive(bench.engine({ toolId: CHARGE }), { call_id: 's1:v1:1:1:0' });
  expect(result).toMatchObject({ status: 'refused', code: 'invalid_record' });
});

describe('a worker', () => {
  const standing = (allow: ToolStanding['tools'] extends ReadonlyMap<string, infer T> ? T : never): ToolStanding => ({
    identity: 'w1',
    tools: new Map([[CHARGE, allow]]),
  });
  const hash = 'sha256:aa';
  const plan = callPlan('s1:v1:1:1:0');
  const request = { ...new Bench().request(), plan: planToRecord(plan), run_id: plan.runId };

  it.each([
    [{}, true],
    [{ identities: ['w1'] }, true],
    [{ identities: ['w2'] }, false],
    [{ identities: [] }, false],
    [{ descriptor_hashes: [hash] }, true],
    [{ descriptor_hashes: ['sha256:bb'] }, false],
    [{ identities: ['w1'], descriptor_hashes: ['sha256:bb'] }, false],
    [{ identities: ['w2'], descriptor_hashes: [hash] }, false],
  ])('%o: %s', (allow, may) => {
    expect(isAllowed(allow, 'w1', hash)).toBe(may);
    const own = standing({ descriptorHash: hash, allow });
    const open = standing({ descriptorHash: hash, allow: null });
    const acts = [() => refuseWorker(door(own), request), () => refuseWorker(door(open), { ...request, allow })];
    for (const act of acts) {
      if (may) expect(act).not.toThrow();
      else expect(act).toThrow(ApplicationFailure);
    }
    expect(() => refuseWorker(door(own), { ...request, intent: 'follow' })).not.toThrow();
  });

  it('that is none of tools is on no list', () => {
    expect(() => refuseWorker(door(), request)).not.toThrow();
    expect(() => refuseWorker(door(), { ...request, allow: { identities: ['w1'] } })).toThrow(ApplicationFailure);
  });
});
