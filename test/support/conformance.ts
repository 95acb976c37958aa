/** Registers the kit's cases as tests. What is not applicable must be expected, or a case that never ran would look like one that passed. */
import { expect, test } from 'vitest';
import type { SinkConformanceCase, SinkFault } from '../../src/testing';

export type Expected = Partial<Record<SinkFault, RegExp>>;

/** Why a case may not be applicable, as the kit says it. */
export const NO_HTTP = /^the sink is not reached by HTTP$/;
export const NO_LINE = /gives no target/;
export const BLIND = /^the sink has no look-up$/;
export const UNCLAIMED = /^the sink does not claim to enforce keys$/;

/** Of a sink that is not reached by HTTP. */
export const OF_MEANING = {
  status_400: NO_HTTP,
  status_409: NO_HTTP,
  status_412: NO_HTTP,
  status_429: NO_HTTP,
  status_5xx: NO_HTTP,
  redirect: NO_HTTP,
  lookup_error: NO_HTTP,
  lookup_gateway: NO_HTTP,
  lookup_garbage: NO_HTTP,
  ignored_filter: NO_HTTP,
  stale_read: NO_HTTP,
} satisfies Expected;
/** Of a sink without a look-up. */
export const OF_LOOKING = {
  lookup_timeout: BLIND,
  lookup_lost: BLIND,
  duplicate_rows: BLIND,
} satisfies Expected;
/** Of a sink that does not enforce keys. */
export const OF_KEYS = { two_senders: UNCLAIMED, late_original: UNCLAIMED } satisfies Expected;

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
