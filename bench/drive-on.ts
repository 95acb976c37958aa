/**
 * One `drive` of a new plan on a given store, without a Temporal server, so that only the store and the engine are measured.
 * Invariant: a plan that does not end by one call is a fault of the measurement, and ends it.
 */
import { randomUUID } from 'node:crypto';
import { Contents, newSalt } from '../src/activities/contents';
import { drive } from '../src/activities/drive';
import { createEngine } from '../src/activities/drive-activity';
import type { Store } from '../src';
import { draftFromJson, planFromDraft } from '../src/rules/plans/draft';
import { carrierWorkflowId } from '../src/rules/plans/identity';
import { planToRecord, type GovernedPlan } from '../src/rules/plans/plan';
import { sha256Digest } from '../src/rules/recovery';
import type { Variant } from './measure';
import { BenchSink } from './sink';

const TOOL = 'tool:countersign.bench/write@1.0.0';

export function driveOn(
  { name, store, contents }: { readonly name: string; readonly store: Store; readonly contents: Store },
  count: number,
): Variant {
  const effects = [{ toolId: TOOL, sink: new BenchSink() }];
  const engine = createEngine({ store, contents, effects, measured: false });
  const plans = new Map<number, GovernedPlan>();
  return {
    name,
    prepare: async (round) => {
      const salt = newSalt();
      const draft = draftFromJson({
        workflow_id: 'workflow:countersign.bench/plan',
        name: `${name} ${count} ${round} ${randomUUID()}`,
        effects: Array.from({ length: count }, (_, index) => ({
          ...{ id: `effect-${index}`, tool_id: TOOL, kind: 'local_tool', operation: { index } },
        })),
      });
      const { plan, envelopes } = planFromDraft(draft, salt, { origin: null, requester: null });
      const kept = new Contents(contents);
      await kept.settleSalt(plan.runId, salt);
      await kept.putOperations(envelopes);
      plans.set(round, plan);
    },
    run: async (round) => {
      const plan = plans.get(round) as GovernedPlan;
      const caller = {
        ...{ workflowId: carrierWorkflowId(plan.runId), driver: sha256Digest('bench'), scheduledAt: Date.now() },
        stopping: () => false,
      };
      const { status } = await drive(engine, caller, {
        ...{ run_id: plan.runId, lineage: 1, intent: 'drive', plan: planToRecord(plan), journal_id: null },
        ...{ expected_head: null, epoch: null, reclaim: false, waited: [] },
      });
      if (status !== 'done') throw new Error(`a plan of ${count} effects on ${name} ended as ${status}`);
    },
  };
}
