/**
 * What may be done about a call of which nobody knows what became, by what repeating it would cost. Invariant: a write that may have
 * happened is never sent again unless a settled look-up proves it absent or a person says so; an undeclared class counts as a write.
 * In any other situation the class makes no difference: what was never dispatched may be, and a handler's own error is a failure.
 */
import { Refusal } from '../refusal';
import type { SideEffectClass } from '../sends/traits';
import { SIDE_EFFECT_CLASSES } from './vocabulary';

export const UNDECLARED_CLASS: SideEffectClass = 'non_idempotent_write';

/** What follows when a call was dispatched and did not come back: a crash, a lost lease, any timeout while executing. */
export type AfterUnknown =
  /** The same call again, in its next slot, as often as its attempts allow. */
  | 'resend'
  /** Ask the sink after the settle time; what that does not prove is a question to a person. */
  | 'look_up';

export const AFTER_UNKNOWN: Record<SideEffectClass, AfterUnknown> = {
  read_only: 'resend',
  idempotent_write: 'resend',
  non_idempotent_write: 'look_up',
  irreversible_action: 'look_up',
};

export function isResendSafe(sideEffect: SideEffectClass): boolean {
  return AFTER_UNKNOWN[sideEffect] === 'resend';
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
