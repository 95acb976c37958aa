/**
 * Every reader of a folder comes to the same answer.
 *
 * Held here:
 * - nothing unknown may stand in it; leftovers and the lock are ignored, whatever they are;
 * - file by file: gap, kind, size, content, name; and only then the lineage, so that a late file that cannot be read
 *   outranks an early one that does not fit;
 * - a retired folder is nothing but its record;
 * - streamed or as a whole, the answer is the same; a faulty checkpoint is never yielded;
 * - an append is free, identical, a conflict, a gap, too large or no successor: never anything else.
 */
import { describe, expect, it } from 'vitest';
import {
  appendOutcome,
  checkpointFileName,
  MAX_CHECKPOINT_BYTES,
  openCheckpointFolder,
  readCheckpointFolder,
  RecoveryCheckpoint,
  RecoveryError,
  RetiredJournalRecord,
  type CheckpointFolderView,
} from '../../../src/rules/recovery';
import { filesOf, folderOf, type MemoryEntry } from './memory-folder';
import { digest, makeCheckpoint, makeEffects, makeSuccessor, refusalOf, refusalOfAsync } from './support';

const first = makeCheckpoint();
const second = makeSuccessor(first);
const third = makeSuccessor(second, { phase: 'reconciling' });
const lineage = [first, second, third];
const [name0, name1, name2] = [0n, 1n, 2n].map(checkpointFileName) as [string, string, string];
const files = filesOf(lineage);
const misfit = RecoveryCheckpoint.toJson(makeSuccessor(first, { previousCheckpointDigest: digest('other') }));

const record = RetiredJournalRecord.create({
  finalCheckpointDigest: digest('final'),
  recoveryEvidenceDigest: digest('evidence'),
  checkpointRecoveryEvidenceDigest: null,
  phase: 'completed',
  checkpointCount: 3n,
  effectCount: 2n,
  committedEffectCount: 2n,
});
const retired = { 'retired.json': { text: RetiredJournalRecord.toJson(record) } };

describe('a folder that reads', () => {
  it.each<readonly [string, Readonly<Record<string, MemoryEntry>>, number]>([
    ['empty', {}, 0],
    ['a lineage', files, 3],
    ['in any order', Object.fromEntries(Object.entries(files).reverse()), 3],
    ['with a lock, whatever it is', { ...files, '.journal-lock': { kind: 'directory' } }, 3],
    ['with leftovers of any kind', { ...files, '.checkpoint-abc': {}, '.checkpoint-': { kind: 'symlink' } }, 3],
    ['not canonical', { [name0]: { text: `${files[name0]?.text} \n` } }, 1],
    ['exactly as large as allowed', { [name0]: { text: (files[name0]?.text ?? '').padEnd(MAX_CHECKPOINT_BYTES) } }, 1],
  ])('%s', async (_, entries, count) => {
    const found = (await readCheckpointFolder(folderOf(entries))) as readonly RecoveryCheckpoint[];
    expect(found.map(({ checkpointDigest }) => checkpointDigest)).toEqual(
      lineage.slice(0, count).map(({ checkpointDigest }) => checkpointDigest),
    );
  });

  it('shares the effects that no checkpoint changed', async () => {
    const found = (await readCheckpointFolder(folderOf(files))) as readonly RecoveryCheckpoint[];
    expect(found[2]?.effects[0]).toBe(found[0]?.effects[0]);
  });

  it('retired: nothing else in it is looked at', async () => {
    const entries = { ...retired, 'what is this': {}, [name2]: { text: 'broken' } };
    expect(await readCheckpointFolder(folderOf(entries))).toEqual(record);
  });
});

describe('a folder that is refused', () => {
  const big = MAX_CHECKPOINT_BYTES + 1;
  it.each<readonly [string, Readonly<Record<string, MemoryEntry>>, string]>([
    ['unknown name', { ...files, notes: {} }, 'journal: unexpected_journal_entry'],
    ['hidden name', { ...files, '.DS_Store': {} }, 'journal: unexpected_journal_entry'],
    ['19 digits', { ['checkpoint-0000000000000000000.json']: {} }, 'journal: unexpected_journal_entry'],
    ['21 digits', { ['checkpoint-000000000000000000000.json']: {} }, 'journal: unexpected_journal_entry'],
    ['other digits', { ['checkpoint-0000000000000000000٠.json']: {} }, 'journal: unexpected_journal_entry'],
    ['a newline at the end', { [`${name0}\n`]: {} }, 'journal: unexpected_journal_entry'],
    ['first missing', { [name1]: { text: files[name1]?.text ?? '' } }, 'journal: checkpoint_sequence_gap'],
    ['middle missing', { [name0]: files[name0] as MemoryEntry, [name2]: {} }, 'journal: checkpoint_sequence_gap'],
    ['a directory', { [name0]: { kind: 'directory' } }, 'journal: unsafe_checkpoint_file'],
    ['a link', { [name0]: { kind: 'symlink' } }, 'journal: unsafe_checkpoint_file'],
    ['something else', { [name0]: { kind: 'other' } }, 'journal: unsafe_checkpoint_file'],
    ['too large', { [name0]: { text: '{', size: big } }, 'journal: checkpoint_too_large'],
    ['grown since', { [name0]: { text: ' '.repeat(big), size: 1 } }, 'journal: checkpoint_too_large'],
    ['kind unknown', { [name0]: { unreadable: 'kind' } }, 'journal: checkpoint_read_failed'],
    ['size unknown', { [name0]: { unreadable: 'size' } }, 'journal: checkpoint_read_failed'],
    ['unreadable', { [name0]: { unreadable: 'bytes' } }, 'journal: checkpoint_read_failed'],
    ['empty file', { [name0]: { text: '' } }, 'checkpoint: invalid_json'],
    ['copied file', { ...files, [name1]: files[name0] as MemoryEntry }, 'journal: checkpoint_filename_mismatch'],
    ['no lineage', { ...files, [name1]: { text: misfit } }, 'lineage: lineage_digest_mismatch'],
    [
      'late unreadable over early misfit',
      { ...files, [name1]: { text: misfit }, [name2]: { text: '{' } },
      'checkpoint: invalid_json',
    ],
    [
      'late gap over early misfit',
      { ...files, [name1]: { text: misfit }, [checkpointFileName(9n)]: {} },
      'journal: checkpoint_sequence_gap',
    ],
    ['early unreadable over late gap', { [name0]: { text: '{' }, [name2]: {} }, 'checkpoint: invalid_json'],
    ['early gap over late unreadable', { [name1]: { text: '{' } }, 'journal: checkpoint_sequence_gap'],
    ['unknown name over everything', { x: {}, [name1]: { text: '{' } }, 'journal: unexpected_journal_entry'],
    ['retired, as a link', { 'retired.json': { kind: 'symlink' } }, 'journal: unsafe_retired_file'],
    ['retired, too large', { 'retired.json': { size: big } }, 'journal: retired_record_too_large'],
    ['retired, unreadable', { 'retired.json': { unreadable: 'bytes' } }, 'journal: retired_read_failed'],
    ['retired, broken', { 'retired.json': { text: '{' } }, 'record: invalid_json'],
  ])('%s', async (_, entries, text) => {
    expect(await refusalOfAsync(() => readCheckpointFolder(folderOf(entries)))).toBe(text);
  });

  it('cannot be listed', async () => {
    const names = (): never => {
      throw new Error('EACCES');
    };
    expect(await refusalOfAsync(() => readCheckpointFolder({ ...folderOf({}), names }))).toBe(
      'journal: journal_unreadable',
    );
  });

  it('for a reason that the folder itself states', async () => {
    const view: CheckpointFolderView = {
      ...folderOf({}),
      names: () => Promise.reject(new RecoveryError('unsafe_journal', 'journal')),
    };
    expect(await refusalOfAsync(() => readCheckpointFolder(view))).toBe('journal: unsafe_journal');
  });
});

describe('streamed', () => {
  it('yields each file with its bytes, and nothing from the first fault on', async () => {
    const folder = await openCheckpointFolder(folderOf({ ...files, [name1]: { text: misfit } }));
    if (folder.state !== 'lineage') throw new Error('expected a lineage');
    expect(folder.count).toBe(3);
    const seen: string[] = [];
    const text = await refusalOfAsync(async () => {
      for await (const { name, bytes } of folder.files) seen.push(`${name} ${bytes.length}`);
    });
    expect(seen).toEqual([`${name0} ${files[name0]?.text?.length}`]);
    expect(text).toBe('lineage: lineage_digest_mismatch');
  });

  it('stops reading when the consumer stops', async () => {
    const reads: string[] = [];
    const view = folderOf(files);
    const folder = await openCheckpointFolder({
      ...view,
      read: (name) => (reads.push(name), view.read(name)),
    });
    if (folder.state !== 'lineage') throw new Error('expected a lineage');
    for await (const { checkpoint } of folder.files) if (checkpoint.sequence === 0n) break;
    expect(reads).toEqual([name0]);
  });
});

describe('appending', () => {
  const other = makeSuccessor(first, { phase: 'aborted' });
  const large = (count: number): RecoveryCheckpoint => makeCheckpoint({ effects: makeEffects(count) });
  it.each<readonly [string, readonly RecoveryCheckpoint[], RecoveryCheckpoint, string]>([
    ['to nothing', [], first, name0],
    ['the next one', [first], second, name1],
    ['the same again', [first, second], second, 'identical'],
    ['an early one again', lineage, first, 'identical'],
    ['another in its place', [first, second], other, 'checkpoint: checkpoint_conflict'],
    ['one too far', [first], third, 'checkpoint: checkpoint_sequence_gap'],
    ['not the first to nothing', [], second, 'checkpoint: checkpoint_sequence_gap'],
    ['after the end', [first, other], makeSuccessor(other), 'lineage: invalid_phase_transition'],
    ['a copy', [first], { ...second }, 'checkpoint: invalid_checkpoint'],
    ['one too large', [], large(2600), 'checkpoint: checkpoint_too_large'],
  ])('%s: %s', (_, standing, next, answer) => {
    let outcome = '';
    const text = refusalOf(() => {
      const found = appendOutcome(standing, next);
      outcome = found.outcome === 'create' ? found.name : found.outcome;
      if (found.outcome === 'create') expect(found.text).toBe(RecoveryCheckpoint.toJson(next));
    });
    expect(text === 'no refusal' ? outcome : text).toBe(answer);
  });
});
