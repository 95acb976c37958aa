/**
 * One job in the journal. Invariant: every entry is written once: the order and receipt before the slot, the slot with the pass of
 * its worker, the outcome by whoever is first; so what a job came to is one entry, whoever asks and whatever crashed.
 *
 *   <run>/jobs/<job>/order.json, receipt.json      what was authorized, and by whom
 *   <run>/jobs/<job>/0001, 0001.end                the slot of its one launch, and how that ended
 *   <run>/jobs/<job>/worker.json                   digest of the credential that the launch gave out
 *   <run>/jobs/<job>/outcome.json                  its submission, or its end without one
 */
import type { CreateOutcome } from '../ports';
import { orderFromBytes, orderToText, type JobOrder } from '../rules/launches/job-order';
import { outcomeFromBytes, outcomeToText, type JobOutcome } from '../rules/launches/job-outcome';
import { passFromBytes, passToText, type WorkerPass } from '../rules/launches/worker-pass';
import { receiptFromBytes, receiptToText, type ReceiptRecord } from '../rules/receipts/receipt-record';
import { attemptName, endFromBytes, endToText, slotFromBytes, slotToText } from '../rules/sends/slot';
import type { SendEnd, SlotRecord } from '../rules/sends/slot';
import type { Entries, Entry } from './entries';
import type { JobFacts, Outcome } from './launch-contract';

const SLOT = attemptName(1);
const LONGEST_CHAIN = 1_000;

/** What a claim writes, in order. */
export interface Claim {
  readonly order: JobOrder;
  /** That an author's call is this launch; null of a job of a run. */
  readonly call: Entry | null;
  /** Name and text of the nonce's claim. */
  readonly nonce: Entry;
  /** Null where it is stored already. */
  readonly receipt: ReceiptRecord | null;
  readonly slot: SlotRecord;
  readonly pass: WorkerPass;
}
export type ClaimAnswer = 'ours' | 'taken' | 'other_call' | 'other_order' | 'nonce_used' | 'other_receipt';

export class JobFiles {
  private readonly folder: string;

  constructor(
    private readonly entries: Entries,
    private readonly runId: string,
    private readonly jobId: string,
  ) {
    this.folder = `${runId}/jobs/${jobId}`;
  }

  order(): Promise<JobOrder | null> {
    return this.entries.read(`${this.folder}/order.json`, orderFromBytes);
  }

  receipt(): Promise<ReceiptRecord | null> {
    return this.entries.read(`${this.folder}/receipt.json`, receiptFromBytes);
  }

  pass(): Promise<WorkerPass | null> {
    return this.entries.read(`${this.folder}/worker.json`, passFromBytes);
  }

  outcome(): Promise<JobOutcome | null> {
    return this.entries.read(`${this.folder}/outcome.json`, outcomeFromBytes);
  }

  /** Digest of the person who authorized another job of this run; null while nobody has. */
  async authorizer(): Promise<string | null> {
    const others = (await this.entries.list(`${this.runId}/jobs`)).map((name) => name.replace(/\/$/, ''));
    for (const jobId of others.slice(0, LONGEST_CHAIN)) {
      if (jobId === this.jobId) continue;
      const known = await new JobFiles(this.entries, this.runId, jobId).receipt();
      if (known !== null) return known.key.person;
    }
    return null;
  }

  /** Each entry becomes visible only when those before it are: who has the slot has all of it. */
  async claim({ order, call, nonce, receipt, slot, pass }: Claim): Promise<ClaimAnswer> {
    const before: (readonly [Entry, ClaimAnswer])[] = [
      ...(call === null ? [] : [[call, 'other_call'] as const]),
      [[`${this.folder}/order.json`, orderToText(order)], 'other_order'],
      [nonce, 'nonce_used'],
    ];
    if (receipt !== null) before.push([[`${this.folder}/receipt.json`, receiptToText(receipt)], 'other_receipt']);
    before.push([[`${this.folder}/${SLOT}`, slotToText(slot)], 'taken']);
    const last: Entry = [`${this.folder}/worker.json`, passToText(pass)];
    const outcomes = await this.entries.settleInOrder(
      before.map(([entry]) => entry),
      last,
    );
    const refused = before.findIndex((_one, index) => (outcomes[index] ?? 'conflict') === 'conflict');
    if (refused >= 0) return before[refused]?.[1] ?? 'taken';
    return (outcomes[before.length] ?? 'conflict') === 'conflict' ? 'taken' : 'ours';
  }

  /** Takes the slot for nobody. */
  async close(slot: SlotRecord): Promise<CreateOutcome> {
    return this.entries.settle(`${this.folder}/${SLOT}`, slotToText({ ...slot, state: 'closed' }));
  }

  async end(end: SendEnd): Promise<void> {
    await this.entries.settle(`${this.folder}/${SLOT}.end`, endToText(end));
  }

  /** The one that counts: this, or the one that was there before. */
  async settle(outcome: JobOutcome): Promise<{ readonly outcome: JobOutcome; readonly first: boolean }> {
    const created = await this.entries.settle(`${this.folder}/outcome.json`, outcomeToText(outcome));
    if (created !== 'conflict') return { outcome, first: created === 'created' };
    return { outcome: (await this.outcome()) ?? outcome, first: false };
  }

  async facts(): Promise<JobFacts> {
    const [slot, end, outcome] = await Promise.all([
      this.entries.read(`${this.folder}/${SLOT}`, slotFromBytes),
      this.entries.read(`${this.folder}/${SLOT}.end`, endFromBytes),
      this.outcome(),
    ]);
    return {
      slot: slot?.state ?? 'none',
      owner: slot?.owner ?? null,
      taken_at: slot?.openedAt ?? null,
      end: end?.outcome ?? null,
      code: end?.code ?? null,
      outcome: outcome === null ? null : wireOf(outcome),
    };
  }
}

function wireOf(outcome: JobOutcome): Outcome {
  return outcome.outcome === 'submitted'
    ? { outcome: 'submitted', submission: outcome.submission }
    : { outcome: 'ended', reason: outcome.reason, refusal: outcome.refusal };
}
