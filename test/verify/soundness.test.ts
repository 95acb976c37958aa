/**
 * Journals of real drivers under any schedule of crashes, pauses, takeovers, slow and failing stores.
 *
 * Held here:
 * - whatever the engine's drivers do to each other, the journal they leave verifies strictly: no claim that `verify` makes
 *   about slots, epochs, heads and proofs accuses an honest journal;
 * - so does every state that the journal had on the way, entry by entry;
 * - the witnesses of one checkpoint, taken out of such a journal, are missed.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifyJournal } from '../../src/verify';
import { schedules } from '../activities/simulation/schedules';
import { World } from '../activities/simulation/world';
import { memoryView } from './memory-view';

const numRuns = Number(process.env['MODEL_SCHEDULES'] ?? 150);
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_202);

describe('an honest journal', () => {
  it('is never accused', { timeout: 3_600_000 }, async () => {
    const seen = { takeovers: 0, checkpoints: 0, prefixes: 0, witnesses: 0 };
    await fc.assert(
      fc.asyncProperty(schedules, fc.integer({ min: 0, max: 10_000 }), async (schedule, pick) => {
        const world = await new World(schedule).run();
        const entries = [...world.store.entries];
        const whole = await verifyJournal(memoryView(new Map(entries)), { strict: true });
        expect(whole.findings).toEqual([]);
        seen.checkpoints += whole.checkpoints;
        seen.takeovers += (whole.runs[0]?.epochs ?? 1) - 1;
        // Entries stand in the order in which they came into being.
        const until = 1 + (pick % entries.length);
        const early = await verifyJournal(memoryView(new Map(entries.slice(0, until))), { strict: true });
        expect(early.findings).toEqual([]);
        seen.prefixes += 1;
        const justifying = entries.filter(([name]) => name.includes('/witnesses/')).map(([name]) => name.slice(0, -69));
        const folder = justifying[pick % Math.max(1, justifying.length)];
        if (folder === undefined) return;
        const without = entries.filter(([name]) => !name.startsWith(folder));
        const appended = whole.runs[0]!.lineages[0]!.chain.some(({ digest }) => folder.includes(digest.slice(7)));
        const report = await verifyJournal(memoryView(new Map(without)), { strict: true });
        expect(report.ok).toBe(!appended);
        seen.witnesses += 1;
      }),
      { numRuns, seed },
    );
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0);
  });
});
