/**
 * Recorded histories of launches: those of authors' workflows, one for each way in which a launch can end, and those of the jobs that had
 * a workflow of their own. Beside them stand those of before, when every launch was handed off by the workflow of its job; they cannot be
 * recorded again, and those of authors who asked again for what had been launched, and waited for no receipt. Each replays with the code of now and against its journal, holds no content, no credential, no person, and names no
 * folder of the machine it was recorded on.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { RECORDED, testRecorded } from '../../support/recorded';
import { WORKFLOWS } from './support';

const OVER_AT_ONCE = ['submitted', 'submitted-again'];
const CARRIED = [
  ...['by-a-process', 'cancelled', 'exited', 'expired', 'late'],
  ...['of-another-key', 'of-nobody', 'refused', 'unknown'],
];
const withJobs = (authors: readonly string[]): readonly string[] => authors.flatMap((name) => [name, `${name}-job`]);
const FOLDERS: Record<string, readonly string[]> = {
  launches: [...OVER_AT_ONCE, 'by-ref', ...withJobs(CARRIED)].sort(),
  'launches-signed-once': ['begun', 'begun-job', 'over'],
  'launches-by-jobs': [...OVER_AT_ONCE, 'submitted-job', ...withJobs(CARRIED)].sort(),
};

// Other authors were given content, and no Ref, in their own input: the job knows nothing of it.
const knowsNothing = (kind: string): boolean => kind.endsWith('-job') || kind === 'by-ref';

describe.each(Object.entries(FOLDERS))('%s', (folder, kinds) => {
  testRecorded(folder, kinds, WORKFLOWS, (kind) =>
    knowsNothing(kind) ? /no findings|wrk_|planted/ : /no findings|wrk_/,
  );
});

test('who asks again for what was launched is not kept waiting for a receipt', async () => {
  const historyOf = (name: string): Promise<string> => readFile(path.join(RECORDED, `${name}.json`), 'utf8');
  for (const kind of ['begun', 'over']) {
    const history = await historyOf(`launches-signed-once/${kind}`);
    const patch = JSON.stringify({ id: 'countersign_launch_signed_once', deprecated: false });
    expect(history).toContain(Buffer.from(patch).toString('base64'));
    expect(history).not.toContain('EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED');
  }
  expect(await historyOf('launches/submitted-again')).toContain('EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED');
});

test('where the context is a Ref, there is no local activity', async () => {
  expect(await readFile(path.join(RECORDED, 'launches/by-ref.json'), 'utf8')).not.toContain('core_local_activity');
  expect(await readFile(path.join(RECORDED, 'launches/submitted.json'), 'utf8')).toContain('core_local_activity');
});
