/**
 * Properties of effects called by authors on a real server, each with cached workflows and with a replay at every step:
 * - a call is done once, whatever its workflow does: loops, calls side by side, a workflow id used again, continue-as-new, a
 *   reset; the same id with other arguments is a conflict, and nothing is sent for it;
 * - what a sink refuses, what does not fit, and what is cancelled is thrown, and says what became of each effect;
 * - what takes a person goes on in a workflow of its own, whose end comes back to the author;
 * - every history replays, and the chains that it proves stand in the journal (the rig checks that after each test).
 */
import path from 'node:path';
import { describe, test } from 'vitest';
import { useRig } from '../../support/rig';
import { ENDINGS, IDENTITIES, PEOPLE, SHIELDED } from './scenarios';

describe.each([
  ['kept in the cache', 100],
  ['replayed at every step', 0],
])('%s', (_name, maxCachedWorkflows) => {
  const rig = useRig({ maxCachedWorkflows, workflowsPath: path.resolve(__dirname, 'workflows.ts') });
  test.each(Object.entries({ ...IDENTITIES, ...ENDINGS, ...SHIELDED, ...PEOPLE }))('%s', (_title, scenario) =>
    scenario(rig),
  );
});
