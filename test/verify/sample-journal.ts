/**
 * A good journal to damage: two effects, sent in one epoch, taken over and ended in the next, written by the engine's own
 * journal. Checkpoints: 0 planned, 1 dispatching, 2 dispatching, 3 completed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Journal } from '../../src/activities/journal';
import type { CreateOutcome, Store } from '../../src/ports';
import { journalToText } from '../../src/rules/journal-record';
import { draftFromJson, planFromDraft } from '../../src/rules/plans/draft';
import { openingCheckpoint, type GovernedPlan } from '../../src/rules/plans/plan';
import { sha256Digest, type RecoveryCheckpoint } from '../../src/rules/recovery';
import { commitEvidenceDigest } from '../../src/rules/sends/evidence';
import type { SendEnd, SlotRecord } from '../../src/rules/sends/slot';
import { deriveNext, type ProvenObservation, type Witness } from '../../src/rules/sends/witness';

export interface SampleJournal {
  readonly plan: GovernedPlan;
  readonly run: string;
  readonly keys: readonly [string, string];
  readonly chain: readonly RecoveryCheckpoint[];
  readonly witnesses: readonly Witness[];
  readonly files: ReadonlyMap<string, Buffer>;
}

const owner = (digit: number): string => `own_${String(digit).repeat(32)}`;

class MapStore implements Store {
  readonly scope = 'shared';
  constructor(readonly files: Map<string, Buffer>) {}

  create(name: string, bytes: Uint8Array): Promise<CreateOutcome> {
    const before = this.files.get(name);
    if (before === undefined) this.files.set(name, Buffer.from(bytes));
    return Promise.resolve(before === undefined ? 'created' : before.equals(bytes) ? 'identical' : 'conflict');
  }
  read(name: string): Promise<Uint8Array | null> {
    return Promise.resolve(this.files.get(name) ?? null);
  }
  list(): Promise<readonly string[]> {
    throw new Error('not needed to write a journal');
  }
}

export async function sampleJournal(name = 'sample'): Promise<SampleJournal> {
  const { plan } = planFromDraft(
    draftFromJson({
      workflow_id: 'workflow:example.org/sample@1.0.0',
      name,
      effects: ['a', 'b'].map((id) => ({
        id,
        tool_id: `tool:example.org/${id}@1.0.0`,
        kind: 'local_tool',
        operation: { id },
      })),
    }),
    'ab'.repeat(32),
  );
  const files = new Map<string, Buffer>([['journal.json', Buffer.from(journalToText('0'.repeat(32)))]]);
  const journal = new Journal(new MapStore(files));
  const run = plan.runId;
  const chain = [openingCheckpoint(plan)];
  const witnesses: Witness[] = [];
  const [first, second] = chain[0]!.effects as [RecoveryCheckpoint['effects'][0], RecoveryCheckpoint['effects'][0]];
  const evidence = [first, second].map((effect, index) =>
    commitEvidenceDigest({ ...effect, externalId: `ext-${index}` }),
  );

  const advance = async (observations: readonly ProvenObservation[]): Promise<void> => {
    const draft = { step: 'advance', now: 1_000 + chain.length, observations, refusal: null } as const;
    const head = chain.at(-1) as RecoveryCheckpoint;
    const { checkpoint } = deriveNext(head, draft);
    const witness = { ...draft, checkpointDigest: checkpoint.checkpointDigest };
    await journal.append({ runId: run, lineage: 1, previous: head, next: checkpoint, witness });
    chain.push(checkpoint);
    witnesses.push(witness);
  };
  const slot = (epoch: number, state: SlotRecord['state']): SlotRecord => {
    const { sequence, checkpointDigest } = chain.at(-1) as RecoveryCheckpoint;
    const head = { lineage: 1, sequence: Number(sequence), digest: checkpointDigest };
    const times = state === 'closed' ? { deadlineMs: 0, settleMs: 0 } : { deadlineMs: 1_000, settleMs: 2_000 };
    return { state, owner: owner(epoch), epoch, head, openedAt: 2_000, ...times };
  };
  const end = (epoch: number, outcome: SendEnd['outcome'], externalId: string | null): SendEnd => ({
    owner: owner(epoch),
    outcome,
    code: null,
    externalId,
    resultDigest: null,
    retryAfterMs: null,
  });
  const epoch = (number: number): Promise<CreateOutcome> =>
    journal.takeEpoch(run, {
      epoch: number,
      owner: owner(number),
      driver: sha256Digest(`${number}`),
      lineage: 1,
      scheduledAt: 1,
    });

  await journal.createPlan(plan);
  await epoch(1);
  await journal.append({ runId: run, lineage: 1, previous: null, next: chain[0]!, witness: null });
  await advance([
    { state: 'absent', proof: 'looked_up' },
    { state: 'absent', proof: 'never_begun' },
  ]);
  await journal.takeSlot(run, first.idempotencyKey, 1, slot(1, 'begun'));
  await journal.writeOwed([journal.slotEnd(run, first.idempotencyKey, 1, end(1, 'acked', 'ext-0'))]);
  await journal.takeSlot(run, second.idempotencyKey, 1, slot(1, 'begun'));
  await journal.writeOwed([journal.slotEnd(run, second.idempotencyKey, 1, end(1, 'not_sent', null))]);
  await epoch(2);
  await journal.takeSlot(run, first.idempotencyKey, 2, slot(2, 'closed'));
  await journal.takeSlot(run, second.idempotencyKey, 2, slot(2, 'closed'));
  await advance([
    { state: 'committed', proof: 'looked_up', evidence: evidence[0]! },
    { state: 'absent', proof: 'not_sent' },
  ]);
  await journal.takeSlot(run, second.idempotencyKey, 3, slot(2, 'begun'));
  await journal.writeOwed([journal.slotEnd(run, second.idempotencyKey, 3, end(2, 'acked', 'ext-1'))]);
  await advance([
    { state: 'committed', proof: 'looked_up', evidence: evidence[0]! },
    { state: 'committed', proof: 'acked', evidence: evidence[1]! },
  ]);
  return { plan, run, keys: [first.idempotencyKey, second.idempotencyKey], chain, witnesses, files };
}

export function writeFiles(folder: string, files: ReadonlyMap<string, Uint8Array>): void {
  for (const [name, bytes] of files) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
}
