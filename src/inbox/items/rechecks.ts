/**
 * What has to be checked again, as the journal says. Invariant: it is derived anew from the records of runs at each look, and kept nowhere;
 * an item leads to what a recheck must be, and starts nothing.
 */
import { Journal } from '../../activities/journal';
import { readRuns } from '../../activities/read-runs';
import type { Store } from '../../ports';
import { deriveObligations, type Obligation } from '../../rules/verification/obligations';
import { runIdOf } from '../../rules/verification/run';
import { receiptsOf } from '../../rules/verification/run-receipts';
import type { Item, ItemSource } from './item';

/** All runs of a journal are read for it, so it is not asked with every look at the list. */
const EVERY_MS = 15_000;
const RISKS = { user_action_required: 45, pending_capture: 35 } as const;

/** Those that are still owed, by their ids. */
export async function owedRechecks(journal: Store): Promise<readonly Obligation[]> {
  const obligations = deriveObligations(receiptsOf(await readRuns(new Journal(journal))));
  return obligations.filter(({ state }) => state !== 'fulfilled');
}

export function recheckItems(journal: Store): ItemSource {
  let known: readonly Item[] = [];
  let readAt = -Infinity;
  return {
    list: async (limit) => {
      if (performance.now() - readAt >= EVERY_MS) {
        known = (await owedRechecks(journal)).map(itemOf);
        readAt = performance.now();
      }
      return { items: known.slice(0, limit), more: known.length > limit };
    },
  };
}

function itemOf({ intentId, state, pending, proposals, committedAt, source }: Obligation): Item {
  return {
    id: `recheck-${hexOf(intentId)}`,
    kind: 'recheck',
    name: runIdOf(source.digest),
    href: `/rechecks/${hexOf(intentId)}`,
    reason: state,
    asks: null,
    progress: `${proposals.length - pending.length}/${proposals.length}`,
    since: committedAt,
    risk: state === 'fulfilled' ? 0 : RISKS[state],
  };
}

/** An intent in an address. */
export const hexOf = (intentId: string): string => intentId.slice('sha256:'.length);
