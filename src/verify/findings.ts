/**
 * What `verify` can find wrong, as one table. Invariant: a finding names a place, a field and at most two digests; it never
 * quotes what stands there. `always` findings make a journal invalid; `strict` ones only where strictness was asked for.
 */
export const FINDINGS = {
  nothing_here: { fails: 'always', says: 'the folder holds no journal, no run and no lineage' },
  entry_unexpected: { fails: 'always', says: 'no driver ever writes an entry of this name here' },
  entry_unreadable: { fails: 'always', says: 'the entry cannot be read as a regular file of at most 1 MiB' },
  journal_record_invalid: { fails: 'always', says: 'journal.json is missing or is not the record of a journal' },
  plan_missing: { fails: 'always', says: 'the run has entries but no plan.json, which is written before all others' },
  plan_invalid: { fails: 'always', says: 'plan.json is not a plan whose digest fits' },
  plan_misplaced: { fails: 'always', says: 'the plan is that of another run than its folder is named for' },
  lineage_missing: { fails: 'always', says: 'the numbers of the lineages do not run from 1 without a gap' },
  lineage_invalid: { fails: 'always', says: 'the lineage breaks a rule of the recovery contract' },
  lineage_foreign: { fails: 'always', says: 'the checkpoint belongs to another run or plan than its folder' },
  head_unexpected: { fails: 'always', says: 'no lineage here ends in the head that was expected' },
  witness_invalid: { fails: 'always', says: 'the witness is not what its name says, or derives another checkpoint' },
  proof_contradicted: { fails: 'always', says: 'a proof in the witness cannot stand beside the slots of its effect' },
  epoch_invalid: { fails: 'always', says: 'the epochs are not readable records numbered from 1 without a gap' },
  slot_invalid: { fails: 'always', says: 'the slots are not readable records numbered from 1 without a gap' },
  slot_unknown_effect: { fails: 'always', says: 'the slots belong to no effect of the plan' },
  slot_unknown_epoch: { fails: 'always', says: 'the slot belongs to an epoch that the run does not have' },
  slot_unknown_head: { fails: 'always', says: 'the slot was taken under a checkpoint that the run does not have' },
  slot_out_of_turn: { fails: 'always', says: 'the slot was taken where no send could be due' },
  end_invalid: { fails: 'always', says: 'the end is unreadable, or its slot is missing, closed or of another owner' },
  history_unreadable: { fails: 'always', says: 'this is no history: it has no list of events' },
  history_unproven: {
    fails: 'always',
    says: 'what the history claims here cannot be read, or does not follow from it',
  },
  history_proves_nothing: { fails: 'always', says: 'no plan is driven in this history, so it proves nothing' },
  history_foreign: { fails: 'always', says: 'the history belongs to a run, or a journal, that is not here' },
  history_ahead: {
    fails: 'always',
    says: 'the history proves this checkpoint, and it is not here: the journal is behind',
  },
  history_differs: { fails: 'always', says: 'the history proves another checkpoint than this one' },
  receipt_invalid: {
    fails: 'always',
    says: 'the receipt is unreadable, misnamed, for another run, or not signed by the key beside it',
  },
  approval_invalid: {
    fails: 'always',
    says: 'the approval record is unreadable, misnamed, or names receipts that are not there',
  },
  resolution_invalid: {
    fails: 'always',
    says: 'the accepted resolution is unreadable, misnamed, or not what its receipt says',
  },
  claim_invalid: {
    fails: 'always',
    says: 'the claim of a nonce is unreadable, misnamed, or missing for a receipt that is stored',
  },
  lineage_unopened: { fails: 'always', says: 'the lineage has no opening record that leads to its first checkpoint' },
  decision_unfounded: {
    fails: 'always',
    says: 'what people are said to have decided here is not upheld by the stored receipts',
  },
  anchor_unusable: { fails: 'always', says: 'the log, or what was kept of it, is missing, damaged or not readable' },
  anchor_log_replaced: {
    fails: 'always',
    says: 'the tree head is not signed by the given key under its name, or the log is about another journal',
  },
  anchor_forged_append: {
    fails: 'always',
    says: 'the entries of the log are not those of the tree that was signed',
  },
  anchor_split_view: {
    fails: 'always',
    says: 'two trees were signed under one name, and the larger one does not continue the other',
  },
  anchor_checkpoint_old: { fails: 'always', says: 'an older tree head is offered than one that is known' },
  anchor_witnesses_missing: { fails: 'always', says: 'fewer witnesses have co-signed the tree head than are demanded' },
  anchor_lineage_dropped: { fails: 'always', says: 'the log holds a head of this lineage, and the lineage is gone' },
  anchor_tail_dropped: { fails: 'always', says: 'the log holds a later head than the one in which this lineage ends' },
  anchor_head_resealed: {
    fails: 'always',
    says: 'the log holds another checkpoint of this number: it was sealed anew',
  },
  anchor_order_swapped: {
    fails: 'always',
    says: 'heads that the log holds stand in another order, in this lineage or in the log',
  },
  job_invalid: { fails: 'always', says: 'the record of a launch is not one, or does not fit the others of its job' },
  lifecycle_invalid: {
    fails: 'always',
    says: 'the history of a verification run is cut, or could not have come about, or is not what stands beside it',
  },
  session_invalid: {
    fails: 'always',
    says: 'the log of a session, or what stands beside it, is cut, changed, or could not have come about',
  },
  demand_invalid: {
    fails: 'always',
    says: 'what a policy demands of a call is unreadable, misnamed, or of another plan',
  },
  capture_invalid: { fails: 'always', says: 'the record of a used capture is unreadable, misnamed or missing' },
  lifecycle_unwitnessed: {
    fails: 'strict',
    says: 'no files of the job uphold what the history says of it, as where the history was imported',
  },
  checkpoint_unjustified: { fails: 'strict', says: 'no stored witness, and no plan, derives this checkpoint' },
  witness_missing: { fails: 'strict', says: 'no witness is stored for this checkpoint' },
  not_canonical: { fails: 'strict', says: 'the file does not hold the canonical bytes of its record' },
  leftover_temporary: { fails: 'strict', says: 'a writer that was interrupted left this temporary file' },
} as const satisfies Record<string, { readonly fails: 'always' | 'strict'; readonly says: string }>;

export type FindingCode = keyof typeof FINDINGS;

/** Where two versions of one thing part. Digests only; null where one side is nothing that could be hashed. */
export interface Divergence {
  readonly sequence: number;
  readonly field: string;
  readonly expected: string | null;
  readonly actual: string | null;
}

export interface Finding {
  readonly code: FindingCode;
  /** The entry or folder inside the verified folder; `.` for the folder itself. */
  readonly path: string;
  readonly message: string;
  /** True when this finding makes the verification fail. */
  readonly failure: boolean;
  readonly divergence: Divergence | null;
}

/** Kept so many; the rest is counted only, so that a ruined journal cannot fill the memory. */
const MOST_KEPT = 200;

export class Findings {
  readonly kept: Finding[] = [];
  total = 0;
  failures = 0;
  /** Findings that no strictness is needed for. */
  faults = 0;

  constructor(readonly strict: boolean) {}

  /** `detail` is made of codes and names of fields only. */
  add(code: FindingCode, path: string, detail: string | null = null, divergence: Divergence | null = null): void {
    const { fails, says } = FINDINGS[code];
    const failure = fails === 'always' || this.strict;
    this.total += 1;
    if (failure) this.failures += 1;
    if (fails === 'always') this.faults += 1;
    if (this.kept.length >= MOST_KEPT) return;
    const message = detail === null ? says : `${says} (${detail})`;
    this.kept.push({ code, path: path === '' ? '.' : path, message, failure, divergence });
  }
}
