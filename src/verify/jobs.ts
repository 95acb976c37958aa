/**
 * The authorized launches of one run. Invariant: what a launch needed to happen must stand here: an order whose job is that of its
 * folder, a receipt that was signed for exactly that order, a slot taken for it, and the pass under which its worker came.
 *
 * Sound, because each is written only after those before it. Not claimed: that the provider did anything, or that a slot without
 * an end was not used.
 */
import { orderDigest, orderFromBytes, orderToText } from '../rules/launches/job-order';
import { outcomeFromBytes, outcomeToText } from '../rules/launches/job-outcome';
import { passFromBytes, passToText } from '../rules/launches/worker-pass';
import { actionDigest } from '../rules/receipts/claims';
import { launchUnder, refuseOther, type LaunchReceipt } from '../rules/receipts/launch-receipt';
import { nonceName } from '../rules/receipts/nonce-claim';
import { receiptFromBytes, receiptToText, type ReceiptRecord } from '../rules/receipts/receipt-record';
import { endFromBytes, endToText, slotFromBytes, slotToText } from '../rules/sends/slot';
import { isJobId } from '../rules/verification/names';
import type { Findings } from './findings';
import type { ClaimOf } from './receipts';
import { joined, readRecord, type JournalView } from './view';

const FORMATS = {
  'order.json': { read: orderFromBytes, text: orderToText },
  'receipt.json': { read: receiptFromBytes, text: receiptToText },
  '0001': { read: slotFromBytes, text: slotToText },
  '0001.end': { read: endFromBytes, text: endToText },
  'worker.json': { read: passFromBytes, text: passToText },
  'outcome.json': { read: outcomeFromBytes, text: outcomeToText },
};
type Name = keyof typeof FORMATS;
type Records = { [N in Name]?: ReturnType<(typeof FORMATS)[N]['read']> };

/** The number of jobs. */
export async function readJobs(
  view: JournalView,
  findings: Findings,
  folder: string,
  runId: string | null,
  claimOf: ClaimOf | null,
): Promise<number> {
  const entries = (await view.list(folder)) ?? [];
  for (const { name, kind } of entries) {
    const path = joined(folder, name);
    if (kind !== 'directory' || !isJobId(name)) findings.add('entry_unexpected', path);
    else await readJob(view, findings, path, { runId, jobId: name }, claimOf);
  }
  return entries.length;
}

async function readJob(
  view: JournalView,
  findings: Findings,
  folder: string,
  at: { readonly runId: string | null; readonly jobId: string },
  claimOf: ClaimOf | null,
): Promise<void> {
  const records: Records = {};
  // The outcome first: whatever it rests on was there before it, while a launch may be going on.
  const listed = [...((await view.list(folder)) ?? [])].sort((one) => (one.name === 'outcome.json' ? -1 : 1));
  for (const entry of listed) {
    if (!(entry.name in FORMATS)) {
      findings.add('entry_unexpected', joined(folder, entry.name));
      continue;
    }
    const format = FORMATS[entry.name as Name] as unknown as {
      read: (bytes: Uint8Array) => never;
      text: (record: never) => string;
    };
    const record = await readRecord({ view, findings }, 'job_invalid', folder, entry, format);
    if (record !== null) Object.assign(records, { [entry.name]: record });
  }
  const fault = (name: Name, detail: string): void => findings.add('job_invalid', joined(folder, name), detail);
  const receipt = signed(records['receipt.json']);
  checkOrder(records, receipt, at, fault);
  checkSlot(records, at.jobId, fault);
  const nonce = receipt === null ? null : nonceName(receipt.key.kid, receipt.claims.jti);
  if (claimOf === null || receipt === null || nonce === null) return;
  const claim = await claimOf(nonce);
  const covers = claim?.runId === receipt.claims.runId && claim.actionDigest === actionDigest(receipt.claims);
  if (!covers) findings.add('claim_invalid', `claims/${nonce}.json`, 'for a stored receipt');
}

type Fault = (name: Name, detail: string) => void;

function checkOrder(
  { 'order.json': order, 'receipt.json': stored, '0001': slot }: Records,
  receipt: LaunchReceipt | null,
  at: { readonly runId: string | null; readonly jobId: string },
  fault: Fault,
): void {
  const begun = slot?.state === 'begun';
  if (order === undefined) {
    if (begun) fault('order.json', 'missing');
  } else if (order.jobId !== at.jobId || (at.runId !== null && order.runId !== at.runId)) {
    fault('order.json', 'of another job or run');
  } else if (receipt !== null && !isFor(receipt, order)) {
    fault('receipt.json', 'for another launch');
  }
  if (stored === undefined ? begun : receipt === null)
    fault('receipt.json', stored ? 'signature or claims' : 'missing');
  if (slot !== undefined && begun && receipt !== null && slot.openedAt >= receipt.expiresAt) {
    fault('0001', 'begun after its receipt had expired');
  }
}

function checkSlot(records: Records, jobId: string, fault: Fault): void {
  const { 'order.json': order, '0001': slot, '0001.end': end, 'worker.json': pass, 'outcome.json': outcome } = records;
  const begun = slot?.state === 'begun';
  if (begun && order !== undefined && slot.head.digest !== orderDigest(order)) fault('0001', 'taken for another order');
  if (end !== undefined && !(begun && end.owner === slot.owner)) fault('0001.end', 'of no begun slot of its owner');
  if (pass !== undefined && !(begun && pass.owner === slot.owner && pass.jobId === jobId)) {
    fault('worker.json', 'of no begun slot of its owner');
  }
  if (outcome === undefined) return;
  if (outcome.jobId !== jobId) fault('outcome.json', 'of another job');
  const submitted = outcome.outcome === 'submitted';
  if (submitted && outcome.worker !== pass?.credentialDigest)
    fault('outcome.json', 'of another worker than was launched');
}

function signed(record: ReceiptRecord | undefined): LaunchReceipt | null {
  try {
    return record === undefined ? null : launchUnder(record.token, record.key);
  } catch {
    return null;
  }
}

function isFor({ claims }: LaunchReceipt, order: Parameters<typeof refuseOther>[1]): boolean {
  try {
    refuseOther(claims, order);
    return true;
  } catch {
    return false;
  }
}
