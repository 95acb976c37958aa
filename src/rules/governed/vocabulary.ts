/**
 * The words of the governed workflow commands, as scripts know them. Invariant: these are wire names of the contract; the lists
 * are closed, and what a word means in exit codes is said by exhaustive tables elsewhere.
 */
export const WORKFLOW_REQUEST_SCHEMA_VERSION = 'openmed.cli.workflow_request.v1';
export const GOVERNED_WORKFLOW_SCHEMA_VERSION = 'openmed.cli.governed_workflow.v1';

export const GOVERNED_COMMANDS = ['plan', 'preview', 'inspect', 'submit-review', 'cancel', 'resume'] as const;
export type GovernedCommand = (typeof GOVERNED_COMMANDS)[number];

/** Whether a command changes something, so that it must name the state that it is about. */
export const CHANGES: Record<GovernedCommand, boolean> = {
  plan: false,
  preview: false,
  inspect: false,
  'submit-review': true,
  cancel: true,
  resume: true,
};

export const GOVERNED_STATUSES = [
  'ready',
  'completed',
  'failed',
  'denied',
  'review_required',
  'cancelled',
  'conflict',
  'unavailable',
] as const;
export type GovernedStatus = (typeof GOVERNED_STATUSES)[number];

/** What counts as having gone well. */
export const IS_OK: Record<GovernedStatus, boolean> = {
  ready: true,
  completed: true,
  failed: false,
  denied: false,
  review_required: false,
  cancelled: true,
  conflict: false,
  unavailable: false,
};

export const GOVERNED_ERROR_CODES = [
  'input_invalid',
  'input_unprotected',
  'input_unreadable',
  'input_limit',
  'adapter_unavailable',
  'service_failed',
  'service_result_invalid',
  'action_conflict',
  'state_conflict',
  'receipt_conflict',
  'terminal_state',
  'receipt_invalid',
  'receipt_unverified',
  'receipt_expired',
  'receipt_future',
] as const;
export type GovernedErrorCode = (typeof GOVERNED_ERROR_CODES)[number];

export class GovernedError extends Error {
  override readonly name = 'GovernedError';
  constructor(
    readonly code: GovernedErrorCode,
    readonly reason: string,
  ) {
    super(`${code}: ${reason}`);
  }
}
