/**
 * What may be done about a call in each situation, by what repeating it would cost. Invariant: a write that may have happened is never
 * sent again unless a settled look-up proves it absent or a person says so; an undeclared class counts as a write.
 */
import { Refusal } from '../refusal';
import type { SideEffectClass } from '../sends/traits';
import { SIDE_EFFECT_CLASSES } from './vocabulary';

export const UNDECLARED_CLASS: SideEffectClass = 'non_idempotent_write';

export type Situation =
  /** No worker was ever given the call: pending or queued. */
  | 'never_dispatched'
  /** It was dispatched, and did not come back: a crash, a lost lease, any timeout while executing. */
  | 'outcome_unknown'
  /** The handler itself said that it failed. */
  | 'handler_error'
  /** Its wait for a worker ended, or the queue was full: proven not dispatched. */
  | 'not_taken';

export type Action =
  | 'dispatch'
  /** The same call again, in its next slot, as often as its attempts allow. */
  | 'resend'
  /** Ask the sink after the settle time; what that does not prove is a question to a person. */
  | 'look_up'
  /** Failed: a tool error for the model. */
  | 'fail'
  /** Fails with the queue's code, unless a policy escalates. */
  | 'queue_rules';

export const CLASS_TABLE: Record<Situation, Record<SideEffectClass, Action>> = {
  never_dispatched: {
    read_only: 'dispatch',
    idempotent_write: 'dispatch',
    non_idempotent_write: 'dispatch',
    irreversible_action: 'dispatch',
  },
  outcome_unknown: {
    read_only: 'resend',
    idempotent_write: 'resend',
    non_idempotent_write: 'look_up',
    irreversible_action: 'look_up',
  },
  handler_error: {
    read_only: 'fail',
    idempotent_write: 'fail',
    non_idempotent_write: 'fail',
    irreversible_action: 'fail',
  },
  not_taken: {
    read_only: 'queue_rules',
    idempotent_write: 'queue_rules',
    non_idempotent_write: 'queue_rules',
    irreversible_action: 'queue_rules',
  },
};

/** What a look-up after the settle time has proven. */
export type Finding = 'committed' | 'absent' | 'unknown';

/** `redispatch` goes by the next slot, as a resend does. */
export type UnknownEnd = 'resend' | 'succeeded' | 'redispatch' | 'indeterminate';

const FOUND: Record<Finding, UnknownEnd> = {
  committed: 'succeeded',
  absent: 'redispatch',
  unknown: 'indeterminate',
};

/** What becomes of a call whose outcome is unknown. `finding`: only an authoritative look-up may say `absent`. */
export function afterUnknown(
  sideEffect: SideEffectClass,
  {
    attempt,
    maxAttempts,
    finding,
  }: { readonly attempt: number; readonly maxAttempts: number; readonly finding: Finding },
): UnknownEnd {
  if (finding === 'committed') return 'succeeded';
  if (attempt >= maxAttempts) return 'indeterminate';
  return CLASS_TABLE.outcome_unknown[sideEffect] === 'resend' ? 'resend' : FOUND[finding];
}

export function isResendSafe(sideEffect: SideEffectClass): boolean {
  return CLASS_TABLE.outcome_unknown[sideEffect] === 'resend';
}

/** The class of a tool in an agent. A binding may make it more careful; one that makes it less careful is refused. */
export function effectiveClass(
  declared: SideEffectClass | undefined,
  binding: SideEffectClass | undefined,
): SideEffectClass {
  const own = declared ?? UNDECLARED_CLASS;
  if (binding === undefined) return own;
  const careful = (sideEffect: SideEffectClass): number => SIDE_EFFECT_CLASSES.indexOf(sideEffect);
  if (careful(binding) >= careful(own)) return binding;
  throw new Refusal(
    'invalid_arguments',
    `is less careful than the tool itself, which is ${own}; declare it on the tool`,
    'side_effect',
  );
}
