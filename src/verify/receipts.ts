/**
 * What people said about one run, as the journal holds it. Invariant: a receipt counts only when the key stored beside it made its
 * signature and it is for this run and plan; who holds that key, and whether it still counts, no file here can say.
 *
 * Sound, because a receipt is stored only after the claim of its nonce and the record of what it resolves, and an approval
 * record only after the receipts that it names.
 */
import type { GovernedPlan } from '../rules/plans/plan';
import {
  approvalDigest,
  approvalFromBytes,
  approvalToText,
  type ApprovalRecord,
} from '../rules/receipts/approval-record';
import { isResolution, type Decision } from '../rules/receipts/decision';
import type { StoredReceipts } from '../rules/receipts/grounds';
import { lineageFromBytes, lineageName, lineageToText, type LineageRecord } from '../rules/receipts/lineage-record';
import { claimFromBytes, claimToText, type NonceClaim } from '../rules/receipts/nonce-claim';
import {
  decisionOf,
  receiptFromBytes,
  receiptName,
  receiptToText,
  type ReceiptRecord,
} from '../rules/receipts/receipt-record';
import { resolutionFromBytes, resolutionToText, type ResolutionRecord } from '../rules/receipts/resolution-record';
import type { FindingCode, Findings } from './findings';
import { joined, readRecord, type Entry, type JournalView } from './view';

const APPROVAL = 'approval-';
const RECEIPT_FORMAT = { read: receiptFromBytes, text: receiptToText };
const APPROVAL_FORMAT = { read: approvalFromBytes, text: approvalToText };
const RESOLUTION_FORMAT = { read: resolutionFromBytes, text: resolutionToText };
const LINEAGE_FORMAT = { read: lineageFromBytes, text: lineageToText };
const CLAIM_FORMAT = { read: claimFromBytes, text: claimToText };

/** A person's word about one effect. */
export interface Word {
  readonly actionId: string;
  readonly says: 'committed' | 'absent';
  readonly externalId: string | null;
}

export interface RunReceipts extends StoredReceipts {
  readonly words: readonly Word[];
  readonly lineages: ReadonlyMap<number, LineageRecord>;
  readonly count: number;
}

/** The claim of a nonce by its name. */
export type ClaimOf = (name: string) => Promise<NonceClaim | null>;

/** `claimOf` is null where only a part of a journal is at hand. */
export async function readReceipts(
  view: JournalView,
  findings: Findings,
  folder: string,
  plan: GovernedPlan | null,
  claimOf: ClaimOf | null,
): Promise<RunReceipts> {
  const at = { view, findings };
  const receipts = new Map<string, ReceiptRecord>();
  const decisions = new Map<string, Decision>();
  const approvals = new Map<string, ApprovalRecord>();
  const named: { readonly record: ApprovalRecord; readonly path: string }[] = [];
  const entries = (await view.list(joined(folder, 'receipts'))) ?? [];
  for (const entry of entries) {
    const path = joined(folder, `receipts/${entry.name}`);
    if (entry.name.startsWith(APPROVAL)) {
      const record = await readRecord(at, 'approval_invalid', joined(folder, 'receipts'), entry, APPROVAL_FORMAT);
      if (record === null) continue;
      const digest = approvalDigest(record);
      if (entry.name === `${APPROVAL}${receiptName(digest)}`) approvals.set(digest, record);
      else findings.add('approval_invalid', path, 'name');
      named.push({ record, path });
      continue;
    }
    const record = await readRecord(at, 'receipt_invalid', joined(folder, 'receipts'), entry, RECEIPT_FORMAT);
    if (record === null) continue;
    const decision = signed(record);
    const fault = faultOf(decision, entry.name, plan);
    if (decision === null || fault !== null) {
      findings.add('receipt_invalid', path, fault);
      continue;
    }
    receipts.set(decision.digest, record);
    decisions.set(decision.digest, decision);
    if (claimOf !== null && !(await isClaimed(decision, claimOf))) {
      findings.add('claim_invalid', `claims/${decision.nonceName}.json`, 'for a stored receipt');
    }
  }
  for (const { record, path } of named) {
    if (!record.receipts.every((digest) => receipts.has(digest))) findings.add('approval_invalid', path, 'receipts');
  }
  return {
    receipt: (digest) => receipts.get(digest) ?? null,
    approval: (digest) => approvals.get(digest) ?? null,
    words: await readWords(view, findings, joined(folder, 'resolutions'), decisions),
    lineages: await readLineages(view, findings, joined(folder, 'lineages')),
    count: receipts.size,
  };
}

async function isClaimed({ claims, nonceName, actionDigest }: Decision, claimOf: ClaimOf): Promise<boolean> {
  const claim = await claimOf(nonceName);
  return (
    claim?.nonce === claims.jti &&
    claim.runId === claims.runId &&
    claim.lineage === claims.lineage &&
    claim.actionDigest === actionDigest
  );
}

/** Checks the form of every claim; answers how to find one. */
export async function readClaims(view: JournalView, findings: Findings): Promise<ClaimOf> {
  const at = { view, findings };
  for (const entry of (await view.list('claims')) ?? []) {
    if (!/^[0-9a-f]{64}\.json$/.test(entry.name)) findings.add('claim_invalid', `claims/${entry.name}`, 'name');
    await readRecord(at, 'claim_invalid', 'claims', entry, CLAIM_FORMAT);
  }
  // Looked up when it is asked for: a claim is there before its receipt, while others are being added.
  return async (name) => {
    try {
      return claimFromBytes(await view.read(`claims/${name}.json`));
    } catch {
      return null;
    }
  };
}

function signed(record: ReceiptRecord): Decision | null {
  try {
    return decisionOf(record);
  } catch {
    return null;
  }
}

function faultOf(decision: Decision | null, name: string, plan: GovernedPlan | null): string | null {
  if (decision === null) return 'signature or claims';
  if (name !== receiptName(decision.digest)) return 'name';
  if (plan === null) return null;
  const { runId, planDigest } = decision.claims;
  return runId === plan.runId && planDigest === plan.planDigest ? null : 'run or plan';
}

async function readWords(
  view: JournalView,
  findings: Findings,
  folder: string,
  decisions: ReadonlyMap<string, Decision>,
): Promise<readonly Word[]> {
  const words: Word[] = [];
  for (const entry of (await view.list(folder)) ?? []) {
    const record = await readRecord({ view, findings }, 'resolution_invalid', folder, entry, RESOLUTION_FORMAT);
    if (record === null) continue;
    // Accepted, and not yet stored, where its driver died in between: then it says nothing.
    const decision = decisions.get(record.receipt);
    const fault = entry.name === receiptName(record.receipt) ? misread(record, decision) : 'name';
    if (fault !== null) findings.add('resolution_invalid', joined(folder, entry.name), fault);
    else if (decision !== undefined && isResolution(decision)) words.push(...wordsOf(decision.claims));
  }
  return words;
}

function misread(record: ResolutionRecord, decision: Decision | undefined): string | null {
  if (decision === undefined) return null;
  if (!isResolution(decision) || decision.claims.resolution !== record.resolution) return 'resolution';
  if (decision.claims.lineage !== record.lineage) return 'lineage';
  const counted = record.attempts.map(({ actionId }) => actionId).sort();
  return counted.join() === [...decision.claims.actionIds].sort().join() ? null : 'attempts';
}

function wordsOf(claims: {
  resolution: string;
  actionIds: readonly string[];
  externalId: string | null;
}): readonly Word[] {
  const says = { mark_committed: 'committed', mark_absent: 'absent' }[claims.resolution] as Word['says'] | undefined;
  return says === undefined
    ? []
    : claims.actionIds.map((actionId) => ({ actionId, says, externalId: claims.externalId }));
}

async function readLineages(
  view: JournalView,
  findings: Findings,
  folder: string,
): Promise<ReadonlyMap<number, LineageRecord>> {
  const lineages = new Map<number, LineageRecord>();
  const entries: readonly Entry[] = (await view.list(folder)) ?? [];
  const code: FindingCode = 'lineage_unopened';
  for (const entry of entries) {
    const record = await readRecord({ view, findings }, code, folder, entry, LINEAGE_FORMAT);
    if (record === null) continue;
    if (entry.name === lineageName(record.lineage)) lineages.set(record.lineage, record);
    else findings.add(code, joined(folder, entry.name), 'name');
  }
  return lineages;
}
