/**
 * retired.json, the plans: a lineage laid down, aged, planned, and retired when the plan allows it.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { CheckpointJournal } from '../../src/adapters/stores';
import {
  JournalRetentionPolicy,
  JournalRetirementPlan,
  RecoveryCheckpoint,
  RetiredJournalRecord,
} from '../../src/rules/recovery';
import { names } from './journal-answer';
import { withWorkFolder } from './journal-folders';
import { compare, readVectors, textOf, type Answer, type RowHead, type RowResult } from './row';

const FILE = 'retired.json';

interface PlanRow extends RowHead {
  readonly checkpoints: readonly string[];
  readonly terminal_mtime_ns: string;
  readonly minimum_age_seconds: string;
  readonly now: string;
  readonly plan: 'eligible' | null;
  readonly record?: string;
  readonly retired?: boolean;
  readonly entries_after?: readonly string[];
  readonly retired_json?: string;
}

export async function* run(folder: string): AsyncGenerator<RowResult> {
  for (const row of readVectors<{ plans: readonly PlanRow[] }>(folder, FILE).plans) {
    const { plan, record, retired, retired_json: json, entries_after: entries } = row;
    // The lock file of the reference is optional, and not made here.
    const wanted = { plan, record, retired, json, entries: entries?.filter((name) => name !== '.journal-lock').join() };
    yield await withWorkFolder(async (work) => {
      let found: Answer;
      try {
        found = await planAndRetire(row, path.join(work, 'journal'));
      } catch (fault) {
        found = { error: textOf(fault) };
      }
      return compare(FILE, row, wanted, found);
    });
  }
}

async function planAndRetire(row: PlanRow, directory: string): Promise<Answer> {
  const journal = new CheckpointJournal(directory);
  await journal.load();
  for (const text of row.checkpoints) await journal.append(RecoveryCheckpoint.fromJson(text));
  const laidDown = names(directory) ?? [];
  if (laidDown.length > 0) setModified(path.join(directory, laidDown.at(-1) as string), BigInt(row.terminal_mtime_ns));

  const policy = JournalRetentionPolicy.create({ minimumAgeSeconds: BigInt(row.minimum_age_seconds) });
  const now = BigInt(row.now);
  const plan = await journal.planRetirement({ policy, now });
  if (String(names(directory)) !== String(laidDown)) throw new Error('planning changed the folder');
  if (plan === null) return { plan };

  await journal.retire({ plan, confirmation: JournalRetirementPlan.confirmationToken(plan), now });
  const after = await journal.load();
  return {
    plan: 'eligible',
    record: RetiredJournalRecord.toJson(plan.record),
    retired: !Array.isArray(after),
    json: fs.readFileSync(path.join(directory, 'retired.json'), 'utf8'),
    entries: String(names(directory)),
  };
}

/** To the nanosecond, which a number of seconds cannot say. */
function setModified(file: string, nanoseconds: bigint): void {
  const [seconds, rest] = [nanoseconds / 1_000_000_000n, nanoseconds % 1_000_000_000n];
  if (rest === 0n) fs.utimesSync(file, Number(seconds), Number(seconds));
  else {
    const time = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
    execFileSync('touch', ['-m', '-d', `${time}.${String(rest).padStart(9, '0')}Z`, file]);
  }
  if (fs.lstatSync(file, { bigint: true }).mtimeNs !== nanoseconds) {
    throw new Error('this filesystem does not keep the time of a change to the nanosecond');
  }
}
