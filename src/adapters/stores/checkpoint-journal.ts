/**
 * One lineage of checkpoints in one folder, shared with the reference library file by file.
 *
 * Invariant: a place in the lineage is taken once, by whoever links its file first, and it is durable when `append`
 * returns. No lock is taken (Node has none), because each race ends well without:
 * - append and append: the no-clobber link decides; the loser loads again and answers `identical` or a conflict.
 * - append and retirement: only a terminal lineage retires, and nothing may follow a terminal checkpoint, so a valid
 *   append aims at a name that the retiring lineage held. Its link succeeds only after that file was deleted, which is
 *   after `retired.json` appeared; so an append looks for that record after its link, and takes its file back.
 * - load and retirement: deletion starts after `retired.json` appeared; a load that fails or lists while it appears is
 *   repeated, and then finds the record.
 * A process of the reference library that appends, under its lock, exactly while a process without locks retires, may
 * leave one stale checkpoint beside `retired.json`; every reader ignores it.
 */
import { lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import {
  appendOutcome,
  checkpointFileName,
  deriveJournalBinding,
  type JournalRetentionPolicy,
  JournalRetentionPolicy as RetentionPolicy,
  type JournalRetirementPlan,
  planRetirement,
  readCheckpointFolder,
  type RecoveryCheckpoint,
  RecoveryCheckpoint as Checkpoint,
  RecoveryError,
  requireConfirmedRetirement,
  RETIRED_FILE_NAME,
  RetiredJournalRecord,
  TEMPORARY_PREFIX,
} from '../../rules/recovery';
import { checkpointFolderView, type LoadStep } from './checkpoint-folder-view';
import { errnoOf } from './file-fault';
import { FolderSync } from './folder-sync';
import { checkJournalFolder, makeJournalFolder, refuseJournal } from './journal-folder';
import { publishFile, type PublishStep, removeQuietly } from './publish-file';

/** Hooks of tests; nothing that a caller needs. */
export interface CheckpointJournalOptions {
  /** @internal Called between the system calls of a load and of a write. */
  readonly onStep?: (step: LoadStep | 'loaded' | PublishStep | 'cleaned') => void;
}

/** What a folder of checkpoints held when it was read. */
export type JournalContent = readonly RecoveryCheckpoint[] | RetiredJournalRecord;

interface JournalState {
  readonly content: JournalContent;
  readonly terminalMtimeNs: bigint;
}

/** Each repetition means that another process made progress meanwhile. */
const ATTEMPTS = 16;

/** One chain of checkpoints in a folder: appended to and read under the rules of the recovery contract. Throws a `RecoveryError`. */
export class CheckpointJournal {
  readonly directory: string;
  readonly #syncs = new FolderSync();
  readonly #onStep: CheckpointJournalOptions['onStep'];
  #made = false;

  constructor(directory: string, options: CheckpointJournalOptions = {}) {
    this.directory = path.resolve(directory);
    this.#onStep = options.onStep;
  }

  /** The whole validated lineage, or the record that replaced it. Makes the folder when it does not exist yet. */
  async load(): Promise<JournalContent> {
    if (!this.#made) await makeJournalFolder(this.directory, this.#syncs);
    this.#made = true; // one that vanishes later is unavailable, not empty
    checkJournalFolder(this.directory);
    const view = checkpointFolderView(this.directory, this.#onStep);
    for (let attempt = 1; ; attempt += 1) {
      const before = this.#listing();
      try {
        return await readCheckpointFolder(view);
      } catch (error) {
        // A folder that did not change while it was read is really as it was found.
        if (attempt === ATTEMPTS || this.#listing() === before) throw error;
      }
    }
  }

  /** Adds a checkpoint after the head. To repeat the very same append is no fault. */
  async append(checkpoint: RecoveryCheckpoint): Promise<'created' | 'identical'> {
    for (let attempt = 1; ; attempt += 1) {
      const lineage = await this.load();
      if (!isLineage(lineage)) return refuseJournal('journal_retired');
      const outcome = appendOutcome(lineage, checkpoint);
      this.#onStep?.('loaded');
      try {
        if (outcome.outcome === 'identical') {
          await this.#syncs.sync(this.directory); // who linked it may have died before this
          return 'identical';
        }
        const target = path.join(this.directory, outcome.name);
        if ((await this.#publish(target, outcome.text)) === 'linked') {
          if (!this.#isRetired()) return 'created';
          removeQuietly(target);
          return refuseJournal('journal_retired');
        }
      } catch (cause) {
        if (cause instanceof RecoveryError) throw cause;
        throw new RecoveryError('checkpoint_write_failed', 'checkpoint', { cause });
      }
      if (attempt === ATTEMPTS) throw new RecoveryError('checkpoint_write_failed', 'checkpoint');
    }
  }

  /** The plan to retire this journal, to be shown and confirmed; `null` when it may not be retired (yet). */
  async planRetirement(input: {
    readonly policy: JournalRetentionPolicy;
    readonly now: bigint;
  }): Promise<JournalRetirementPlan | null> {
    return this.#plan(await this.#state(), input);
  }

  /** Replaces the checkpoints by their record. Repeating it finishes a retirement that was interrupted. */
  async retire(input: {
    readonly plan: JournalRetirementPlan;
    readonly confirmation: string;
    readonly now: bigint;
  }): Promise<RetiredJournalRecord> {
    const { plan } = input;
    requireConfirmedRetirement({ ...input, current: plan }); // what needs no look at the journal
    const state = await this.#state();
    requireConfirmedRetirement({ ...input, current: this.#current(state, plan, input.now) });
    try {
      if (isLineage(state.content)) await this.#writeRecord(plan.record);
      await this.#syncs.sync(this.directory); // the record is durable before the first checkpoint goes
      this.#deleteCheckpoints(plan.checkpointDigests);
      await this.#syncs.sync(this.directory);
    } catch (cause) {
      if (cause instanceof RecoveryError) throw cause;
      refuseJournal('retirement_io_failed', cause);
    }
    return plan.record;
  }

  /** Of a retirement that was cut short: deletes what is left of the checkpoints with these digests, in their order. */
  async finishRetirement(digests: readonly string[]): Promise<void> {
    if (isLineage(await this.load())) throw new RecoveryError('retirement_plan_stale', 'plan');
    this.#deleteCheckpoints(digests);
    await this.#syncs.sync(this.directory);
  }

  /** What the folder holds, and when its last file was written. */
  async #state(): Promise<JournalState> {
    for (;;) {
      const content = await this.load();
      if (!isLineage(content) || content.length === 0) return { content, terminalMtimeNs: 0n };
      const last = path.join(this.directory, checkpointFileName(BigInt(content.length - 1)));
      const file = lstatSync(last, { bigint: true, throwIfNoEntry: false });
      if (file !== undefined) return { content, terminalMtimeNs: file.mtimeNs };
      // Another process has just retired the journal: the next load finds the record.
    }
  }

  #plan(
    { content, terminalMtimeNs }: JournalState,
    { policy, now }: { readonly policy: JournalRetentionPolicy; readonly now: bigint },
  ): JournalRetirementPlan | null {
    const { dev, ino } = lstatSync(this.directory, { bigint: true });
    const journalBinding = deriveJournalBinding({ device: dev, inode: ino });
    return planRetirement({ lineage: isLineage(content) ? content : [], terminalMtimeNs, journalBinding, now, policy });
  }

  /** The plan as it would be made now. A journal that this very plan retired still agrees with it. */
  #current(state: JournalState, plan: JournalRetirementPlan, now: bigint): JournalRetirementPlan | null {
    if (!isLineage(state.content)) return state.content.recordDigest === plan.record.recordDigest ? plan : null;
    return this.#plan(state, { policy: RetentionPolicy.create({ minimumAgeSeconds: plan.minimumAgeSeconds }), now });
  }

  async #writeRecord(record: RetiredJournalRecord): Promise<void> {
    const target = path.join(this.directory, RETIRED_FILE_NAME);
    if ((await this.#publish(target, RetiredJournalRecord.toJson(record))) === 'linked') return;
    const other = await this.load(); // another process retires at the same time
    if (isLineage(other) || other.recordDigest !== record.recordDigest) {
      throw new RecoveryError('retirement_plan_stale', 'plan');
    }
  }

  /** Deletes only checkpoints that the plan lists: a file that came since stays, ignored, beside the record. */
  #deleteCheckpoints(digests: readonly string[]): void {
    const view = checkpointFolderView(this.directory);
    for (const [index, digest] of digests.entries()) {
      const name = checkpointFileName(BigInt(index));
      try {
        if (view.entryKind(name) !== 'file' || digestIn(view.read(name)) !== digest) continue;
        unlinkSync(path.join(this.directory, name));
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error; // deleted already
      }
      this.#onStep?.('cleaned');
    }
  }

  #publish(target: string, text: string): Promise<'linked' | 'exists'> {
    return publishFile({
      temporary: path.join(this.directory, `${TEMPORARY_PREFIX}${randomBytes(8).toString('hex')}`),
      target,
      bytes: Buffer.from(text),
      syncFolder: () => this.#syncs.sync(this.directory),
      onStep: this.#onStep,
    });
  }

  #isRetired(): boolean {
    return lstatSync(path.join(this.directory, RETIRED_FILE_NAME), { throwIfNoEntry: false }) !== undefined;
  }

  #listing(): string {
    try {
      return readdirSync(this.directory).sort().join('/');
    } catch {
      return '';
    }
  }
}

function isLineage(content: JournalContent): content is readonly RecoveryCheckpoint[] {
  return Array.isArray(content);
}

function digestIn(bytes: Uint8Array): string | null {
  try {
    return Checkpoint.fromJson(bytes).checkpointDigest;
  } catch {
    return null; // not a checkpoint, so not one that the plan lists
  }
}
