/**
 * Drives that keep failing, as they do while a journal or content store cannot be had. Invariant: a list of executions shows it from
 * the second failure on until the plan rests for another reason; a history without an outage has no mark of it.
 */
import { TimeoutFailure, TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, log, patched } from '@temporalio/workflow';
import { measure } from './measure';

const IN_MEMO = 'countersign_outage_in_memo';

export class Outage {
  private memo: 'told' | 'untold' | null = null;
  /** The code of the last failure, where it was a store's. What else a worker's error says stays in its own failure. */
  private code: string | null = null;

  failed(runId: string, fault: unknown): void {
    log.warn('countersign: a drive did not come back; its outcome is unknown and will be looked up', {
      runId,
      retryState: fault instanceof ActivityFailure ? fault.retryState : 'CANCELLED',
    });
    measure('lost', 1, {});
    const cause = fault instanceof ActivityFailure ? fault.cause : undefined;
    this.code = (cause instanceof ApplicationFailure ? /^store_[a-z_]+(?=: )/.exec(cause.message)?.[0] : null) ?? null;
  }

  /** `tells`: whether there is a memo of ours at all. */
  goesOn(tells: boolean): string {
    if (tells && this.memo === null && patched(IN_MEMO)) this.memo = 'untold';
    const what = this.code === null ? '' : ` (${this.code})`;
    return `drive keeps failing on its workers${what}; it goes on by itself once their journal and content store do`;
  }

  /** Whether the memo is to be written now that the plan rests for this reason. */
  changesMemo(reason: string | null): boolean {
    if (this.memo === null) return false;
    const [over, untold] = [reason !== 'activity_failed', this.memo === 'untold'];
    this.memo = over ? null : 'told';
    return over || untold;
  }
}

/** No worker took the execution in its time. */
export function isUntaken(fault: unknown): boolean {
  const { cause } = fault as { readonly cause?: unknown };
  return cause instanceof TimeoutFailure && cause.timeoutType === TimeoutType.SCHEDULE_TO_START;
}
