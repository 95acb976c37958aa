/**
 * What a person's word about a call is to the plan that the call is. Invariant: one signed statement at one door; a word of sessions that
 * leads to none does not compile.
 */
import type { Resolution } from '../receipts/claims';
import type { CallResolution } from './vocabulary';

export const RESOLUTION_OF_CALL: Record<CallResolution, Resolution> = {
  mark_succeeded: 'mark_committed',
  mark_failed: 'abort',
  redispatch: 'mark_absent',
  reobserve: 'reobserve',
};
