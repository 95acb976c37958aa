/**
 * Properties:
 * - a digest is found under its number and nowhere else, in chains of any length
 * - of a retired lineage the end is known, what came before is retired, and what would come after is past its end
 */
import { expect, it } from 'vitest';
import { sha256Digest } from '../../src/rules/recovery';
import { ChainDigests } from '../../src/verify/chain-digests';

const RUN = `run_${'a'.repeat(32)}`;

it('keeps every digest under its number', () => {
  const chains = new ChainDigests();
  for (let sequence = 0; sequence < 100; sequence += 1) chains.add(RUN, 1, sha256Digest(`${sequence}`));
  const chain = chains.of(RUN, 1);
  expect(chain?.length).toBe(100);
  for (const sequence of [0, 3, 4, 99]) expect(chain?.at(sequence)).toBe(sha256Digest(`${sequence}`));
  expect(chain?.at(100)).toBeNull();
  expect(chain?.holds(sha256Digest('57'))).toBe(true);
  expect(chain?.holds(sha256Digest('100'))).toBe(false);
  expect(chains.of(RUN, 2)).toBeNull();
});

it('knows the end of a retired lineage, and that the rest is retired', () => {
  const chains = new ChainDigests();
  chains.addEnd(RUN, 1, 5, sha256Digest('end'));
  const chain = chains.of(RUN, 1);
  expect(chain?.length).toBe(5);
  expect(chain?.at(4)).toBe(sha256Digest('end'));
  expect([3, 4, 5].map((sequence) => chain?.isRetired(sequence))).toEqual([true, false, false]);
  expect(chain?.at(5)).toBeNull();
});
