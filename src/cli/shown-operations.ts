/**
 * What the effects of a plan would do, for the person who is to sign. Invariant: an operation is shown only when the digest of the plan covers
 * it, with its tool and the salt of its run; what cannot be had is refused by its code, and nothing is signed instead.
 */
import { Contents } from '../activities/contents';
import type { ContentStore } from '../ports';
import { operationEnvelope } from '../rules/plans/envelope';
import type { GovernedPlan } from '../rules/plans/plan';
import { Refusal } from '../rules/refusal';
import { printable } from './printable';

const SIDE_BY_SIDE = 16;

/** In the order of the effects. */
export async function operationsOf(store: ContentStore, { runId, effects }: GovernedPlan): Promise<readonly unknown[]> {
  const contents = new Contents(store);
  const salt = await contents.knownSalt(runId);
  if (salt === null)
    throw missing('the salt of this run is not in this content store; name that of the workers', runId);
  const operations: unknown[] = [];
  for (let at = 0; at < effects.length; at += SIDE_BY_SIDE) {
    const some = effects.slice(at, at + SIDE_BY_SIDE).map(async ({ actionId, toolId, operationDigest }) => {
      const operation = await contents.operation(operationDigest);
      if (operationEnvelope(salt, actionId, toolId, operation).digest === operationDigest) return operation;
      throw missing('the stored operation is not that of this effect and this run', actionId);
    });
    operations.push(...(await Promise.all(some)));
  }
  return operations;
}

export function operationLines(operations: readonly unknown[]): readonly string[] {
  return operations.flatMap((operation, ordinal) => [
    `operation ${ordinal}:`,
    ...JSON.stringify(operation, null, 2)
      .split('\n')
      .map((line) => `  ${printable(line)}`),
  ]);
}

function missing(reason: string, field: string): Refusal {
  return new Refusal('content_missing', reason, field);
}
