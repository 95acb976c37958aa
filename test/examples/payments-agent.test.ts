/**
 * Properties of the example "payments agent", run from its page:
 * - its command prints what the page shows: an approval, a refused call, a worker killed in the middle of a payment, a resolution;
 *   the bank has booked each payment once;
 * - its journal verifies strictly, every history of it replays, and none holds whom or what was paid.
 */
import { expect, test } from 'vitest';
import { fileStore } from '../../src/adapters/stores';
import type { RecordedHistory } from '../../src/testing';
import { historyToJson } from '../../src/testing/history-json';
import { diskView, verifyJournal } from '../../src/verify';
import { builtProgram } from '../cli/support';
import { useRig } from '../support/rig';
import { texts } from '../support/texts';
import { Shells, blocksOf } from './page';

const rig = useRig();
const PAGE = 'examples/payments-agent/README.md';

test('the page', { timeout: 300_000 }, async () => {
  builtProgram();
  const journal = `${rig.folder}/payments`;
  const shells = new Shells({ COUNTERSIGN_JOURNAL: journal, COUNTERSIGN_CONTENTS: `${journal}-contents` });
  rig.atEnd(() => shells.end());
  const [up, command, shown] = blocksOf(PAGE);
  expect(up!.text).toBe('./temporal-dev.sh up\n');
  expect((await shells.run(command!.text)).trimEnd()).toBe(shown!.text.trimEnd());
  expect(await verifyJournal(diskView(journal), { strict: true })).toMatchObject({ ok: true, findings: [] });
  const histories: RecordedHistory[] = [];
  for await (const { workflowId, runId } of rig.client.workflow.list({ query: "TaskQueue = 'payments-agent'" })) {
    const handle = rig.client.workflow.getHandle(workflowId, runId);
    await handle.terminate('the test is over').catch(() => undefined); // its queue would wait for ever
    const history = historyToJson(await handle.fetchHistory());
    expect([...texts(history)].filter((text) => /landlord|print shop|paper mill|open invoices/.test(text))).toEqual([]);
    histories.push({ workflowId, history });
  }
  // The session, its queue, and the two calls that people were asked about.
  expect(histories.length).toBeGreaterThanOrEqual(4);
  expect(await rig.verify(histories, fileStore(journal))).toMatchObject({ failures: [] });
});
