/**
 * Names derived from what a thing is. Invariant: the same origin and id give the same run and action for ever, whatever
 * retry, reset, replay or cluster asks; nothing here depends on a position, a clock or a Temporal run.
 */
import { canonicalJson, sha256Digest, sha256Hex } from '../recovery';

/** The run of a named plan: the same workflow and name are the same run. */
export function deriveRunId(workflowId: string, name: string): string {
  return `run_${derive({ domain: 'countersign.run.v1', workflow_id: workflowId, name })}`;
}

/** The action of one effect in a run, from the id that its author gave it. */
export function deriveActionId(runId: string, effectId: string): string {
  return `act_${derive({ domain: 'countersign.action.v1', run_id: runId, effect_id: effectId })}`;
}

/** The id of the Temporal workflow that carries a run by itself. */
export function carrierWorkflowId(runId: string): string {
  return `countersign/${runId}`;
}

/** A Temporal workflow id may hold personal data; the journal keeps only its digest. */
export function workflowIdDigest(temporalWorkflowId: string): string {
  return sha256Digest(canonicalJson({ domain: 'countersign.carrier.v1', workflow_id: temporalWorkflowId }));
}

/** One execution chain of one Temporal workflow: what counts as "this run" in a takeover. */
export function driverDigest(driver: { namespace: string; workflowId: string; temporalRunId: string }): string {
  return sha256Digest(
    canonicalJson({
      domain: 'countersign.driver.v1',
      namespace: driver.namespace,
      workflow_id: driver.workflowId,
      temporal_run_id: driver.temporalRunId,
    }),
  );
}

function derive(identity: Record<string, string>): string {
  return sha256Hex(canonicalJson(identity)).slice(0, 32);
}
