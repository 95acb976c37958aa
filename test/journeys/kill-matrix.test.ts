/**
 * A few cells of the kill matrix, one of each kind, so that every change is tried on real kills; CI runs the whole matrix
 * beside the tests. Held here:
 * - killed during a send, a plan before a sink that enforces nothing ends with every effect written once;
 * - where nobody can know, a person is asked, and nothing is written twice;
 * - a paused worker that comes back after another has finished writes nothing;
 * - asked again after its end, a plan tells the same outcome and sends nothing.
 */
import { expect, test } from 'vitest';
import { playMatrix } from '../../scripts/kill-matrix/play';
import { totals } from '../../scripts/kill-matrix/verdict';

test('kills, a pause and a repetition end as they must', { timeout: 240_000 }, async () => {
  const cells = [
    { fault: 'during-send', sink: 'lookup' },
    { fault: 'after-slot', sink: 'blind' },
    { fault: 'paused-worker', sink: 'fhir' },
    { fault: 'after-completion', sink: 'enforcing' },
  ] as const;
  const { reports, skipped } = await playMatrix({ cells, jobs: 4, journal: 'files' }, () => undefined);
  expect(skipped).toEqual([]);
  expect(reports.flatMap(({ fault, sink, verdict }) => verdict.why.map((why) => `${fault} × ${sink}: ${why}`))).toEqual(
    [],
  );
  expect(totals(reports.map(({ verdict }) => verdict))).toEqual({
    cells: 4,
    wrong: 0,
    duplicates: 0,
    lost: 0,
    reviews: 1,
  });
});
