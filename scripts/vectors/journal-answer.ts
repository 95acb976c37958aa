/**
 * What a journal folder answers: its load, each append, and the files afterwards, spelled as the vectors spell them.
 *
 * Run as a program, it gives up the superuser's rights first, and prints the answer as JSON.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { CheckpointJournal, type JournalContent } from '../../src/adapters/stores';
import { JOURNAL_LOCK_NAME, RecoveryCheckpoint, type RetiredJournalRecord } from '../../src/rules/recovery';
import { textOf } from './row';
import { becomeUnprivileged } from './unprivileged';

export interface Question {
  readonly directory: string;
  readonly appends?: readonly string[];
}

export interface JournalAnswer {
  readonly load: unknown;
  /** A load alone neither adds nor removes anything in a folder that was there. */
  readonly untouched: boolean;
  readonly appends: readonly unknown[];
  readonly files: Readonly<Record<string, { readonly sha256: string; readonly size: number; readonly mode: string }>>;
}

export async function answer({ directory, appends = [] }: Question): Promise<JournalAnswer> {
  const journal = new CheckpointJournal(directory);
  const before = names(directory);
  const load = await settle(async () => describe(await journal.load()));
  const untouched = before === null || String(before) === String(names(directory));
  const outcomes: unknown[] = [];
  for (const text of appends) {
    const known = new Set(names(directory));
    outcomes.push(
      await settle(async () => {
        await journal.append(RecoveryCheckpoint.fromJson(text));
        return { new_files: (names(directory) ?? []).filter((name) => !known.has(name)) };
      }),
    );
  }
  return { load, untouched, appends: outcomes, files: appends.length > 0 ? filesOf(directory) : {} };
}

export function names(directory: string): readonly string[] | null {
  try {
    return fs
      .readdirSync(directory)
      .filter((name) => name !== JOURNAL_LOCK_NAME)
      .sort();
  } catch {
    return null;
  }
}

function describe(content: JournalContent): object {
  if (isRecord(content)) {
    return {
      retired: true,
      record_digest: content.recordDigest,
      final_checkpoint_digest: content.finalCheckpointDigest,
      phase: content.phase,
      checkpoints: Number(content.checkpointCount),
    };
  }
  const head = content.at(-1);
  return {
    checkpoints: content.length,
    head_digest: head?.checkpointDigest ?? null,
    head_phase: head?.phase ?? null,
  };
}

function isRecord(content: JournalContent): content is RetiredJournalRecord {
  return !Array.isArray(content);
}

async function settle(step: () => Promise<object>): Promise<object> {
  try {
    return { ok: true, ...(await step()) };
  } catch (fault) {
    return { ok: false, error: textOf(fault) };
  }
}

function filesOf(directory: string): JournalAnswer['files'] {
  const files: Record<string, { sha256: string; size: number; mode: string }> = {};
  for (const name of names(directory) ?? []) {
    const file = path.join(directory, name);
    const stat = fs.lstatSync(file);
    if (!stat.isFile()) continue;
    const sha256 = `sha256:${createHash('sha256').update(fs.readFileSync(file)).digest('hex')}`;
    files[name] = { sha256, size: stat.size, mode: `0${(stat.mode & 0o7777).toString(8)}` };
  }
  return files;
}

if (require.main === module) {
  becomeUnprivileged();
  void answer(JSON.parse(process.argv[2] as string) as Question).then((found) => console.log(JSON.stringify(found)));
}
