/**
 * How the execution of a call ended, in the words of the queue's rules. Invariant: two things alone prove that nothing was begun; an
 * execution that did not come back for any other reason is lost, never failed.
 */
import { TimeoutFailure, TimeoutType } from '@temporalio/common';
import { ApplicationFailure, type ActivityFailure } from '@temporalio/workflow';
import type { DriveResult } from '../activities/contract';
import { WORKER_NOT_ALLOWED } from '../activities/tool-contract';
import type { DriveEnd, RunningCall } from '../rules/invocations/queue-state';
import type { UnknownCode } from '../rules/invocations/vocabulary';

export function endOf(result: DriveResult, { attempts }: RunningCall): DriveEnd {
  switch (result.status) {
    case 'done':
      return { end: 'settled' };
    case 'refused':
      // After an execution that did not come back, more may have happened than this one knows.
      return attempts === 0 ? { end: 'failed', code: result.code } : { end: 'unknown', code: result.code };
    case 'stopped':
      return { end: 'again' };
    case 'parked':
    case 'waiting':
    case 'fenced':
    case 'elsewhere':
    case 'previewed':
      return { end: 'unknown', code: 'dispatch:indeterminate' };
  }
}

/** No worker took it in time, or one that may not do it gave it back. */
export function wasNotTaken({ cause }: ActivityFailure): boolean {
  if (cause instanceof TimeoutFailure) return cause.timeoutType === TimeoutType.SCHEDULE_TO_START;
  return cause instanceof ApplicationFailure && cause.type === WORKER_NOT_ALLOWED;
}

export function lossOf({ cause }: ActivityFailure): UnknownCode {
  const lease = cause instanceof TimeoutFailure && cause.timeoutType === TimeoutType.HEARTBEAT;
  return lease ? 'dispatch:lease_expired' : 'dispatch:indeterminate';
}
