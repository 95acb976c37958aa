/**
 * What a retired lineage was. Invariant: it is answered only when plan and witnesses derive the very checkpoint in which it
 * ended; otherwise it is refused, and whoever asks sends nothing.
 */
import { RETIRED_FILE_NAME, type RecoveryCheckpoint, type RetiredJournalRecord } from '../rules/recovery';
import { openingCheckpoint, type GovernedPlan } from '../rules/plans/plan';
import { openingWitness, type LineageRecord } from '../rules/receipts/lineage-record';
import { Refusal } from '../rules/refusal';
import { rederiveChain } from '../rules/sends/rederive';
import { deriveNext, type Witness } from '../rules/sends/witness';

/** What is left of a run beside its checkpoints. */
export interface Left {
  plan(runId: string): Promise<GovernedPlan | null>;
  witnesses(runId: string): Promise<readonly Witness[]>;
  lineageRecord(runId: string, lineage: number): Promise<LineageRecord | null>;
  chain(runId: string, lineage: number): Promise<readonly RecoveryCheckpoint[]>;
}

export async function retiredChain(
  left: Left,
  runId: string,
  lineage: number,
  record: RetiredJournalRecord,
): Promise<readonly RecoveryCheckpoint[]> {
  const opening = await openingOf(left, runId, lineage);
  const chain = opening === null ? null : rederiveChain(opening, await left.witnesses(runId), record);
  if (chain !== null) return chain;
  const reason = `lineage ${lineage} is retired (${RETIRED_FILE_NAME}), and what is left does not prove what came of it`;
  throw new Refusal('journal_retired', `${reason}; nothing is sent`, runId);
}

async function openingOf(left: Left, runId: string, lineage: number): Promise<RecoveryCheckpoint | null> {
  const plan = await left.plan(runId);
  if (lineage === 1) return plan === null ? null : openingCheckpoint(plan);
  const record = await left.lineageRecord(runId, lineage);
  const from = record === null ? undefined : (await left.chain(runId, lineage - 1))[record.from.sequence];
  if (record === null || from?.checkpointDigest !== record.from.digest) return null;
  return deriveNext(from, openingWitness(from, record)).checkpoint;
}
