/**
 * Properties of a governed plan on a real server, each with cached workflows and with a replay at every step:
 * - every effect is written at most once, whatever the plan meets; the sinks' own counts say so;
 * - the outcome, the queries, the memo and the current details say what became of each effect;
 * - a plan waits, parks, follows and ends as its story says, and what is refused leaves nothing behind;
 * - people are asked, answer and are answered; what they decided is done once, and nothing else is;
 * - every history replays, and the chain that it proves stands in the journal (the rig checks that after each test).
 */
import { describe, test } from 'vitest';
import { useRig } from '../support/rig';
import { CANCELLATIONS } from './scenarios/cancellations';
import { DRIVERS } from './scenarios/drivers';
import { ENDINGS } from './scenarios/endings';
import { PEOPLE } from './scenarios/people';
import { WAITS } from './scenarios/waits';

describe.each([
  ['kept in the cache', 100],
  ['replayed at every step', 0],
])('%s', (_name, maxCachedWorkflows) => {
  const rig = useRig({ maxCachedWorkflows });
  test.each(Object.entries({ ...ENDINGS, ...CANCELLATIONS, ...WAITS, ...DRIVERS, ...PEOPLE }))(
    '%s',
    (_title, scenario) => scenario(rig),
  );
});
