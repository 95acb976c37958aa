/**
 * What people say of an effect beside what became of it: the result that it gave, or why it failed. Invariant: a result counts only as
 * content of that very effect, under the salt of its run, so nobody shows a model the contents of another; what a sink or a worker tells
 * counts before it.
 */
import type { RecoveryCheckpoint } from '../rules/recovery';
import { resultEnvelope } from '../rules/plans/envelope';
import type { ResolutionClaims } from '../rules/receipts/claims';
import { isResolution } from '../rules/receipts/decision';
import { Refusal } from '../rules/refusal';
import { commitEvidenceDigest } from '../rules/sends/evidence';
import type { Engine } from './engine';
import type { Target } from './look-up';

/** At the door. */
export async function refuseStrangeResult(
  { contents }: Engine,
  { runId, effects }: RecoveryCheckpoint,
  { actionIds, resultDigest }: ResolutionClaims,
): Promise<void> {
  if (resultDigest === undefined) return;
  const key = effects.find(({ actionId }) => actionIds.includes(actionId))?.idempotencyKey ?? '';
  const salt = await contents.knownSalt(runId);
  const held = await contents.content(resultDigest).then(
    (result) => ({ result }),
    (fault: unknown) => {
      if (fault instanceof Refusal && fault.code === 'content_missing') return null;
      throw fault;
    },
  );
  if (salt !== null && held !== null && resultEnvelope(salt, key, held.result).digest === resultDigest) return;
  const reason = 'is no result of this effect in the content store of its workers; put it there, and sign again';
  throw new Refusal('receipt_not_wanted', reason, 'result_digest');
}

/** Of effects that are committed on a person's word; from then on it is what they gave. */
export async function saidResults(
  engine: Engine,
  { runId, effects }: RecoveryCheckpoint,
  targets: readonly Target[],
): Promise<readonly (readonly [ordinal: number, digest: string])[]> {
  const said = targets.length === 0 ? [] : await accepted(engine, runId);
  const results: (readonly [number, string])[] = [];
  for (const { ordinal, item } of said.length === 0 ? [] : targets) {
    const evidence = effects[ordinal]?.commitEvidenceDigest;
    const { resultDigest } =
      said.find(({ actionIds, externalId, resultDigest: digest }) => {
        const same = digest !== undefined && commitEvidenceDigest({ ...item, externalId }) === evidence;
        return same && actionIds.includes(item.actionId);
      }) ?? {};
    if (resultDigest === undefined) continue;
    results.push([ordinal, await engine.contents.settleResult(item.idempotencyKey, resultDigest)]);
  }
  return results;
}

/** Null also of a plan that nobody has ended. */
export async function reasonGiven(
  engine: Engine,
  { runId, phase }: RecoveryCheckpoint,
  lineage: number,
): Promise<string | null> {
  if (phase !== 'aborted') return null;
  const said = await accepted(engine, runId);
  // The one by which it was ended, as `Permission` finds it.
  return said.find((one) => one.resolution === 'abort' && one.lineage === lineage)?.reason ?? null;
}

async function accepted({ journal }: Engine, runId: string): Promise<readonly ResolutionClaims[]> {
  const files = journal.receipts(runId);
  const records = await files.resolutions();
  if (records.length === 0) return [];
  const receipts = new Map((await files.decisions()).filter(isResolution).map((one) => [one.digest, one.claims]));
  return records.flatMap(({ receipt }) => receipts.get(receipt) ?? []);
}
