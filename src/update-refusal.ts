/**
 * What a workflow said when it refused an Update. Invariant: a refusal of ours comes out as the `Refusal` that it was; anything else as
 * whatever it is.
 */
import { ApplicationFailure } from '@temporalio/common';
import { REFUSAL_CODES, Refusal, type RefusalCode } from './rules/refusal';

/** The execution that took the Update ended before it answered. */
export function isOfEnded(fault: unknown): boolean {
  const cause = fault instanceof Error ? fault.cause : null;
  return cause instanceof ApplicationFailure && cause.type === 'AcceptedUpdateCompletedWorkflow';
}

export async function orRefusal<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (fault) {
    throw refusalIn(fault) ?? fault;
  }
}

/** Null where it was no refusal of ours. */
export function refusalIn(fault: unknown): Refusal | null {
  const cause = fault instanceof Error ? fault.cause : null;
  if (!(cause instanceof ApplicationFailure)) return null;
  const code = REFUSAL_CODES.find((known): known is RefusalCode => known === cause.type);
  if (code === undefined) return null;
  const [, , reason = cause.message] = /^([a-z_]+: )?([^]*)$/.exec(cause.message) ?? [];
  return new Refusal(code, reason);
}
