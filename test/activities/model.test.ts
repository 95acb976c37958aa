/**
 * The real engine, up to three drivers of one plan, simulated stores, sinks and time, and random schedules of crashes,
 * pauses, lost contact, resets, rivals, cancellations, slow and failing stores, late and lost sends.
 *
 * Held here, at every step of every schedule:
 * - a send is the one use of a slot that this very process took, in time, with no earlier send that may still land, and
 *   none of unknown outcome where the sink can neither be asked nor enforces keys;
 * - an ordered plan sends an effect only after every earlier one was written;
 * - a sink writes a key at most once, but for a process stopped in front of the sink past deadline + settle time;
 * - every checkpoint is valid, justified by a witness, and true of every sink when it is appended; what a closed chain calls
 *   not sent is never written afterwards; all drivers know the same chain;
 * - when nothing goes wrong any more, every plan ends; no effect is lost; a person is needed only where a send is open at a
 *   sink that can neither be asked nor enforces keys;
 * - what people must approve is never sent without two approvals in the chain, nor by an execution that began after one of them
 *   had expired, was revoked, or after a rejection; a new lineage carries on where the last one was left;
 * - the checks have teeth: each of a list of broken engines is caught.
 *
 * MODEL_SCHEDULES and MODEL_SEED make a longer, or another, run.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Journal } from '../../src/activities/journal';
import { BROKEN_ENGINES, BROKEN_WITH_PEOPLE } from './simulation/broken';
import { peopledSchedules, schedules } from './simulation/schedules';
import { World, type Action, type Schedule } from './simulation/world';

const numRuns = Number(process.env['MODEL_SCHEDULES'] ?? 2_000);
const seed = Number(process.env['MODEL_SEED'] ?? 20_260_101);

const run = (times: number): Action[] => Array.from({ length: times }, () => ['run', 0, 10]);

/** A sender is stopped before it takes its slot; meanwhile its plan is cancelled and closed; then it goes on. */
const CLOSED_BEHIND: Schedule = {
  order: 'ordered',
  sinks: ['authoritative'],
  actions: [['to_slot', 0, 0], ['pause', 0, 0], ['cancel', 0, 0], ['lose_contact', 0, 0], ...run(2), ['resume', 0, 0]],
};

/** A sender is stopped after its last check, until another has waited for its quiet and sent; then it goes on. */
const STATED_EXCEPTION: Schedule = {
  order: 'ordered',
  sinks: ['authoritative'],
  actions: [
    ['to_send', 0, 0],
    ['pause', 0, 0],
    ['lose_contact', 0, 0],
    ...run(5),
    ['tick', 0, 10],
    ...run(6),
    ['resume', 0, 0],
    ...run(2),
  ],
};

/** A send of unknown outcome, its driver lost, and a rival; both are told to end the plan. */
const BOTH_CANCEL: Schedule = {
  order: 'ordered',
  sinks: ['authoritative'],
  actions: [
    ['to_slot', 0, 0],
    ['crash_after', 0, 0],
    ['lose_contact', 0, 0],
    ['run', 0, 10],
    ['rival', 0, 0],
    ['run', 1, 10],
    ['run', 0, 10],
    ['to_slot', 1, 0],
    ['pause', 1, 0],
    ['cancel', 1, 0],
    ['run', 1, 10],
    ['run', 2, 10],
    ['resume', 0, 0],
    ['run', 1, 10],
    ['cancel', 0, 0],
    ['to_slot', 0, 0],
    ['pause', 0, 0],
    ['lose_contact', 0, 0],
    ['run', 0, 10],
    ['tick', 0, 1],
    ['run', 1, 10],
    ['resume', 0, 0],
    ['run', 0, 10],
  ],
};

describe('the engine under any schedule', () => {
  it('keeps every promise', { timeout: 3_600_000 }, async () => {
    const seen = { sends: 0, takeovers: 0, parked: 0, refused: 0, completed: 0, aborted: 0 };
    await fc.assert(
      fc.asyncProperty(schedules, async (schedule) => {
        const { watch, drivers } = await new World(schedule).run();
        expect(watch.violations).toEqual([]);
        seen.sends += watch.sends;
        seen.takeovers += watch.takeovers;
        seen.refused += watch.refusals;
        seen.parked += drivers.reduce((parks, driver) => parks + driver.parks, 0);
        if (watch.head?.phase === 'completed') seen.completed += 1;
        if (watch.head?.phase === 'aborted') seen.aborted += 1;
      }),
      { numRuns, seed },
    );
    // Rare things that must have happened, or the model shows nothing about them.
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0);
    if (process.env['MODEL_REPORT'] !== undefined) console.log(seen);
  });

  it('runs the same way again', async () => {
    for (const schedule of fc.sample(schedules, { numRuns: 10, seed })) {
      const [one, other] = [await new World(schedule).run(), await new World(schedule).run()];
      expect([...other.store.entries]).toEqual([...one.store.entries]);
    }
  });
});

describe('a plan that people decide about', () => {
  it('keeps every promise, and theirs', { timeout: 3_600_000 }, async () => {
    const seen = { sends: 0, takeovers: 0, approvals: 0, reopened: 0, completed: 0, aborted: 0 };
    await fc.assert(
      fc.asyncProperty(peopledSchedules, async (schedule) => {
        const { watch } = await new World(schedule).run();
        expect(watch.violations).toEqual([]);
        seen.sends += watch.sends;
        seen.takeovers += watch.takeovers;
        seen.approvals += watch.approvals;
        seen.reopened += watch.reopened;
        if (watch.head?.phase === 'completed') seen.completed += 1;
        if (watch.head?.phase === 'aborted') seen.aborted += 1;
      }),
      { numRuns: Math.ceil(numRuns / 10), seed },
    );
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0);
    if (process.env['MODEL_REPORT'] !== undefined) console.log(seen);
  });
});

describe('the promises to people', () => {
  it.each(Object.keys(BROKEN_WITH_PEOPLE))('show an engine that %s', { timeout: 3_600_000 }, async (name) => {
    const broken = fc.asyncProperty(peopledSchedules, async (schedule) => {
      const { watch } = await new World(schedule, BROKEN_WITH_PEOPLE[name]).run();
      return watch.violations.length === 0;
    });
    const { failed } = await fc.check(broken, { numRuns: 600, seed, endOnFailure: true });
    expect(failed).toBe(true);
  });
});

describe('two drivers that are both told to cancel', () => {
  it('do not take the turn from each other for ever while a send has to become quiet', async () => {
    const { watch, drivers } = await new World(BOTH_CANCEL).run();
    expect(watch.violations).toEqual([]);
    expect(drivers.map((driver) => driver.state)).toEqual(['closed', 'closed']);
  });
});

describe('a process that is stopped between its last check and its request', () => {
  it('may write a second time where the sink enforces no keys: the stated exception', async () => {
    const { watch } = await new World(STATED_EXCEPTION).run();
    expect({ violations: watch.violations, excused: watch.excused }).toEqual({ violations: [], excused: 1 });
  });

  it('does no harm where the sink enforces its keys', async () => {
    const { watch, sinks } = await new World({ ...STATED_EXCEPTION, sinks: ['enforcing'] }).run();
    expect({ violations: watch.violations, excused: watch.excused }).toEqual({ violations: [], excused: 0 });
    expect([...sinks.enforcing.writes.values()].map((writes) => writes.length)).toEqual([1]);
  });
});

describe('the invariants', () => {
  it.each(Object.keys(BROKEN_ENGINES))('notice an engine that %s', { timeout: 3_600_000 }, async (name) => {
    const variant = BROKEN_ENGINES[name];
    let tried = 0;
    const directed = await new World(CLOSED_BEHIND, variant).run();
    if (directed.watch.violations.length > 0) return;
    const broken = fc.asyncProperty(schedules, async (schedule) => {
      tried += 1;
      const { watch } = await new World(schedule, variant).run();
      return watch.violations.length === 0;
    });
    const { failed } = await fc.check(broken, { numRuns: 400, seed, endOnFailure: true });
    expect(failed).toBe(true);
    if (process.env['MODEL_REPORT'] !== undefined) console.log(`${name}: caught by schedule ${tried}`);
  });

  it('are asked about the engine itself, and not about a look-alike', async () => {
    const same = await new World(CLOSED_BEHIND, { journal: (store) => new Journal(store) }).run();
    expect(same.watch.violations).toEqual([]);
  });
});
