/**
 * What the effects of a plan would do, for a signed-in reviewer. Invariant: nothing is read for anybody else; each operation was compared
 * with its digest when it was read, and comes with the salt that the digest covers.
 */
import type { Contents } from '../activities/contents';
import { StoreError } from '../ports';
import type { GovernedPlan } from '../rules/plans/plan';
import { sha256Hex } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import type { ShownContent, ShownContents } from './pages/effect-cards';
import type { Reviewer } from './visitors';

const SIDE_BY_SIDE = 16;

export async function shownContents(
  contents: Contents | null,
  plan: GovernedPlan,
  reviewer: Reviewer | null,
): Promise<ShownContents> {
  if (contents === null) return { state: 'no_store' };
  if (reviewer === null) return { state: 'signed_out' };
  const shown: ShownContent[] = [];
  const runSalt = await told(() => contents.knownSalt(plan.runId));
  for (let at = 0; at < plan.effects.length; at += SIDE_BY_SIDE) {
    const some = plan.effects
      .slice(at, at + SIDE_BY_SIDE)
      .map(async ({ actionId, operationDigest }): Promise<ShownContent> => {
        if (typeof runSalt !== 'string') return { missing: runSalt?.missing ?? 'content_missing' };
        const read = await told(async () => ({ operation: await contents.operation(operationDigest) }));
        return 'missing' in read ? read : { ...read, salt: sha256Hex(`${runSalt}/operation/${actionId}`) };
      });
    shown.push(...(await Promise.all(some)));
  }
  const schema = plan.effects.length === 1 ? await told(() => contents.schema(plan.runId)) : null;
  return { state: 'shown', contents: shown, schema };
}

/** What a store cannot say is told by its code. */
async function told<T>(read: () => Promise<T>): Promise<T | { readonly missing: string }> {
  try {
    return await read();
  } catch (fault) {
    if (fault instanceof Refusal || fault instanceof StoreError) return { missing: fault.code };
    throw fault;
  }
}
