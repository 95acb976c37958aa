/**
 * How a session hears that what it waits for cannot be done by any worker that has tried: one with the missing model, tool or store may
 * still come. Invariant: only a code and a name are told; what is told changes nothing but what the session shows, and telling may fail.
 */
import { ApplicationFailure, type Context } from '@temporalio/activity';
import { Refusal } from '../rules/refusal';
import { HELD_UP_CODES, HELD_UP_SIGNAL, type HeldUpCode, type HeldUpMessage } from './session-contract';

/** The fault of one try as Temporal keeps it: a refusal is named by its code, and is final unless another worker may know better. */
export function failureOfTry(fault: unknown): unknown {
  if (!(fault instanceof Refusal)) return fault;
  const nonRetryable = passingCode(fault) === null;
  return ApplicationFailure.create({ message: fault.message, type: fault.code, nonRetryable });
}

/** Told at the first try and ever more rarely, so that a wait of days does not fill the history. */
export async function tellHeldUp(context: Context, fault: unknown): Promise<void> {
  const code = passingCode(fault);
  const { attempt } = context.info;
  const isTold = (attempt & (attempt - 1)) === 0;
  if (code !== null && isTold) await tell(context, { code, about: fault instanceof Refusal ? fault.field : null });
}

/** An earlier try may have said that it is held up. */
export async function tellDone(context: Context): Promise<void> {
  if (context.info.attempt > 1) await tell(context, { code: null, about: null });
}

/** That it could not be told must not hide what there was to tell. */
async function tell(context: Context, said: Pick<HeldUpMessage, 'code' | 'about'>): Promise<void> {
  try {
    const { workflowId = '', runId } = context.info.workflowExecution ?? {};
    const message: HeldUpMessage = { activity: context.info.activityId, ...said };
    await context.client.workflow.getHandle(workflowId, runId).signal(HELD_UP_SIGNAL, message);
  } catch {
    return;
  }
}

/** Of what another worker, or this one after a change of its configuration, can do. */
function passingCode(fault: unknown): HeldUpCode | null {
  return (fault instanceof Refusal && HELD_UP_CODES.find((code) => code === fault.code)) || null;
}
