/**
 * Programmed faults, without a server.
 *
 * - What is written to the wire is read back the same.
 * - Whatever arrives is either a whole fault or refused by field; nothing else is thrown.
 * - A request takes the first fault that fits its key and target, as often as told and in the order programmed.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FAULT_KINDS, type Fault, FaultEngine, FaultError, faultToWire, parseFault } from '../../src/testing/faults';

const fault = fc
  .record(
    {
      fault: fc.constantFrom(...FAULT_KINDS),
      key: fc.constantFrom('*', 'a', 'b', '__proto__'),
      on: fc.constantFrom('write' as const, 'lookup' as const),
      times: fc.nat(3),
      retryAfterMs: fc.nat(),
    },
    { requiredKeys: ['fault'] },
  )
  .chain((some) => fc.record({ delayMs: fc.nat(), status: fc.nat() }).map((needs): Fault => ({ ...some, ...needs })));

test('wire and back', () => {
  fc.assert(
    fc.property(fault, (one) => {
      expect(parseFault(JSON.parse(JSON.stringify(faultToWire(one))))).toEqual(one);
    }),
  );
});

test('anything else is refused by field', () => {
  const broken = fc.tuple(fault, fc.constantFrom('fault', 'key', 'on', 'times', 'delay_ms', 'status'), fc.jsonValue());
  fc.assert(
    fc.property(broken, ([one, field, value]) => {
      try {
        parseFault({ ...faultToWire(one), [field]: value });
      } catch (error) {
        expect(error).toBeInstanceOf(FaultError);
        expect((error as FaultError).field).toBe(field);
      }
    }),
  );
});

test('first that fits, as often as told', () => {
  const request = fc.tuple(
    fc.constantFrom('write' as const, 'lookup' as const),
    fc.constantFrom('a', 'b', '__proto__'),
  );
  fc.assert(
    fc.property(fc.array(fault, { maxLength: 6 }), fc.array(request, { maxLength: 20 }), (faults, requests) => {
      const engine = new FaultEngine();
      engine.programme(faults);
      const left = faults.map(({ times }) => (times === 0 ? Infinity : (times ?? 1)));
      for (const [target, key] of requests) {
        const at = faults.findIndex(
          (one, index) =>
            (left[index] ?? 0) > 0 &&
            ['*', undefined, key].includes(one.key) &&
            (one.on ?? (/lookup|digest|flight|filter/.test(one.fault) ? 'lookup' : 'write')) === target,
        );
        expect(engine.take(target, key)).toBe(faults[at]);
        if (at >= 0) left[at] = (left[at] ?? 0) - 1;
      }
    }),
  );
});
