/**
 * The failure of a plan that nobody may send any more. Invariant: it says who denied it by the digest of a key, never by a name.
 */
import { ApplicationFailure } from '@temporalio/workflow';
import type { Ground } from '../rules/sends/ground';

export const APPROVAL_REJECTED = 'ApprovalRejected';

export interface ApprovalRejectedDetails {
  /** `rejected` by a person, or the `deadline` passed. */
  readonly code: 'rejected' | 'deadline';
  /** Digest of the key that signed the rejection; null for a deadline. */
  readonly key: string | null;
  /** Digest of the rejection in the journal; null for a deadline. */
  readonly receipt: string | null;
}

const SAYS: Record<ApprovalRejectedDetails['code'], string> = {
  rejected: 'a reviewer has rejected the plan',
  deadline: 'nobody has approved the plan in time',
};

/** `also` is put into its details. */
export function approvalRejected(
  { code, key, receipt }: Ground & { kind: 'denial' },
  [also]: readonly [object],
): ApplicationFailure {
  const details: ApprovalRejectedDetails = { ...also, code, key, receipt };
  const message = `${SAYS[code]}; nothing more is sent`;
  return ApplicationFailure.create({ type: APPROVAL_REJECTED, nonRetryable: true, message, details: [details] });
}
