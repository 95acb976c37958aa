/** What a person can do about a parked plan. Invariant: every reason has an answer; a new one does not compile without. */
import type { ParkReason } from '../activities/contract';

export const ADVICE: Record<ParkReason, string> = {
  approval_missing: 'see "countersign approvals show", then approve or reject it; cancel it if nobody will',
  approval_expired: 'its approval has expired; resolve it with "new_lineage", then approve what is left anew',
  approval_revoked: 'a key that approved it was revoked; resolve it with "new_lineage", then approve what is left anew',
  reviewers_unavailable: 'make the reviewers’ keys reachable for the workers, then send the Update "reobserve"',
  ambiguous_effect:
    'look at the sink of the effect in doubt, then answer with "countersign reviews resolve", or make its state certain there and send the Update "reobserve"',
  effect_mismatch:
    'the sink holds another operation under the key; find out who wrote it, make the sink right and send the Update "reobserve", or answer with "countersign reviews resolve"',
  no_adapter: 'start a worker that has the missing tool, then send the Update "reobserve"',
  wrong_journal: 'point the workers at the journal that this run began in, then send the Update "reobserve"',
  journal_missing: 'restore the journal of this run, then send the Update "reobserve"',
  journal_behind: 'restore the newest state of the journal, then send the Update "reobserve"',
  journal_invalid:
    'run "countersign verify" on the journal, restore what was changed, then send the Update "reobserve"',
  content_missing: 'restore the content store of the workers, then send the Update "reobserve"',
  chain_divergence: 'compare the versions of the workers and verify the journal, then send the Update "reobserve"',
};
