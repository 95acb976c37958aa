/**
 * Properties of authors' calls under the author's own payload codec:
 * - they end as without it: answers, a plan, content by reference, a refusal, a person's part, a cancellation;
 * - no payload of the history can be read without the codec; with it, the history replays and proves its chains (the rig
 *   checks that after each test).
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { historyToJson } from '../../../src/testing/history-json';
import { maskingCodec } from '../../support/masking-codec';
import { useRig } from '../../support/rig';
import { texts } from '../../support/texts';
import { authorsWorker, begin, ENDINGS, IDENTITIES, PEOPLE } from './scenarios';

const rig = useRig({
  dataConverter: { payloadCodecs: [maskingCodec] },
  workflowsPath: path.resolve(__dirname, 'workflows.ts'),
});

const TOLD = [
  ...[
    'a plan of several',
    'content by reference',
    'continue-as-new',
    'what a sink refuses is thrown, and thrown again',
  ],
  ...[
    'what takes a person goes on in a workflow of its own, and comes back',
    'cancelled by its author while it waits for a person',
  ],
];
test.each(Object.entries({ ...IDENTITIES, ...ENDINGS, ...PEOPLE }).filter(([title]) => TOLD.includes(title)))(
  '%s',
  (_title, scenario) => scenario(rig),
);

test('nothing can be read without the codec', async () => {
  await authorsWorker(rig);
  const handle = await begin(rig, 'chargeOnce', [5]);
  expect(await handle.result()).toMatchObject({ exposed: { row: 1 } });
  const history = historyToJson(await handle.fetchHistory());
  expect([...texts(history)].filter((text) => /run_id|plan_digest|exposed|act_/.test(text))).toEqual([]);
});
