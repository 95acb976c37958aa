/**
 * The journal's layout over a `Store`. Invariant: nothing is ever overwritten or removed; a lineage folder holds checkpoint
 * files only; a checkpoint is appended after its witness.
 *
 *   journal.json
 *   <run>/plan.json
 *   <run>/lineage-0001/checkpoint-%020d.json
 *   <run>/witnesses/<checkpoint>/<witness>.json
 *   <run>/epochs/000001
 *   <run>/sends/<key>/0001, 0001.end
 *   <run>/receipts, resolutions, lineages; claims/    (`ReceiptFiles`)
 *   <run>/jobs/<job>/                                 (`JobFiles`)
 *   <run>/lifecycle/%020d.json                        (`RunFiles`)
 *   <session run>/events, rounds                      (`SessionFiles`)
 *   captures/<capture id>.json                       (`CaptureFiles`)
 */
import { RecoveryCheckpoint, checkpointFileName, sha256Hex, validateSuccessor } from '../rules/recovery';
import type { CreateOutcome, Store } from '../ports';
import { journalIdFromBytes } from '../rules/journal-record';
import { parseRecord } from '../rules/fields';
import { lineageName, type LineageRecord } from '../rules/receipts/lineage-record';
import { planFromRecord, planToRecord, type GovernedPlan } from '../rules/plans/plan';
import { contentJson } from '../rules/plans/content-json';
import { Refusal } from '../rules/refusal';
import { epochFromBytes, epochName, epochToText, type EpochRecord } from '../rules/sends/epoch';
import {
  attemptName,
  endFromBytes,
  endToText,
  parseAttemptName,
  slotFromBytes,
  slotToText,
  type SendEnd,
  type Slot,
  type SlotRecord,
} from '../rules/sends/slot';
import { deriveNext, witnessFromBytes, witnessToText, type Witness } from '../rules/sends/witness';
import { CaptureFiles } from './capture-files';
import { readChain } from './chain-files';
import { Entries, type Entry, type Owed } from './entries';
import { JobFiles } from './job-files';
import { ReceiptFiles } from './receipt-files';
import { retiredChain } from './retired-chain';
import { RunFiles } from './run-files';

export function lineageFolder(lineage: number): string {
  return `lineage-${lineageName(lineage)}`;
}

const hex = (digest: string): string => digest.slice(digest.indexOf(':') + 1);

const epochPath = (runId: string, epoch: number): string => `${runId}/epochs/${epochName(epoch)}`;

function checkpointEntry(runId: string, lineage: number, checkpoint: RecoveryCheckpoint): Entry {
  const path = `${runId}/${lineageFolder(lineage)}/${checkpointFileName(checkpoint.sequence)}`;
  return [path, RecoveryCheckpoint.toJson(checkpoint)];
}

function witnessEntry(runId: string, next: RecoveryCheckpoint, witness: Witness): Entry {
  const text = witnessToText(witness);
  return [`${runId}/witnesses/${hex(next.checkpointDigest)}/${sha256Hex(text)}.json`, text];
}

export function slotEntry(runId: string, key: string, attempt: number, record: SlotRecord): Entry {
  return [`${runId}/sends/${key}/${attemptName(attempt)}`, slotToText(record)];
}

/** A checkpoint to be appended, and what justifies it. */
export interface Extension {
  readonly runId: string;
  readonly lineage: number;
  readonly previous: RecoveryCheckpoint | null;
  readonly next: RecoveryCheckpoint;
  readonly witness: Witness | null;
}

export interface Appended {
  /** `conflict`: another driver has put another checkpoint there. */
  readonly checkpoint: CreateOutcome;
  /** Whether the slot that was to follow it is ours. */
  readonly slot: boolean;
}

/** Somebody else was first with the epoch that this execution was to begin with: nothing of ours stands after it. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

export class Journal {
  readonly entries: Entries;

  constructor(store: Store) {
    this.entries = new Entries(store);
  }

  /** What people said about one run. */
  receipts(runId: string): ReceiptFiles {
    return new ReceiptFiles(this.entries, runId);
  }

  /** One authorized launch. */
  job(runId: string, jobId: string): JobFiles {
    return new JobFiles(this.entries, runId, jobId);
  }

  /** The records of one verification run. */
  run(runId: string): RunFiles {
    return new RunFiles(this.entries, runId);
  }

  /** Which capture stands for what, in the whole journal. */
  get captures(): CaptureFiles {
    return new CaptureFiles(this.entries);
  }

  /** Of everything that stands at the top. */
  names(): Promise<readonly string[]> {
    return this.entries.list('');
  }

  /** The random id of this journal; refuses a folder that `journal init` never made. */
  async id(): Promise<string> {
    const id = await this.entries.read('journal.json', journalIdFromBytes);
    if (id !== null) return id;
    throw new Refusal('journal_missing', 'this store holds no journal; make one with "countersign journal init"');
  }

  plan(runId: string): Promise<GovernedPlan | null> {
    return this.entries.read(`${runId}/plan.json`, (bytes) => parseRecord(bytes, 'plan', planFromRecord));
  }

  async createPlan(plan: GovernedPlan): Promise<void> {
    const outcome = await this.entries.create(`${plan.runId}/plan.json`, contentJson(planToRecord(plan)));
    if (outcome === 'conflict') throw planConflict();
  }

  /** Reads and validates one lineage as the recovery contract demands; throws `RecoveryError`. */
  chain(runId: string, lineage: number): Promise<readonly RecoveryCheckpoint[]> {
    const folder = `${runId}/${lineageFolder(lineage)}`;
    return readChain(this.entries, folder, (record) => retiredChain(this, runId, lineage, record));
  }

  /** Every witness of the run that can be read, of whatever lineage. */
  async witnesses(runId: string): Promise<readonly Witness[]> {
    const found: Witness[] = [];
    for (const folder of await this.entries.list(`${runId}/witnesses`)) {
      const path = `${runId}/witnesses/${folder.replace(/\/$/, '')}`;
      for (const name of await this.entries.list(path)) {
        const bytes = await this.entries.bytes(`${path}/${name}`);
        const witness = bytes === null ? null : readable(() => witnessFromBytes(bytes));
        if (witness !== null) found.push(witness);
      }
    }
    return found;
  }

  lineageRecord(runId: string, lineage: number): Promise<LineageRecord | null> {
    return this.receipts(runId).lineage(lineage);
  }

  /** A stored witness that derives `next` from `previous`, or null when none does: then `next` is not justified. */
  async justification(runId: string, previous: RecoveryCheckpoint, next: RecoveryCheckpoint): Promise<Witness | null> {
    const folder = `${runId}/witnesses/${hex(next.checkpointDigest)}`;
    for (const name of await this.entries.list(folder)) {
      const bytes = await this.entries.bytes(`${folder}/${name}`);
      const witness = bytes === null ? null : readable(() => witnessFromBytes(bytes));
      if (witness !== null && derives(previous, next, witness)) return witness;
    }
    return null;
  }

  /**
   * One checkpoint after its witness, all that is owed before it, and the slot of its first send after it: each is there only
   * when those before it are.
   */
  async append(
    { runId, lineage, previous, next, witness }: Extension,
    owed: readonly Owed[] = [],
    slot: Entry | null = null,
  ): Promise<Appended> {
    validateSuccessor(previous, next, Number(next.sequence));
    const checkpoint = checkpointEntry(runId, lineage, next);
    const own = witness === null ? [checkpoint] : [witnessEntry(runId, next, witness), checkpoint];
    const outcomes = await this.writeOwed(owed, own, slot);
    return {
      checkpoint: outcomes[own.length - 1] ?? 'conflict',
      slot: slot !== null && (outcomes[own.length] ?? 'conflict') !== 'conflict',
    };
  }

  /** Writes what is owed, and then more; answers for the latter. Throws what an owed entry says when its name is taken otherwise. */
  async writeOwed(
    owed: readonly Owed[],
    more: readonly Entry[] = [],
    slot: Entry | null = null,
  ): Promise<readonly CreateOutcome[]> {
    const entries = [...owed.map(({ entry }) => entry), ...more];
    const outcomes = await (slot === null
      ? this.entries.createInOrder(entries)
      : this.entries.settleInOrder(entries, slot));
    for (const [index, { taken }] of owed.entries()) if (outcomes[index] === 'conflict') throw taken();
    return outcomes.slice(owed.length);
  }

  /** The first entries of a run, for a driver that found none of them: plan, first epoch, checkpoint 0. */
  opening(plan: GovernedPlan, epoch: EpochRecord, lineage: number, opening: RecoveryCheckpoint): readonly Owed[] {
    return [
      { entry: [`${plan.runId}/plan.json`, contentJson(planToRecord(plan))], taken: planConflict },
      {
        entry: [epochPath(plan.runId, epoch.epoch), epochToText(epoch)],
        taken: () => new Overtaken('another driver was first with this run'),
        written: 'epoch_taken',
      },
      { entry: checkpointEntry(plan.runId, lineage, opening), taken: planConflict, written: 'after_append' },
    ];
  }

  async epochs(runId: string): Promise<readonly EpochRecord[]> {
    const names = await this.entries.list(`${runId}/epochs`);
    return Promise.all(names.map((name) => this.entries.mustRead(`${runId}/epochs/${name}`, epochFromBytes)));
  }

  takeEpoch(runId: string, record: EpochRecord): Promise<CreateOutcome> {
    return this.entries.settle(epochPath(runId, record.epoch), epochToText(record));
  }

  async isLatestEpoch(runId: string, epoch: number): Promise<boolean> {
    return (await this.entries.bytes(epochPath(runId, epoch + 1))) === null;
  }

  /** Every key of the run that any driver ever took a slot for. */
  async keysWithSlots(runId: string): Promise<ReadonlySet<string>> {
    const names = await this.entries.list(`${runId}/sends`);
    return new Set(names.map((name) => name.replace(/\/$/, '')));
  }

  async slots(runId: string, key: string): Promise<readonly Slot[]> {
    const folder = `${runId}/sends/${key}`;
    const ends = new Map<number, SendEnd>();
    const records = new Map<number, SlotRecord>();
    for (const name of await this.entries.list(folder)) {
      const attempt = parseAttemptName(name);
      if (attempt === null) throw new Refusal('journal_invalid', 'holds an entry that is no slot', `sends/${key}`);
      const path = `${folder}/${name}`;
      if (attempt.end) ends.set(attempt.attempt, await this.entries.mustRead(path, endFromBytes));
      else records.set(attempt.attempt, await this.entries.mustRead(path, slotFromBytes));
    }
    return [...records].map(([attempt, record]) => ({ attempt, record, end: ends.get(attempt) ?? null }));
  }

  /** True when this very call, or an unclear earlier one of the same owner, created the slot. It comes behind what is owed. */
  async takeSlot(
    runId: string,
    key: string,
    attempt: number,
    record: SlotRecord,
    owed: readonly Owed[] = [],
  ): Promise<boolean> {
    const [taken = 'conflict'] = await this.writeOwed(owed, [], slotEntry(runId, key, attempt, record));
    return taken !== 'conflict';
  }

  /** What a slot ended with. */
  slotEnd(runId: string, key: string, attempt: number, end: SendEnd): Owed {
    const slot = `sends/${key}/${attemptName(attempt)}`;
    return {
      entry: [`${runId}/${slot}.end`, endToText(end)],
      taken: () => new Refusal('journal_invalid', 'this slot already has another end', slot),
      written: 'ended',
    };
  }
}

export function planConflict(): Refusal {
  return new Refusal(
    'plan_conflict',
    'this run is already known under another plan; use another name or run_id for other effects',
    'plan_digest',
  );
}

function derives(previous: RecoveryCheckpoint, next: RecoveryCheckpoint, witness: Witness): boolean {
  return readable(() => deriveNext(previous, witness).checkpoint.checkpointDigest) === next.checkpointDigest;
}

/** Unreadable is as good as not there: it can justify nothing. */
function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
