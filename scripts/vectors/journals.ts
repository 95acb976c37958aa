/**
 * journals/index.json: one folder each, laid out, loaded and appended to with real files; and checkpoints around the size
 * limit of a journal. Rows for an unprivileged user run as one, in a process of their own when this one is the superuser.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { CheckpointJournal } from '../../src/adapters/stores';
import { EffectRecord, RecoveryCheckpoint, sha256Hex } from '../../src/rules/recovery';
import { answer, type JournalAnswer, names } from './journal-answer';
import { type JournalRow, layOut, withWorkFolder } from './journal-folders';
import { compare, readVectors, textOf, type Answer, type RowResult } from './row';
import { isSuperuser } from './unprivileged';

const FILE = 'journals/index.json';

interface LargeAppend {
  readonly label: string;
  readonly results: readonly {
    readonly effects: number;
    readonly size: number;
    readonly digest: string;
    readonly ok: boolean;
    readonly error?: string;
  }[];
}

interface Journals {
  readonly journals: readonly JournalRow[];
  readonly large_append?: LargeAppend;
}

export async function* run(folder: string): AsyncGenerator<RowResult> {
  const { journals, large_append: large } = readVectors<Journals>(folder, FILE);
  for (const row of journals) yield await runJournal(row, folder);
  for (const result of large?.results ?? []) yield await runLarge((large as LargeAppend).label, result);
}

function runJournal(row: JournalRow, vectors: string): Promise<RowResult> {
  const wanted: Answer = {
    load: spell(row.expect),
    untouched: true,
    appends: spell(row.append_expect ?? []),
    files: spell(row.files_after ?? {}),
  };
  return withWorkFolder(async (work) => {
    let found: Answer;
    try {
      const question = { directory: layOut(row, vectors, work), ...(row.appends ? { appends: row.appends } : {}) };
      const real = row.non_root === true && isSuperuser() ? unprivileged(question) : await answer(question);
      found = {
        load: spell(real.load),
        untouched: real.untouched,
        appends: spell(real.appends),
        files: spell(likeExpected(real.files, row.files_after ?? {})),
      };
    } catch (fault) {
      found = { error: textOf(fault) };
    }
    return compare(FILE, row, wanted, found);
  });
}

function unprivileged(question: object): JournalAnswer {
  const program = path.join(__dirname, 'journal-answer.ts');
  const args = ['--require', require.resolve('tsx/cjs'), program, JSON.stringify(question)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as JournalAnswer;
}

/** Modes are expected only of files that an append created. */
function likeExpected(files: JournalAnswer['files'], expected: NonNullable<JournalRow['files_after']>): object {
  const entries = Object.entries(files).map(([name, { sha256, size, mode }]) => [
    name,
    { sha256, size, ...(expected[name]?.mode === undefined ? {} : { mode }) },
  ]);
  return Object.fromEntries(entries) as object;
}

function runLarge(label: string, { effects, ...expected }: LargeAppend['results'][number]): Promise<RowResult> {
  const row = { id: `large-append-${effects}`, tags: ['append', 'large'] };
  return withWorkFolder(async (work) => {
    const journal = new CheckpointJournal(path.join(work, 'journal'));
    const checkpoint = bulkCheckpoint(label, effects);
    const result = { size: RecoveryCheckpoint.toJson(checkpoint).length, digest: checkpoint.checkpointDigest };
    try {
      await journal.append(checkpoint);
      return compare(FILE, row, { answer: spell(expected) }, { answer: spell({ ...result, ok: true }) });
    } catch (fault) {
      const left = names(journal.directory);
      const found = { ...result, ok: false, error: left?.length === 0 ? textOf(fault) : `files left: ${String(left)}` };
      return compare(FILE, row, { answer: spell(expected) }, { answer: spell(found) });
    }
  });
}

/** The checkpoint that `large_append.about` describes. */
function bulkCheckpoint(label: string, count: number): RecoveryCheckpoint {
  const hash = (what: string): string => sha256Hex(Buffer.from(`${label}/${what}`));
  const runId = `run_${hash('run').slice(0, 32)}`;
  return RecoveryCheckpoint.create({
    workflowId: 'workflow:org.example/bulk@1.0.0',
    runId,
    sequence: 0n,
    phase: 'planned',
    planDigest: `sha256:${hash('plan')}`,
    effects: Array.from({ length: count }, (_, index) =>
      EffectRecord.create({
        runId,
        ordinal: BigInt(index),
        actionId: `act_${hash(`action/${index}`).slice(0, 32)}`,
        toolId: 'tool:org.example/bulk@1.0.0',
        kind: 'local_tool',
        operationDigest: `sha256:${hash(`operation/${index}`)}`,
        approvalRequired: false,
        compensationLimit: 'none',
      }),
    ),
  });
}

/** Text that does not depend on the order of fields. */
function spell(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  );
}
