/**
 * What the journal holds of a run and its history has not seen. Invariant: a checkpoint is adopted only with a witness that
 * derives it, and with the receipts that its witness rests on; lineages follow each other as their opening records say.
 */
import { isTerminalPhase, type RecoveryCheckpoint } from '../rules/recovery';
import type { Dict } from '../rules/fields';
import { openingCheckpoint, type GovernedPlan } from '../rules/plans/plan';
import type { ApprovalRecord } from '../rules/receipts/approval-record';
import { groundFault } from '../rules/receipts/grounds';
import { openingWitness, type LineageRecord } from '../rules/receipts/lineage-record';
import type { ReceiptRecord } from '../rules/receipts/receipt-record';
import { Refusal } from '../rules/refusal';
import { witnessToRecord, witnessToText, type Witness } from '../rules/sends/witness';
import type { DriveRequest } from './contract';
import type { Engine } from './engine';
import { planConflict } from './journal';

/** More than this in one result would come near what Temporal takes; the next execution hands over the rest. */
const MOST_ADOPTED_BYTES = 512 * 1024;

export interface Adopted {
  /** The witnesses of what this history has not seen, oldest first. */
  readonly steps: readonly Dict[];
  /** The lineage and checkpoint that they lead to; undefined while there is none. */
  readonly lineage: number;
  readonly head: RecoveryCheckpoint | undefined;
  /** Whether that is all that there is. */
  readonly complete: boolean;
  /** Opens the next lineage: its number is taken, its first checkpoint not yet written. */
  readonly unwritten: Witness | null;
  /** A lineage on the way was ended by a driver that did not see yet that it had been left: what it asked for is still asked. */
  readonly overtaken: boolean;
  /** The checkpoint before `head` in its lineage. */
  readonly previous: RecoveryCheckpoint | undefined;
}

/** `planned`: the journal knew the plan before; otherwise it can hold nothing else of the run. */
export async function adopt(
  engine: Engine,
  request: DriveRequest,
  plan: GovernedPlan,
  journalId: string,
  planned: boolean,
): Promise<Adopted> {
  const { journal } = engine;
  const { run_id: runId, expected_head: expected, known_head: known = null } = request;
  let lineage = request.lineage;
  let chain = await journal.chain(runId, lineage);
  requireHead(chain, expected);
  if (expected === null && chain[0] !== undefined) {
    if (chain[0].checkpointDigest !== openingCheckpoint(plan).checkpointDigest) throw planConflict();
  }
  const steps: Dict[] = [];
  let overtaken = false;
  let bytes = 0;
  const take = (witness: Witness): void => {
    bytes += witnessToText(witness).length;
    steps.push(witnessToRecord(witness));
  };
  for (let index = (expected?.sequence ?? 0) + 1; ; index = 1) {
    if (known !== null && (known.lineage ?? 1) === lineage) requireHead(chain, known);
    const next = await follower(engine, plan, lineage, chain, planned);
    const length = next === null ? chain.length : next.from.sequence + 1;
    for (; index < length && bytes < MOST_ADOPTED_BYTES; index += 1) {
      const [previous, checkpoint] = [chain[index - 1], chain[index]] as [RecoveryCheckpoint, RecoveryCheckpoint];
      const witness = await journal.justification(runId, previous, checkpoint);
      if (witness === null) {
        throw new Refusal('journal_invalid', `checkpoint ${index} of lineage ${lineage} has no witness`);
      }
      await requireGround(engine, journalId, lineage, previous, witness);
      take(witness);
    }
    const head = chain[Math.min(index, length) - 1];
    const previous = chain[Math.min(index, length) - 2];
    if (index < length) return { steps, lineage, head, complete: false, unwritten: null, overtaken, previous };
    if (next === null || head === undefined) {
      requireLineage(known, lineage);
      return { steps, lineage, head, complete: true, unwritten: null, overtaken, previous };
    }
    overtaken ||= isEndedBehind(chain, next);
    const opening = openingWitness(head, next);
    await requireGround(engine, journalId, lineage, head, opening);
    chain = await journal.chain(runId, lineage + 1);
    if (chain[0] === undefined) {
      requireLineage(known, lineage);
      return { steps, lineage, head, complete: true, unwritten: opening, overtaken, previous };
    }
    take(opening);
    lineage += 1;
    if (chain[0].checkpointDigest !== opening.checkpointDigest) {
      throw new Refusal('journal_invalid', `lineage ${lineage} does not begin where the one before it was left`);
    }
  }
}

/** Whether a lineage that was left at `from` was ended afterwards. */
export function isEndedBehind(chain: readonly RecoveryCheckpoint[], { from }: LineageRecord): boolean {
  return chain.slice(from.sequence + 1).some(({ phase }) => phase === 'aborted');
}

/** The lineage after this one, if there is one. Nothing follows a chain that is complete, or that had ended before it was left. */
async function follower(
  engine: Engine,
  plan: GovernedPlan,
  lineage: number,
  chain: readonly RecoveryCheckpoint[],
  planned: boolean,
): Promise<LineageRecord | null> {
  const last = chain.at(-1);
  if (!planned || last === undefined || last.phase === 'completed') return null;
  const next = await engine.journal.receipts(plan.runId).lineage(lineage + 1);
  if (next === null) return null;
  const from = chain[next.from.sequence];
  if (from?.checkpointDigest === next.from.digest && next.lineage === lineage + 1) {
    return isTerminalPhase(from.phase) ? null : next;
  }
  throw new Refusal('journal_invalid', `lineage ${lineage + 1} follows a checkpoint that is not there`);
}

type Known = { readonly lineage?: number; readonly sequence: number; readonly digest: string } | null;

function requireHead(chain: readonly RecoveryCheckpoint[], known: Known): void {
  if (known !== null && chain[known.sequence]?.checkpointDigest !== known.digest) throw journalBehind();
}

function requireLineage(known: Known, lineage: number): void {
  if (known !== null && (known.lineage ?? 1) > lineage) throw journalBehind();
}

function journalBehind(): Refusal {
  return new Refusal(
    'journal_behind',
    'the journal does not hold the head that this history knows; restore the journal, or resume from another copy',
  );
}

async function requireGround(
  engine: Engine,
  journalId: string,
  lineage: number,
  head: RecoveryCheckpoint,
  witness: Witness,
): Promise<void> {
  const { ground } = witness;
  if (ground === undefined) return;
  const files = engine.journal.receipts(head.runId);
  const approval = ground.kind === 'approval' ? await files.approval(ground.digest) : null;
  const named = approval?.receipts ?? ('receipt' in ground && ground.receipt !== null ? [ground.receipt] : []);
  const receipts = new Map<string, ReceiptRecord | null>();
  for (const digest of named) receipts.set(digest, await files.receipt(digest));
  const fault = groundFault(
    witness,
    { journalId, lineage, head },
    {
      receipt: (digest) => receipts.get(digest) ?? null,
      approval: (): ApprovalRecord | null => approval,
    },
  );
  if (fault === null) return;
  throw new Refusal('journal_invalid', `the checkpoint after ${head.sequence} of lineage ${lineage}: ${fault}`);
}
