/**
 * Properties of the example "document verification", run from its page:
 * - every command of the page prints what the page shows: the checks, a launch for each receipt, the proposals, their application and
 *   the recheck, which asked again launches nothing;
 * - every history of it replays, its journal verifies strictly, and neither holds a word of the document.
 */
import { expect, test } from 'vitest';
import { diskView, verifyJournal } from '../../src/verify';
import { historyToJson } from '../../src/testing/history-json';
import { builtProgram } from '../cli/support';
import { useRig } from '../support/rig';
import { texts } from '../support/texts';
import { Shells, blocksOf } from './page';

const rig = useRig();
const PAGE = 'examples/document-verification/README.md';
const OF_THE_DOCUMENT = /Readers found|incredible|newsletter|anybody|41 seconds/;

test('the page', { timeout: 300_000 }, async () => {
  builtProgram();
  const journal = `${rig.folder}/documents`;
  const shells = new Shells({
    COUNTERSIGN_JOURNAL: journal,
    COUNTERSIGN_CONTENTS: `${journal}-contents`,
    OPENAI_API_KEY: '',
  });
  rig.atEnd(() => shells.end());
  const [up, ...rest] = blocksOf(PAGE);
  expect(up!.text).toBe('./temporal-dev.sh up\n');
  for (const [at, { language, text }] of rest.entries()) {
    if (language === 'sh') expect((await shells.run(text)).trimEnd()).toBe(rest[at + 1]!.text.trimEnd());
  }
  expect(rest.filter(({ language }) => language === 'sh')).toHaveLength(2);

  expect(await verifyJournal(diskView(journal), { strict: true })).toMatchObject({ ok: true, findings: [] });
  let histories = 0;
  for await (const { workflowId, runId } of rig.client.workflow.list({
    query: "TaskQueue = 'document-verification'",
  })) {
    const history = historyToJson(await rig.client.workflow.getHandle(workflowId, runId).fetchHistory());
    expect([...texts(history)].filter((text) => OF_THE_DOCUMENT.test(text))).toEqual([]);
    rig.track({ client: rig.client, workflowId, runId });
    histories += 1;
  }
  // Two runs, with four launches each.
  expect(histories).toBeGreaterThanOrEqual(10);
});
