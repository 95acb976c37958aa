/**
 * One run as its journal tells it. Invariant: the chain is validated before anything of it is shown; a journal that breaks
 * the contract is refused, not summarised.
 */
import { Journal } from '../activities/journal';
import type { Store } from '../ports';
import type { RecoveryCheckpoint, RecoveryPhase } from '../rules/recovery';
import { effectRecords } from '../rules/plans/plan';
import { openSlots, type Slot } from '../rules/sends/slot';
import type { Witness, WitnessStep } from '../rules/sends/witness';

export interface InspectedEffect {
  readonly ordinal: number;
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: string;
  readonly state: string;
  readonly approvalRequired: boolean;
  /** What its sink knows it by. */
  readonly idempotencyKey: string;
  readonly evidence: string | null;
  /** Why the last decision could not prove what became of it. */
  readonly doubt: string | null;
  readonly slots: {
    readonly begun: number;
    readonly closed: number;
    readonly open: number;
    readonly lastEnd: string | null;
  };
}

export interface InspectedRun {
  readonly runId: string;
  readonly workflowId: string;
  readonly planDigest: string;
  readonly order: string;
  readonly requester: string;
  readonly lineage: number;
  readonly phase: RecoveryPhase | null;
  readonly head: { readonly sequence: number; readonly digest: string } | null;
  /** What the head records of it. */
  readonly approval: { readonly digest: string; readonly expiresAt: string | null } | null;
  /** How the head follows from the checkpoint before it; null of the first, and where no witness justifies it. */
  readonly lastStep: WitnessStep | null;
  readonly checkpoints: number;
  readonly epochs: number;
  readonly effects: readonly InspectedEffect[];
}

/** Null when the journal does not know the run. */
export async function readRun(store: Store, runId: string): Promise<InspectedRun | null> {
  const journal = new Journal(store);
  await journal.id();
  const plan = await journal.plan(runId);
  if (plan === null) return null;
  const lineage = await latestLineage(store, runId);
  const chain = await journal.chain(runId, lineage);
  const [before, head] = [chain.at(-2), chain.at(-1)];
  const witness = before === undefined || head === undefined ? null : await journal.justification(runId, before, head);
  const records = head?.effects ?? effectRecords(plan);
  const effects = await Promise.all(
    records.map(async (record, ordinal) => ({
      ordinal,
      actionId: record.actionId,
      toolId: record.toolId,
      kind: record.kind,
      state: record.state,
      approvalRequired: record.approvalRequired,
      idempotencyKey: record.idempotencyKey,
      evidence: record.commitEvidenceDigest,
      doubt: doubtOf(witness, ordinal),
      slots: countSlots(await journal.slots(runId, record.idempotencyKey)),
    })),
  );
  return {
    runId,
    workflowId: plan.workflowId,
    planDigest: plan.planDigest,
    order: plan.order,
    requester: plan.requester ?? 'unverified',
    lineage,
    phase: head?.phase ?? null,
    head: head === undefined ? null : { sequence: Number(head.sequence), digest: head.checkpointDigest },
    approval: approvalOf(head),
    lastStep: witness?.step ?? null,
    checkpoints: chain.length,
    epochs: (await journal.epochs(runId)).length,
    effects,
  };
}

function approvalOf(head: RecoveryCheckpoint | undefined): InspectedRun['approval'] {
  if (head === undefined || head.approvalReceiptDigest === null) return null;
  const { approvalReceiptDigest: digest, approvalExpiresAt: at } = head;
  return { digest, expiresAt: at === null ? null : new Date(Number(at)).toISOString() };
}

async function latestLineage(store: Store, runId: string): Promise<number> {
  const names = await store.list(runId);
  const numbers = names.map((name) => Number(/^lineage-([0-9]{4,})\/$/.exec(name)?.[1] ?? 0));
  return Math.max(1, ...numbers);
}

function doubtOf(witness: Witness | null, ordinal: number): string | null {
  const found = witness?.observations[ordinal];
  if (found?.state === 'changed') return 'changed';
  return found?.state === 'ambiguous' ? found.doubt : null;
}

function countSlots(slots: readonly Slot[]): InspectedEffect['slots'] {
  return {
    begun: slots.filter(({ record }) => record.state === 'begun').length,
    closed: slots.filter(({ record }) => record.state === 'closed').length,
    open: openSlots(slots).length,
    lastEnd: slots.at(-1)?.end?.outcome ?? null,
  };
}
