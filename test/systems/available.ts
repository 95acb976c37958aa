/**
 * Suites against a real system that may not be had on this machine.
 *
 * Invariant: such a suite never passes without its system. With `COUNTERSIGN_SYSTEMS=all`, as in CI, it fails by the sentence
 * that says what is missing; elsewhere it is reported as skipped and the sentence is printed.
 */
import { afterAll, describe, it } from 'vitest';
import { allSystemsDemanded, isMissing, type Missing, type Running } from './system';

/** A `describe` around one system, which is started once for the suite and ended after it. */
export function describeWith<System extends Running>(
  name: string,
  start: () => Promise<System | Missing>,
  suite: (system: System) => void,
): void {
  describe(name, async () => {
    const system = await start();
    if (!isMissing(system)) {
      afterAll(() => system.end());
      suite(system);
      return;
    }
    const { missing } = system;
    if (allSystemsDemanded()) {
      it('has its system', () => {
        throw new Error(`${name}: ${missing}`);
      });
      return;
    }
    process.stderr.write(`skipped: ${name}: ${missing}\n`);
    it.skip(missing, () => undefined);
  });
}
