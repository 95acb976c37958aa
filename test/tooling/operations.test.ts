/**
 * Properties of the page for operators:
 * - it has one row for each state, reason, doubt and refusal, and for nothing else;
 * - its list of metrics is what is measured, by name, kind and labels; its alerts ask for metrics that exist;
 * - what it says plans cost is what they cost on a real server: events of histories, and actions counted from them.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { PARKED_EXITS } from '../../src/cli/exit-codes';
import type { GovernedPlan } from '../../src/client';
import { MEASUREMENTS } from '../../src/rules/measurements';
import { REFUSAL_CODES } from '../../src/rules/refusal';
import { DOUBTS } from '../../src/rules/sends/proof';
import { PLAN_STATES } from '../../src/workflows/messages';
import type { HistoryJson } from '../../src/testing/history-json';
import { TestReviewers, approvalOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { authorsWorker, begin, carrier } from '../workflows/authors/scenarios';

const PAGE = readFileSync('docs/operations.md', 'utf8');

/** The cells of the table under a heading. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = PAGE.split(new RegExp(`^#+ ${heading}$`, 'm'));
  const [text = ''] = section.split(/^#/m);
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  );
}

const named = (heading: string): readonly string[] => rowsUnder(heading).map(([name = '']) => name.replaceAll('`', ''));

describe('a row for each', () => {
  test.each<[string, readonly string[]]>([
    ['States', PLAN_STATES],
    ['Why a plan is parked', Object.keys(PARKED_EXITS)],
    ['Why an effect is in doubt', DOUBTS],
    ['Refusals', REFUSAL_CODES],
  ])('%s', (heading, union) => {
    expect([...named(heading)].sort()).toEqual([...union].sort());
    for (const row of rowsUnder(heading)) expect(row.every((cell) => cell.length > 0)).toBe(true);
  });

  test('metric', () => {
    const listed = rowsUnder('Metrics').map((row) => row.slice(0, 3));
    const measured = Object.values(MEASUREMENTS).map(({ name, kind, labels }) => [
      `\`${name}\``,
      kind,
      labels.length === 0 ? 'none' : labels.map((label) => `\`${label}\``).join(', '),
    ]);
    expect(listed).toEqual(measured);
  });

  test('alert, of a metric that exists', () => {
    const [, alerts = ''] = PAGE.split('## Alerts');
    const asked = [...alerts.matchAll(/\b(countersign_\w+?)(?:_(?:bucket|sum|count))?\b/g)].map(([, name]) => name);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((name) => !Object.values(MEASUREMENTS).some((known) => known.name === name))).toEqual([]);
  });
});

const rig = useRig({ workflowsPath: path.resolve(__dirname, '../workflows/authors/workflows.ts') });

const ACTIONS = new Set([
  'WORKFLOW_EXECUTION_STARTED',
  'WORKFLOW_EXECUTION_SIGNALED',
  'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
  'ACTIVITY_TASK_SCHEDULED',
  'TIMER_STARTED',
]);

/** As Temporal Cloud counts them: no more can be seen in a history, so no heartbeats and no queries. */
function actionsIn({ events }: HistoryJson): number {
  const counted = events.filter(({ eventType }) => ACTIONS.has(String(eventType).replace('EVENT_TYPE_', '')));
  const tasks = events.map(
    (event) => event['markerRecordedEventAttributes'] as { workflowTaskCompletedEventId: string } | undefined,
  );
  // All local activities of one workflow task are one action.
  return counted.length + new Set(tasks.flatMap((marker) => marker?.workflowTaskCompletedEventId ?? [])).size;
}

const hundred = Array.from({ length: 100 }, (_, index) => index);
const WAYS: Readonly<Record<string, () => Promise<readonly HistoryJson[]>>> = {
  'a governed plan of 1 effect': () => governed(1),
  'a governed plan of 100 effects': () => governed(100),
  '`await charge(…)`': async () => [await authored('chargeOnce', [1])],
  '100 calls, one after the other': async () => [await authored('inALoop', [100])],
  '`runPlan` of 100 effects': async () => [await authored('planned', [hundred])],
  'a governed plan that one person approves': async () => {
    await rig.worker({ plugin: { reviewers: new TestReviewers() } });
    const handle = await rig.start([{ mode: 'lookup', approval_required: true }]);
    await rig.until(handle, ({ state }) => state === 'parked');
    await handle.approve(approvalOf((await handle.approvals())!, 'ann'));
    await handle.result();
    return [await rig.historyOf(handle)];
  },
  '`await charge(…)` that one person approves': async () => {
    await authorsWorker(rig, { reviewers: new TestReviewers(), policy: () => ({ approvals: 1 }) });
    const author = await begin(rig, 'chargeOnce', [1]);
    const plan = await carrier(rig);
    await plan.approve(approvalOf((await plan.approvals())!, 'ann'));
    await author.result();
    return [await rig.historyOf({ workflow: author as never }), await rig.historyOf(plan)];
  },
};

async function governed(effects: number): Promise<readonly HistoryJson[]> {
  await rig.worker();
  const plan: GovernedPlan = await rig.prepare(Array.from({ length: effects }, () => 'lookup' as const));
  const handle = await rig.plans.start(plan);
  await handle.result();
  return [await rig.historyOf(handle)];
}

async function authored<W extends Parameters<typeof begin>[1]>(
  name: W,
  args: Parameters<typeof begin<W>>[2],
): Promise<HistoryJson> {
  await authorsWorker(rig);
  const workflow = await begin(rig, name, args);
  await workflow.result();
  return rig.historyOf({ workflow: workflow as never });
}

test.each(Object.entries(WAYS))('what it says is the cost of %s', async (way, run) => {
  const histories = await run();
  const events = histories.reduce((sum, { events: list }) => sum + list.length, 0);
  const actions = histories.reduce((sum, history) => sum + actionsIn(history), 0);
  expect(rowsUnder('What plans cost').find(([name]) => name === way)).toEqual([way, String(events), String(actions)]);
});

test('no cost is listed that is not measured', () => {
  expect(rowsUnder('What plans cost').map(([way]) => way)).toEqual(Object.keys(WAYS));
});
