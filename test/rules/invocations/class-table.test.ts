/**
 * What may be done about a call, by its class.
 *
 * Held here:
 * - the table, whole, is the specification's;
 * - after an unknown outcome, for every class, finding and count of attempts: proven committed is a success, a write goes out again only
 *   when proven absent, a safe class as long as attempts are left, and everything else is a question to a person;
 * - an undeclared class is a write, and a binding may only make a tool more careful.
 */
import { expect, it } from 'vitest';
import {
  CLASS_TABLE,
  afterUnknown,
  effectiveClass,
  isResendSafe,
  type Finding,
  type UnknownEnd,
} from '../../../src/rules/invocations/class-table';
import { SIDE_EFFECT_CLASSES } from '../../../src/rules/invocations/vocabulary';
import type { SideEffectClass } from '../../../src/rules/sends/traits';

it('is the table of the specification', () => {
  const same = (action: string): Record<string, string> =>
    Object.fromEntries(SIDE_EFFECT_CLASSES.map((sideEffect) => [sideEffect, action]));
  expect(CLASS_TABLE).toEqual({
    never_dispatched: same('dispatch'),
    outcome_unknown: {
      read_only: 'resend',
      idempotent_write: 'resend',
      non_idempotent_write: 'look_up',
      irreversible_action: 'look_up',
    },
    handler_error: same('fail'),
    not_taken: same('queue_rules'),
  });
  expect(SIDE_EFFECT_CLASSES.filter(isResendSafe)).toEqual(['read_only', 'idempotent_write']);
});

/** Before the attempts are used up, and then. */
const ENDS: Record<SideEffectClass, Record<Finding, readonly [UnknownEnd, UnknownEnd]>> = {
  read_only: {
    committed: ['succeeded', 'succeeded'],
    absent: ['resend', 'indeterminate'],
    unknown: ['resend', 'indeterminate'],
  },
  idempotent_write: {
    committed: ['succeeded', 'succeeded'],
    absent: ['resend', 'indeterminate'],
    unknown: ['resend', 'indeterminate'],
  },
  non_idempotent_write: {
    committed: ['succeeded', 'succeeded'],
    absent: ['redispatch', 'indeterminate'],
    unknown: ['indeterminate', 'indeterminate'],
  },
  irreversible_action: {
    committed: ['succeeded', 'succeeded'],
    absent: ['redispatch', 'indeterminate'],
    unknown: ['indeterminate', 'indeterminate'],
  },
};

it.each(SIDE_EFFECT_CLASSES)('after an unknown outcome, for %s', (sideEffect) => {
  for (const [finding, [before, then]] of Object.entries(ENDS[sideEffect]) as [Finding, [UnknownEnd, UnknownEnd]][]) {
    expect(afterUnknown(sideEffect, { attempt: 2, maxAttempts: 3, finding })).toBe(before);
    expect(afterUnknown(sideEffect, { attempt: 3, maxAttempts: 3, finding })).toBe(then);
  }
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
