/**
 * Properties:
 * - every row of the shipped journal and retirement vectors is answered exactly
 * - a lock file, a checkpoint or a record that is not what it should be is refused with the code of the contract
 * - folders are made 0700 and files 0600; nothing else appears in the folder
 * - a failed append leaves no checkpoint and can be repeated
 * - retirement deletes nothing without the exact confirmation of a plan that still describes the journal
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { run as runJournals } from '../../../scripts/vectors/journals';
import { run as runPlans } from '../../../scripts/vectors/retired-plans';
import { CheckpointJournal, checkpointFolderView } from '../../../src/adapters/stores';
import { PUBLISH_STEPS } from '../../../src/adapters/stores/publish-file';
import {
  JournalRetentionPolicy,
  JournalRetirementPlan,
  readCheckpointFolder,
  type RecoveryCheckpoint,
} from '../../../src/rules/recovery';
import { FINISHED, lineage, successor } from './lineages';
import { tree, workFolder } from './work-folder';

const VECTORS = path.join(__dirname, '../../vectors');
const NOW = 4_000_000_000n;
const policy = JournalRetentionPolicy.create({ minimumAgeSeconds: 0n });

async function written(
  phases = FINISHED,
  label = 'a',
): Promise<{ journal: CheckpointJournal; all: RecoveryCheckpoint[] }> {
  const journal = new CheckpointJournal(path.join(workFolder(), 'journal'));
  const all = lineage(label, phases);
  for (const checkpoint of all) expect(await journal.append(checkpoint)).toBe('created');
  return { journal, all };
}

async function planOf(journal: CheckpointJournal): Promise<JournalRetirementPlan> {
  const plan = await journal.planRetirement({ policy, now: NOW });
  if (plan === null) throw new Error('the journal should be ready to retire');
  return plan;
}

const confirmed = (
  plan: JournalRetirementPlan,
): { plan: JournalRetirementPlan; confirmation: string; now: bigint } => ({
  plan,
  confirmation: JournalRetirementPlan.confirmationToken(plan),
  now: NOW,
});

describe('vectors', () => {
  test.each([
    ['journals', runJournals, 85],
    ['plans', runPlans, 14],
  ])('%s', async (_name, run, rows) => {
    const results = [];
    for await (const result of run(VECTORS)) results.push(result);
    expect(results.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
    expect(results).toHaveLength(rows);
  });
});

describe('load', () => {
  const oddities: Record<string, [string, (file: string) => unknown, string]> = {
    'a lock that is a folder': ['.journal-lock', (file) => fs.mkdirSync(file), 'journal_lock_failed'],
    'a lock that is a FIFO': ['.journal-lock', (file) => execFileSync('mkfifo', [file]), 'unsafe_journal_lock'],
    'a lock that is a dangling link': ['.journal-lock', (file) => fs.symlinkSync('no', file), 'journal_lock_failed'],
    'a lock that is a socket': ['.journal-lock', listen, 'journal_lock_failed'],
    'a checkpoint that is a FIFO': [
      'checkpoint-00000000000000000003.json',
      (file) => execFileSync('mkfifo', [file]),
      'unsafe_checkpoint_file',
    ],
    'a record that is a folder': ['retired.json', (file) => fs.mkdirSync(file), 'unsafe_retired_file'],
    'a record that is a FIFO': ['retired.json', (file) => execFileSync('mkfifo', [file]), 'unsafe_retired_file'],
  };
  test.each(Object.keys(oddities))('%s', async (name) => {
    const { journal } = await written();
    const [file, plant, code] = oddities[name] as (typeof oddities)[string];
    const closing = await plant(path.join(journal.directory, file));
    await expect(journal.load()).rejects.toThrow(`journal: ${code}`);
    if (closing instanceof net.Server) await new Promise((resolve) => closing.close(resolve));
  });

  test.each([0o022, 0o077, 0o777])('what is made is private under umask %o', async (mask) => {
    const journal = new CheckpointJournal(path.join(workFolder(), 'deep/er/journal'));
    const before = process.umask(mask);
    try {
      expect(await journal.load()).toEqual([]);
      await journal.append(successor('a', null, 'planned'));
    } finally {
      process.umask(before);
    }
    const top = path.dirname(path.dirname(path.dirname(journal.directory)));
    expect(tree(top)).toEqual(
      [
        '700 deep',
        '700 deep/er',
        '700 deep/er/journal',
        '600 deep/er/journal/checkpoint-00000000000000000000.json',
      ].sort(),
    );
  });

  test('a folder that vanishes is unavailable, not empty', async () => {
    const { journal } = await written();
    fs.rmSync(journal.directory, { recursive: true });
    await expect(journal.load()).rejects.toThrow('journal: journal_unavailable');
    expect(fs.existsSync(journal.directory)).toBe(false);
  });

  test('a listing during which the record appears is never taken for the lineage', async () => {
    const { journal } = await written();
    const record = path.join(journal.directory, 'retired.json');
    const view = checkpointFolderView(journal.directory, (step) => step === 'listed' && fs.writeFileSync(record, '{}'));
    expect(view.names()).toEqual(['retired.json']);
  });

  test('a view alone reads a journal that cannot be written', async () => {
    const { journal, all } = await written();
    fs.chmodSync(journal.directory, 0o555);
    expect(await readCheckpointFolder(checkpointFolderView(journal.directory))).toEqual(all);
    fs.chmodSync(journal.directory, 0o700);
  });
});

describe('append', () => {
  test.each(PUBLISH_STEPS)('a failure when "%s" leaves nothing half done', async (at) => {
    const folder = path.join(workFolder(), 'journal');
    const broken = new CheckpointJournal(folder, {
      onStep: (step) => {
        if (step === at) throw Object.assign(new Error('EIO'), { code: 'EIO' });
      },
    });
    const [first] = lineage('a', ['planned']) as [RecoveryCheckpoint];
    await expect(broken.append(first)).rejects.toThrow('checkpoint: checkpoint_write_failed');
    const journal = new CheckpointJournal(folder);
    const visible = PUBLISH_STEPS.indexOf(at) >= PUBLISH_STEPS.indexOf('linked');
    expect(await journal.append(first)).toBe(visible ? 'identical' : 'created');
    expect(fs.readdirSync(folder)).toEqual(['checkpoint-00000000000000000000.json']);
  });
});

describe('retirement', () => {
  test('needs the exact confirmation, a clock that goes forward, and a plan that still fits', async () => {
    const { journal } = await written();
    const plan = await planOf(journal);
    const before = tree(journal.directory);
    const refuse = async (input: object, text: string): Promise<void> => {
      await expect(journal.retire({ ...confirmed(plan), ...input })).rejects.toThrow(text);
      expect(tree(journal.directory)).toEqual(before);
    };
    await refuse({ confirmation: 'yes' }, 'plan: confirmation_required');
    await refuse({ now: NOW - 1n }, 'now: clock_moved_backwards');
    await refuse({ plan: { ...plan } }, 'plan: invalid_retirement_plan');
    await refuse({ plan: null }, 'plan: invalid_retirement_plan');

    const other = await written(FINISHED, 'a');
    await expect(other.journal.retire(confirmed(plan))).rejects.toThrow('plan: retirement_plan_stale');
    const last = path.join(journal.directory, 'checkpoint-00000000000000000002.json');
    fs.utimesSync(last, 1, 1);
    await refuse({}, 'plan: retirement_plan_stale');
  });

  test('is not planned for a run that is not finished, not all committed, or not old enough', async () => {
    for (const phases of [[], ['planned'], ['planned', 'reconciling'], ['planned', 'aborted']] as const) {
      expect(await (await written([...phases])).journal.planRetirement({ policy, now: NOW })).toBeNull();
    }
    const { journal } = await written();
    expect(await journal.planRetirement({ policy, now: 0n })).toBeNull();
    await expect(journal.planRetirement({ policy, now: -1n })).rejects.toThrow('now: invalid_non_negative_integer');
  });

  test('leaves only the record, and repeating it finishes what was interrupted', async () => {
    const { journal, all } = await written();
    const copy = path.join(workFolder(), 'copy');
    fs.cpSync(journal.directory, copy, { recursive: true });
    const plan = await planOf(journal);
    const record = await journal.retire(confirmed(plan));
    expect(fs.readdirSync(journal.directory)).toEqual(['retired.json']);
    expect(await journal.load()).toEqual(record);
    expect(await journal.planRetirement({ policy, now: NOW })).toBeNull();
    await expect(journal.append(all[2] as RecoveryCheckpoint)).rejects.toThrow('journal: journal_retired');

    for (const name of fs.readdirSync(copy)) fs.copyFileSync(path.join(copy, name), path.join(journal.directory, name));
    fs.writeFileSync(path.join(journal.directory, 'checkpoint-00000000000000000001.json'), 'damaged');
    expect(await journal.retire(confirmed(plan))).toEqual(record);
    expect(fs.readdirSync(journal.directory)).toEqual(['checkpoint-00000000000000000001.json', 'retired.json']);
  });

  test('a journal that another plan retired is stale', async () => {
    const { journal } = await written();
    const stranger = await written(FINISHED, 'b');
    const plan = await planOf(journal);
    await stranger.journal.retire(confirmed(await planOf(stranger.journal)));
    fs.copyFileSync(
      path.join(stranger.journal.directory, 'retired.json'),
      path.join(journal.directory, 'retired.json'),
    );
    await expect(journal.retire(confirmed(plan))).rejects.toThrow('plan: retirement_plan_stale');
    expect(fs.readdirSync(journal.directory)).toHaveLength(4);
  });
});

function listen(file: string): Promise<net.Server> {
  const server = net.createServer();
  return new Promise((resolve) => server.listen(file, () => resolve(server)));
}
