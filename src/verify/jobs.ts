/**
 * The authorized launches of one run. Invariant: what a launch needed to happen must stand here: an order whose job is that of its
 * folder, a receipt that was signed for exactly that order, a slot taken for it, the pass under which its worker came, and what its
 * parent submitted.
 *
 * Sound, because each is written only after those before it, and what looks wrong is read twice. Not claimed: that the provider
 * did anything, that a slot without an end was not used, or that a job without an outcome never had one.
 */
import { orderDigest, orderFromBytes, orderToText } from '../rules/launches/job-order';
import { NOT_LAUNCHED, outcomeFromBytes, outcomeToText, type EndReason } from '../rules/launches/job-outcome';
import { passFromBytes, passToText } from '../rules/launches/worker-pass';
import { actionDigest } from '../rules/receipts/claims';
import { launchUnder, refuseOther, type LaunchReceipt } from '../rules/receipts/launch-receipt';
import { nonceName } from '../rules/receipts/nonce-claim';
import { receiptFromBytes, receiptToText, type ReceiptRecord } from '../rules/receipts/receipt-record';
import { endFromBytes, endToText, slotFromBytes, slotToText, type SlotRecord } from '../rules/sends/slot';
import { isJobId } from '../rules/verification/names';
import { Findings } from './findings';
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
  const jobs = new Map<string, Records>();
  for (const { name, kind } of entries) {
    const path = joined(folder, name);
    if (kind !== 'directory' || !isJobId(name)) findings.add('entry_unexpected', path);
    else jobs.set(name, await readJob(view, findings, path, { runId, jobId: name }, claimOf));
  }
  for (const [name, records] of jobs) await checkParent(view, findings, folder, [name, records], jobs);
  return entries.length;
}

/** A job is launched only behind the submission of its parent, under a receipt of the same person. */
async function checkParent(
  view: JournalView,
  findings: Findings,
  folder: string,
  [name, { 'order.json': order, 'receipt.json': receipt, '0001': slot }]: readonly [string, Records],
  jobs: ReadonlyMap<string, Records>,
): Promise<void> {
  const parent = order?.parent ?? null;
  if (parent === null || slot?.state !== 'begun') return;
  let before = jobs.get(parent) ?? {};
  // It may have been read before it submitted.
  if (before['outcome.json'] === undefined)
    before = await readRecords(view, new Findings(false), joined(folder, parent));
  const path = joined(folder, name);
  if (before['outcome.json']?.outcome !== 'submitted') {
    findings.add('job_invalid', joined(path, '0001'), 'begun before its parent had submitted');
  }
  const person = before['receipt.json']?.key.person;
  if (receipt !== undefined && person !== undefined && person !== receipt.key.person) {
    findings.add('job_invalid', joined(path, 'receipt.json'), 'of another person than that of its parent');
  }
}

/** One fault of one job: where, and what does not fit there. */
type Fault = readonly [name: Name, detail: string];

async function readJob(
  view: JournalView,
  findings: Findings,
  folder: string,
  at: { readonly runId: string | null; readonly jobId: string },
  claimOf: ClaimOf | null,
): Promise<Records> {
  const records = await readRecords(view, findings, folder);
  const receipt = signed(records['receipt.json']);
  let faults = faultsOf(records, receipt, at);
  if (faults.length > 0) {
    // A launch may be going on: what an entry rests on was written before it, so a second reading finds it.
    const again = await readRecords(view, new Findings(false), folder);
    const still = new Set(faultsOf(again, signed(again['receipt.json']), at).map(String));
    faults = faults.filter((fault) => still.has(String(fault)));
  }
  for (const [name, detail] of faults) findings.add('job_invalid', joined(folder, name), detail);
  const nonce = receipt === null ? null : nonceName(receipt.key.kid, receipt.claims.jti);
  if (claimOf === null || receipt === null || nonce === null) return records;
  const claim = await claimOf(nonce);
  const covers = claim?.runId === receipt.claims.runId && claim.actionDigest === actionDigest(receipt.claims);
  if (!covers) findings.add('claim_invalid', `claims/${nonce}.json`, 'for a stored receipt');
  return records;
}

async function readRecords(view: JournalView, findings: Findings, folder: string): Promise<Records> {
  const records: Records = {};
  for (const entry of (await view.list(folder)) ?? []) {
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
  return records;
}

function faultsOf(
  records: Records,
  receipt: LaunchReceipt | null,
  at: { readonly runId: string | null; readonly jobId: string },
): readonly Fault[] {
  return [...ofOrder(records, receipt, at), ...ofSlot(records, at.jobId), ...ofOutcome(records, at.jobId)];
}

function* ofOrder(
  { 'order.json': order, 'receipt.json': stored, '0001': slot }: Records,
  receipt: LaunchReceipt | null,
  at: { readonly runId: string | null; readonly jobId: string },
): Generator<Fault> {
  const begun = slot?.state === 'begun';
  if (order === undefined) {
    if (begun || stored !== undefined) yield ['order.json', 'missing'];
  } else if (order.jobId !== at.jobId || (at.runId !== null && order.runId !== at.runId)) {
    yield ['order.json', 'of another job or run'];
  } else if (receipt !== null && !isFor(receipt, order)) {
    yield ['receipt.json', 'for another launch'];
  }
  if (stored === undefined ? begun : receipt === null) {
    yield ['receipt.json', stored === undefined ? 'missing' : 'signature or claims'];
  }
  if (slot !== undefined && begun && receipt !== null && slot.openedAt >= receipt.expiresAt) {
    yield ['0001', 'begun after its receipt had expired'];
  }
}

function* ofSlot(records: Records, jobId: string): Generator<Fault> {
  const { 'order.json': order, '0001': slot, '0001.end': end, 'worker.json': pass } = records;
  const owner = slot?.state === 'begun' ? slot.owner : null;
  // A slot of a job belongs to no lineage and no epoch.
  if (slot !== undefined && (slot.epoch !== 0 || slot.head.lineage !== 0 || slot.head.sequence !== 0)) {
    yield ['0001', 'of no launch'];
  }
  if (slot !== undefined && owner !== null && order !== undefined && slot.head.digest !== orderDigest(order)) {
    yield ['0001', 'taken for another order'];
  }
  if (pass !== undefined && (owner === null || pass.owner !== owner || pass.jobId !== jobId)) {
    yield ['worker.json', 'of no begun slot of its owner'];
  }
  if (end === undefined) return;
  if (owner === null || end.owner !== owner) yield ['0001.end', 'of no begun slot of its owner'];
  if (pass === undefined) yield ['worker.json', 'missing'];
  if (end.externalId !== null || end.resultDigest !== null || end.retryAfterMs !== null) {
    yield ['0001.end', 'of no launch'];
  }
}

function* ofOutcome(records: Records, jobId: string): Generator<Fault> {
  const { '0001': slot, '0001.end': end, 'worker.json': pass, 'outcome.json': outcome } = records;
  if (outcome === undefined) return;
  if (outcome.jobId !== jobId) yield ['outcome.json', 'of another job'];
  if (outcome.outcome === 'submitted') {
    if (outcome.worker !== pass?.credentialDigest) yield ['outcome.json', 'of another worker than was launched'];
    return;
  }
  const needs = RESTS_ON[outcome.reason];
  if (needs !== null && slot?.state !== needs.slot) yield ['outcome.json', `of a slot that is not ${needs.slot}`];
  if (outcome.reason === 'running_deadline_exceeded' && end?.outcome !== 'acked') {
    yield ['outcome.json', 'of a launch that was not acknowledged'];
  }
  const said = end === undefined || end.outcome === 'acked' ? null : (end.code ?? NOT_LAUNCHED);
  if (outcome.reason === 'provider_refused' && outcome.refusal !== said) {
    yield ['outcome.json', 'of another refusal than the launch ended with'];
  }
}

/** The slot without which no job ends for this reason; null: a job may end so with and without one. */
const RESTS_ON: Record<EndReason, { readonly slot: SlotRecord['state'] } | null> = {
  authorization_expired: null,
  authorization_invalid: null,
  context_integrity_failed: null,
  // Said only once nobody can take the slot any more.
  dispatch_exhausted: { slot: 'closed' },
  provider_refused: { slot: 'begun' },
  launch_outcome_unknown: { slot: 'begun' },
  worker_exited_before_submission: { slot: 'begun' },
  running_deadline_exceeded: { slot: 'begun' },
};

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
