/**
 * Properties of a call's identity:
 * - the same call is the same run; a change of origin, workflow id, effect or id, and of nothing else, is another;
 * - fields cannot be shifted into each other; a plan is never an effect of some name;
 * - an id or origin that is empty, too long, or of control characters is refused without being quoted;
 * - every origin has a governed workflow id, and one that is governed keeps it.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deriveCallRunId, governedOrigin, type CallIdentity } from '../../../src/rules/calls/identity';
import { isGovernedId, isRunId } from '../../../src/rules/recovery';

const name = fc.stringMatching(/^[a-z/:"\\{}]{1,12}$/);
const call = fc.record({ origin: name, workflowId: name, effect: fc.option(name), id: name });

test('two calls are one run exactly when they are the same', () => {
  fc.assert(
    fc.property(call, call, (one, other) => {
      const same = JSON.stringify(Object.values(one)) === JSON.stringify(Object.values(other));
      expect(isRunId(deriveCallRunId(one))).toBe(true);
      expect(deriveCallRunId(one) === deriveCallRunId(other)).toBe(same);
    }),
  );
});

test('the derivation never changes', () => {
  const order: CallIdentity = { origin: 'order', workflowId: 'order-7', effect: 'charge', id: 'order-7' };
  expect(deriveCallRunId(order)).toBe('run_aba094636d5b1af7f0a37056e8d76e65');
  expect(deriveCallRunId({ ...order, effect: null })).toBe('run_2b8f8becd1c6a1921fbfc78b97d806b0');
});

test.each(['', ' x', 'x\n', 'a\u0007b', '\ud800', 'y'.repeat(201), undefined, 7])('%j is no id', (id) => {
  const bad = { origin: 'o', workflowId: 'w', effect: 'e', id: id as string };
  expect(() => deriveCallRunId(bad)).toThrow(/^invalid_arguments: id: must be 1 to 200 characters/);
  expect(() => deriveCallRunId({ ...bad, id: 'i', origin: id as string })).toThrow(/^invalid_arguments: origin: /);
});

test.each([
  ['orderWorkflow', 'workflow:countersign.local/order-workflow'],
  ['ORDER_2', 'workflow:countersign.local/order-2'],
  ['注文', 'workflow:countersign.local/workflow'],
  ['workflow:example.org/order', 'workflow:example.org/order'],
])('%s is governed as %s', (origin, governed) => {
  expect(governedOrigin(origin)).toBe(governed);
});

test('every origin is governed by some id', () => {
  fc.assert(fc.property(fc.string(), (origin) => isGovernedId(governedOrigin(origin), 'workflow')));
});
