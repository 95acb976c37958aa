/**
 * What may be done about a call, by its class.
 *
 * Held here:
 * - after an unknown outcome, what is safe is sent again, and what is not is looked up;
 * - an undeclared class is a write, and a binding may only make a tool more careful.
 */
import { expect, it } from 'vitest';
import { AFTER_UNKNOWN, effectiveClass, isResendSafe } from '../../../src/rules/invocations/class-table';
import { SIDE_EFFECT_CLASSES } from '../../../src/rules/invocations/vocabulary';

it('is the table of the specification', () => {
  expect(AFTER_UNKNOWN).toEqual({
    read_only: 'resend',
    idempotent_write: 'resend',
    non_idempotent_write: 'look_up',
    irreversible_action: 'look_up',
  });
  expect(SIDE_EFFECT_CLASSES.filter(isResendSafe)).toEqual(['read_only', 'idempotent_write']);
});

it('narrows a class and never widens it', () => {
  for (const [place, declared] of [undefined, ...SIDE_EFFECT_CLASSES].entries()) {
    const own = declared ?? 'non_idempotent_write';
    expect(effectiveClass(declared, undefined)).toBe(own);
    for (const binding of SIDE_EFFECT_CLASSES) {
      const wider = SIDE_EFFECT_CLASSES.indexOf(binding) < SIDE_EFFECT_CLASSES.indexOf(own);
      if (wider)
        expect(() => effectiveClass(declared, binding), String(place)).toThrow('invalid_arguments: side_effect');
      else expect(effectiveClass(declared, binding)).toBe(binding);
    }
  }
});
