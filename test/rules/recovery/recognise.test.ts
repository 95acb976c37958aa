/**
 * Suggestions to the folder reader.
 *
 * Held here:
 * - a checkpoint that has exactly the bytes of the file is taken as it is, and the lineage rules still judge it;
 * - any other suggestion, true of another file, copied or forged, changes nothing: the answer is that of reading the file.
 */
import { describe, expect, it } from 'vitest';
import {
  checkpointFileName,
  openCheckpointFolder,
  RecoveryCheckpoint,
  type OpenFolderOptions,
} from '../../../src/rules/recovery';
import { filesOf, folderOf } from './memory-folder';
import { makeCheckpoint, makeSuccessor } from './support';

const first = makeCheckpoint();
const second = makeSuccessor(first, { phase: 'dispatching' });
const lineage = [first, second];

async function read(files: Parameters<typeof folderOf>[0], options: OpenFolderOptions): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  try {
    const folder = await openCheckpointFolder(folderOf(files), options);
    if (folder.state === 'retired') return ['retired'];
    for await (const { checkpoint } of folder.files) found.push(checkpoint);
  } catch (fault) {
    found.push((fault as Error).message);
  }
  return found;
}

describe('a suggested checkpoint', () => {
  it('is taken when it has the bytes of the file', async () => {
    const found = await read(filesOf(lineage), { recognise: (_, previous) => (previous === null ? first : second) });
    expect(found[0]).toBe(first);
    expect(found[1]).toBe(second);
  });

  it.each([
    ['of another file', (): RecoveryCheckpoint => first],
    ['that is a copy', (): RecoveryCheckpoint => ({ ...second })],
    ['that is forged', (): RecoveryCheckpoint => ({ ...second, phase: 'completed' })],
    ['that is nothing', (): null => null],
  ])('%s is forgotten', async (_what, recognise) => {
    const found = await read(filesOf(lineage), { recognise });
    expect(found).toEqual(lineage);
    expect(found[1]).not.toBe(recognise());
  });

  it('is judged by the lineage rules all the same', async () => {
    const files = { ...filesOf([first]), [checkpointFileName(1n)]: { text: RecoveryCheckpoint.toJson(first) } };
    const found = await read(files, { recognise: () => first });
    expect(found).toEqual([first, 'journal: checkpoint_filename_mismatch']);
  });
});
