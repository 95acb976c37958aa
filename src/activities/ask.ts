/**
 * What a parked plan asks of people. Invariant: it offers only what would lead somewhere from here, and names everybody who could
 * answer by key and digest, nobody by name.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { RESOLUTIONS, type Resolution } from '../rules/receipts/claims';
import { requestersOf } from '../rules/receipts/judge';
import type { Jwks } from '../rules/receipts/jwks';
import { heldReceipt, type Question } from '../rules/receipts/question';
import type { Witness } from '../rules/sends/witness';
import type { Permission, Standing } from './permission';

/** Whether a resolution could change anything. */
const OFFERED: Record<Resolution, (at: Position) => boolean> = {
  reobserve: () => true,
  mark_committed: ({ doubtful }) => doubtful.length > 0,
  mark_absent: ({ doubtful }) => doubtful.length > 0,
  abort: () => true,
  // A lineage takes its approval at its beginning only: once it has moved on without, or has lost it, another must begin.
  new_lineage: ({ head, standing }) => head.phase !== 'planned' && standing.standing === 'wanting',
};

export interface Position {
  readonly head: RecoveryCheckpoint;
  readonly standing: Standing;
  /** Actions whose outcome nobody could prove. */
  readonly doubtful: readonly string[];
}

export async function ask(permission: Permission, position: Position, keys: Jwks): Promise<Question> {
  const { plan, journalId, lineage, rules, review, overdue } = permission;
  const { head, doubtful, standing } = position;
  const decisions = (await permission.decisions()).filter(({ claims }) => claims.lineage === lineage);
  const asksApproval = standing.standing === 'wanting' && head.phase === 'planned';
  return {
    journalId,
    runId: plan.runId,
    lineage,
    planDigest: plan.planDigest,
    headDigest: head.checkpointDigest,
    asksApproval,
    rules: asksApproval || review.length === 0 ? rules : review,
    requester: plan.requester,
    requesters: [...requestersOf(null, decisions)].sort(),
    resolutions: RESOLUTIONS.filter((resolution) => OFFERED[resolution](position)),
    doubtful,
    keys,
    have: decisions.map(heldReceipt),
    deadlineMs: asksApproval ? overdue.nextMs : null,
  };
}

/** Of the decision behind a checkpoint: the actions that it found in doubt. */
export function doubtfulIn(head: RecoveryCheckpoint, witness: Witness | null): readonly string[] {
  return head.effects.flatMap(({ actionId }, ordinal) =>
    witness?.observations[ordinal]?.state === 'ambiguous' ? [actionId] : [],
  );
}
