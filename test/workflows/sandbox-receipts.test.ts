/**
 * Property of the rules of receipts inside the real workflow sandbox: every row of the table of doors gets the same answer there
 * as in Node, which is the row's own, and the judgement about what was admitted is the same to the last digest.
 */
import path from 'node:path';
import { expect, test } from 'vitest';
import { requirementToRecord } from '../../src/rules/receipts/approval-rule';
import { keysToRecord } from '../../src/rules/receipts/jwks';
import { doorTable } from '../rules/receipts/door-table';
import { CONTEXT, KEYS } from '../rules/receipts/support';
import { useRig } from '../support/rig';
import { judgedReceipts, type ReceiptInput, type ReceiptVerdict } from './receipt-workflows';

const rig = useRig({ workflowsPath: path.join(__dirname, 'receipt-workflows.ts') });

/** Tokens that one workflow task judges: it has five seconds, on a busy machine too. */
const TOKENS = 20;

test('the table of doors', async () => {
  await rig.worker();
  const rows = doorTable(CONTEXT);
  const { now, journalId, runId, lineage, planDigest } = CONTEXT;
  for (let from = 0; from < rows.length; from += TOKENS) {
    const piece = rows.slice(from, from + TOKENS);
    const input: ReceiptInput = {
      keys: keysToRecord(KEYS),
      requirement: requirementToRecord(CONTEXT),
      context: { now, journalId, runId, lineage, planDigest, headDigest: null },
      tokens: piece.map(({ token }) => token),
    };
    const verdict = await rig.client.workflow.execute<(input: ReceiptInput) => Promise<ReceiptVerdict>>(
      'judgeReceipts',
      { workflowId: `${rig.taskQueue}/${from}`, taskQueue: rig.taskQueue, args: [input] },
    );
    expect(verdict).toEqual(judgedReceipts(input));
    expect(verdict.codes).toEqual(piece.map(({ code }) => code));
    if (from === 0) expect(verdict.judgement).toMatchObject({ state: 'met' });
  }
});
