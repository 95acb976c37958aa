/** Registers the kit's cases as tests. What is not applicable must be expected, or a case that never ran would look like one that passed. */
import { expect, test } from 'vitest';
import type { SinkConformanceCase, SinkFault } from '../../src/testing';

export type Expected = Partial<Record<SinkFault, RegExp>>;

export function conforms(cases: readonly SinkConformanceCase[], notApplicable: Expected = {}): void {
  for (const one of cases) {
    test(one.name, async ({ skip }) => {
      const result = await one.run();
      if (result.result === 'kept') return;
      const { reason } = result;
      expect(reason, `${one.name} is not applicable`).toMatch(
        notApplicable[one.fault] ?? /^expected to be applicable$/,
      );
      skip(reason);
    });
  }
}
