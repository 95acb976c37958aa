/**
 * Properties of keys that are held for a moment:
 * - no answer is ever older than `keptMs`, counted from before it was asked for, whatever fails and whoever asks;
 * - within `freshMs` nobody asks again, unless for a key that is not there, and then at most once every `askAgainMs`;
 * - a failure within `keptMs` is bridged, after it a refusal; one question is asked at a time.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holdKeys, type Holding } from '../../../src/adapters/reviewers/held-keys';
import type { Jwks } from '../../../src/rules/receipts/jwks';
import { Refusal } from '../../../src/rules/refusal';
import { handClock, read } from './support';

const [ANN, BOTH] = [read('ann'), read('ann', 'bob')];
const holding = (more: Partial<Holding>): Holding => ({
  freshMs: 30_000,
  keptMs: 60_000,
  askAgainMs: 5_000,
  clock: () => 0,
  ...more,
});

/** A custody whose answer is set from outside, and which counts how often it was asked. */
function custody(): { answer: Jwks | null; asked: number; ask: () => Promise<Jwks> } {
  const self = {
    answer: ANN as Jwks | null,
    asked: 0,
    ask: async () => {
      self.asked += 1;
      if (self.answer === null) throw new Error('not there');
      return self.answer;
    },
  };
  return self;
}

type Step = readonly [
  passMs: number,
  set: Jwks | null,
  kid: string | undefined,
  expected: Jwks | 'refused',
  asked: number,
];
const rows: readonly (readonly [string, readonly Step[]])[] = [
  [
    'within freshness nobody asks',
    [
      [0, ANN, undefined, ANN, 1],
      [29_999, BOTH, undefined, ANN, 1],
      [1, BOTH, undefined, BOTH, 2],
    ],
  ],
  [
    'a key that is there needs no question',
    [
      [0, ANN, 'key-ann', ANN, 1],
      [5_000, BOTH, 'key-ann', ANN, 1],
    ],
  ],
  [
    'a key that is not there is asked for, once in five seconds',
    [
      [0, ANN, undefined, ANN, 1],
      [4_999, BOTH, 'key-bob', ANN, 1],
      [1, BOTH, 'key-bob', BOTH, 2],
      [0, BOTH, 'key-zoe', BOTH, 2],
      [5_000, BOTH, 'key-zoe', BOTH, 3],
      [4_999, BOTH, 'key-zoe', BOTH, 3],
    ],
  ],
  [
    'a failure is bridged for a minute, and not asked about all the time',
    [
      [0, ANN, undefined, ANN, 1],
      [30_000, null, undefined, ANN, 2],
      [4_999, null, undefined, ANN, 2],
      [1, null, undefined, ANN, 3],
      [24_999, null, undefined, ANN, 4],
      [1, null, undefined, 'refused', 5],
      [0, null, undefined, 'refused', 6],
      [0, BOTH, undefined, BOTH, 7],
    ],
  ],
  [
    'without a first answer there is none',
    [
      [0, null, undefined, 'refused', 1],
      [0, ANN, undefined, ANN, 2],
    ],
  ],
];

describe('keys', () => {
  it.each(rows)('%s', async (_what, steps) => {
    const clock = handClock();
    const source = custody();
    const keys = holdKeys(source.ask, holding(clock.holding));
    for (const [passMs, set, kid, expected, asked] of steps) {
      clock.pass(passMs);
      source.answer = set;
      const got = await keys.load(kid).catch((fault: Refusal) => fault.code);
      expect(got).toBe(expected === 'refused' ? 'reviewers_unavailable' : expected);
      expect(source.asked).toBe(asked);
    }
  });

  it('are asked for once by many who need them at once', async () => {
    const source = custody();
    const keys = holdKeys(source.ask, holding({}));
    expect(await Promise.all([1, 2, 3].map(() => keys.load()))).toEqual([ANN, ANN, ANN]);
    expect(source.asked).toBe(1);
  });

  it('are counted from before they were asked for', async () => {
    const clock = handClock();
    const source = custody();
    const slow = async (): Promise<Jwks> => {
      clock.pass(59_999);
      return source.ask();
    };
    const keys = holdKeys(slow, holding(clock.holding));
    await keys.load();
    source.answer = null;
    clock.pass(1);
    await expect(keys.load()).rejects.toThrow(Refusal);
  });

  it('are never older than they may be, whatever happens', async () => {
    const step = fc.record({
      pass: fc.integer({ min: 0, max: 40_000 }),
      works: fc.boolean(),
      kid: fc.constantFrom(undefined, 'key-ann', 'key-zoe'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        let now = 0;
        let works = true;
        const bornAt = new Map<Jwks, number>();
        let lastAsked = Number.NEGATIVE_INFINITY;
        const keys = holdKeys(
          async () => {
            const usable = Math.max(...bornAt.values(), Number.NEGATIVE_INFINITY) > now - 60_000;
            if (usable && now - lastAsked < 5_000) throw new Error('asked too often');
            lastAsked = now;
            if (!works) throw new Error('not there');
            const jwks = { ...ANN };
            bornAt.set(jwks, now);
            return jwks;
          },
          holding({ clock: () => now }),
        );
        for (const { pass, works: working, kid } of steps) {
          now += pass;
          works = working;
          const got = await keys.load(kid).catch((fault: Refusal) => fault.code);
          if (typeof got === 'string') expect([got, works]).toEqual(['reviewers_unavailable', false]);
          else expect(now - (bornAt.get(got) ?? Number.NEGATIVE_INFINITY)).toBeLessThan(60_000);
        }
      }),
      { numRuns: 500, seed: 5 },
    );
  });
});
