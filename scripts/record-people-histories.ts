/**
 * Records the histories of plans that people decided about under `test/histories/<version>/people`, with their journal. Every key in
 * them is made up here.
 */
import { CountersignPlugin, type ApprovalRule } from '../src';
import { PlanClient, type PlanHandle, type Question } from '../src/client';
import { countingSink, startCountingServer, type CountingMode, type Fault } from '../src/testing';
import { AUDITOR, TestReviewers, approvalOf, rejectionOf, resolutionOf } from '../test/support/reviewers';
import { CONTENT, eventually, recordInto } from './dev/recording';

const toolId = (mode: CountingMode): string => `tool:example.org/${mode}@1.0.0`;

/** The rule of every plan is in the name of its story. */
const RULES: Record<string, ApprovalRule | null> = {
  approved: { approvals: 2 },
  denied: { approvals: 2 },
  'too-late': { approvals: 1, deadline: { afterMs: 1_500, then: 'deny' } },
  escalated: {
    approvals: 1,
    roles: ['role:example.org/approver'],
    deadline: { afterMs: 1_500, then: { escalate: AUDITOR } },
  },
  'answered-and-continued': { approvals: 2 },
  reopened: { approvals: 1 },
  'marked-absent': null,
  'ended-by-a-person': null,
};

/** Few enough events that a plan that is asked a few times continues as new. */
recordInto('people', { eventsBeforeRenewal: 60 }, async (recording) => {
  const sinks = recording.closing(await startCountingServer());
  const { client, store, contents, taskQueue } = recording;
  await recording.worker({
    plugin: new CountersignPlugin({
      ...{ store, contents, reviewers: new TestReviewers() },
      policy: (_tool, operation) => RULES[(operation as { story: string }).story] ?? null,
      effects: (['lookup', 'blind'] as const).map((mode) => ({
        toolId: toolId(mode),
        sink: countingSink({ url: sinks.url, mode, deadlineMs: 2_000, settleMs: 200 }),
      })),
    }),
  });
  const plans = new PlanClient({ client, contents, taskQueue });
  const record = async (
    name: string,
    modes: readonly CountingMode[],
    meanwhile: (handle: PlanHandle) => Promise<unknown>,
    faults: readonly Fault[] = [],
  ): Promise<void> => {
    sinks.faults.programme(faults);
    const handle = await plans.start(await plans.prepare(draft(name, modes)));
    const { runId: first } = await handle.workflow.describe();
    const current = plans.getHandle(handle.runId);
    await meanwhile(current);
    await current.result().catch(() => undefined);
    sinks.faults.clear();
    const { runId: last } = await current.workflow.describe();
    await recording.keep(name, handle.workflowId, first);
    if (last !== first) await recording.keep(`${name}-2`, handle.workflowId, last);
  };

  await record('approved', ['lookup', 'blind'], async (handle) => {
    const asked = await parkedFor(handle, 'approval_missing');
    await handle.approve(approvalOf(asked, 'ann'));
    await handle.approve(approvalOf(asked, 'bob'));
  });
  await record('denied', ['lookup'], async (handle) => {
    const asked = await parkedFor(handle, 'approval_missing');
    await handle.approve(approvalOf(asked, 'ann'));
    await handle.approve(rejectionOf(asked, 'bob'));
  });
  await record('too-late', ['lookup'], () => Promise.resolve());
  await record('escalated', ['lookup'], async (handle) => {
    await parkedFor(handle, 'approval_missing');
    await eventually(async () => JSON.stringify((await handle.status()).asks).includes(AUDITOR));
    await handle.approve(approvalOf((await handle.approvals())!, 'ann', { role: AUDITOR }));
  });
  await record('answered-and-continued', ['lookup'], async (handle) => {
    const asked = await parkedFor(handle, 'approval_missing');
    await handle.approve(approvalOf(asked, 'ann'));
    const { runId: before } = await handle.workflow.describe();
    while ((await handle.workflow.describe()).runId === before) await handle.reobserve();
    await handle.approve(approvalOf(asked, 'bob'));
  });
  await record(
    'reopened',
    ['lookup', 'blind', 'lookup'],
    async (handle) => {
      const iat = Math.floor(Date.now() / 1000);
      await handle.approve(approvalOf(await parkedFor(handle, 'approval_missing'), 'ann', { iat, livesS: 4 }));
      const asked = await parkedFor(handle, 'ambiguous_effect');
      await eventually(() => Promise.resolve(Date.now() >= (iat + 4) * 1_000 || null));
      await handle.resolve(
        resolutionOf(asked, 'bob', { resolution: 'mark_committed', actionIds: asked.doubtful, externalId: 'row-1' }),
      );
      const expired = await parkedFor(handle, 'approval_expired');
      await handle.resolve(resolutionOf(expired, 'bob', { resolution: 'new_lineage' }));
      await handle.approve(approvalOf(await parkedFor(handle, 'approval_missing'), 'cleo'));
    },
    // The first effect is written and found; of the second, the answer is lost.
    [{ fault: 'delay_before', delayMs: 0 }, { fault: 'drop_reply' }],
  );
  await record(
    'marked-absent',
    ['blind'],
    async (handle) => {
      const asked = await parkedFor(handle, 'ambiguous_effect');
      await handle.resolve(resolutionOf(asked, 'ann', { resolution: 'mark_absent', actionIds: asked.doubtful }));
    },
    [{ fault: 'drop_request' }],
  );
  await record(
    'ended-by-a-person',
    ['blind', 'lookup'],
    async (handle) => {
      const asked = await parkedFor(handle, 'ambiguous_effect');
      await handle.resolve(resolutionOf(asked, 'ann', { resolution: 'abort' }));
    },
    [{ fault: 'drop_reply' }],
  );
});

function draft(name: string, modes: readonly CountingMode[]): Record<string, unknown> {
  return {
    workflow_id: 'workflow:example.org/recorded',
    name,
    effects: modes.map((mode, index) => ({
      ...{
        id: `e${index}`,
        tool_id: toolId(mode),
        kind: 'local_tool',
        approval_required: (RULES[name] ?? null) !== null,
      },
      operation: { story: name, text: `${CONTENT} ${index}` },
    })),
  };
}

function parkedFor(handle: PlanHandle, reason: string): Promise<Question> {
  return eventually(async () => {
    const status = await handle.status();
    return status.state === 'parked' && status.reason === reason ? handle.approvals() : null;
  });
}
