/**
 * Any fault as the one sentence, code and exit code that the user gets. Invariant: no stack, and no text of an unknown
 * error: it could quote anything.
 */
import { CommanderError } from 'commander';
import { isGrpcServiceError, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure, TimeoutFailure } from '@temporalio/common';
import { MissingPeerError } from '../adapters/optional-peer';
import { CustodyError } from '../adapters/reviewers';
import { AnchorError } from '../anchor';
import { StoreError } from '../ports';
import { RecoveryError } from '../rules/recovery';
import { REFUSAL_CODES, Refusal, type RefusalCode } from '../rules/refusal';
import {
  ANCHOR_EXITS,
  CLI_EXITS,
  CUSTODY_EXITS,
  EXIT,
  REFUSED_EXITS,
  STORE_EXITS,
  type CliCode,
  type ExitName,
} from './exit-codes';

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly field: string | null;
  readonly exit: ExitName;
}

/** A fault of the command line itself. */
export class CliError extends Error {
  override readonly name = 'CliError';
  constructor(
    readonly code: CliCode,
    message: string,
    readonly field: string | null = null,
  ) {
    super(message);
  }
}

export function failureOf(fault: unknown): Failure {
  if (fault instanceof CliError) return own(fault.code, fault.message, fault.field);
  if (fault instanceof Refusal) return refused(fault.code, sentence(fault), fault.field);
  if (fault instanceof StoreError) return { ...bare(fault.code, fault.message), exit: STORE_EXITS[fault.code] };
  if (fault instanceof CustodyError) return { ...bare(fault.code, fault.message), exit: CUSTODY_EXITS[fault.code] };
  if (fault instanceof AnchorError) return { ...bare(fault.code, fault.message), exit: ANCHOR_EXITS[fault.code] };
  if (fault instanceof MissingPeerError) return { ...bare(fault.code, fault.message), exit: 'no_adapter' };
  if (fault instanceof RecoveryError) {
    const message = `the journal of this run is refused by the recovery contract: ${fault.message}`;
    return { code: fault.code, message, field: fault.fieldName, exit: 'denied' };
  }
  if (fault instanceof CommanderError) return own('invalid_argument', argumentFault(fault), null);
  if (fault instanceof WorkflowFailedError) return workflowFailure(fault.cause);
  if (fault instanceof WorkflowNotFoundError) {
    return refused('unknown_run', 'no execution of this run is known to the Temporal server', null);
  }
  return serviceFailure(fault);
}

export function exitCode(failure: Failure): number {
  return EXIT[failure.exit];
}

/** What a failed `governedPlan` means: its type is one of our codes, or the way in which Temporal ended it. */
function workflowFailure(cause: unknown): Failure {
  if (cause instanceof CancelledFailure) return own('plan_cancelled', 'the plan was cancelled', null);
  if (cause instanceof TerminatedFailure) {
    return own('workflow_terminated', 'the execution was terminated; run the plan again to take it up', null);
  }
  if (cause instanceof TimeoutFailure) {
    return own('workflow_timed_out', 'the execution timed out; run the plan again to take it up', null);
  }
  if (!(cause instanceof ApplicationFailure)) return own('service_failed', 'the execution failed', null);
  const { type } = cause;
  if (type === 'EffectRejected') {
    return own('effect_rejected', `${cause.message}; later effects of an ordered plan were not sent`, null);
  }
  if (type === 'ApprovalRejected') return own('approval_rejected', cause.message, null);
  if (type === 'preview_failed') return own('preview_failed', cause.message, null);
  return isRefusalCode(type)
    ? refused(type, cause.message.replace(`${type}: `, ''), null)
    : own('service_failed', 'the execution failed; look at it in the Temporal Web UI', null);
}

function serviceFailure(fault: unknown): Failure {
  const inner = fault instanceof Error && isGrpcServiceError(fault.cause) ? fault.cause : fault;
  if (isGrpcServiceError(inner)) {
    return own('service_failed', `the Temporal server refused or did not answer (gRPC status ${inner.code})`, null);
  }
  const errno = fault instanceof Error ? (fault as NodeJS.ErrnoException).code : undefined;
  const name = fault instanceof Error ? fault.name : typeof fault;
  const known = typeof errno === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(errno) ? errno : name;
  return own('service_failed', `an unexpected fault ended the command (${known})`, null);
}

function sentence(refusal: Refusal): string {
  return refusal.field === null ? refusal.reason : `${refusal.field} ${refusal.reason}`;
}

function own(code: CliCode, message: string, field: string | null): Failure {
  return { code, message, field, exit: CLI_EXITS[code] };
}

function refused(code: RefusalCode, message: string, field: string | null): Failure {
  return { code, message, field, exit: REFUSED_EXITS[code] };
}

function bare(code: string, message: string): Omit<Failure, 'exit'> {
  return { code, message: message.replace(`${code}: `, ''), field: null };
}

function isRefusalCode(type: string | null | undefined): type is RefusalCode {
  return (REFUSAL_CODES as readonly (string | null | undefined)[]).includes(type);
}

function argumentFault(fault: CommanderError): string {
  if (fault.code.startsWith('commander.help')) return 'name a command; "--help" lists them';
  return fault.message.replace(/^error: /, '');
}
