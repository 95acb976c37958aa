/** Random schedules: mostly progress, now and then trouble; shrunk to the few deeds that matter. */
import fc from 'fast-check';
import { SINK_KINDS } from './sink';
import type { Action, Deed, Schedule } from './world';

const WEIGHTS: Record<Deed, number> = {
  run: 240,
  trouble: 45,
  tick: 30,
  to_slot: 10,
  to_send: 15,
  crash: 12,
  crash_after: 12,
  pause: 10,
  resume: 12,
  lose_contact: 12,
  rival: 10,
  reset: 8,
  cancel: 1,
  shut_down: 4,
  reobserve: 6,
  approve: 0,
  reject: 0,
  reopen: 0,
  end: 0,
  revoke: 0,
};
const PEOPLE: Partial<Record<Deed, number>> = { approve: 110, reject: 1, reopen: 40, end: 1, revoke: 12 };

function actionOf(weights: Record<Deed, number>): fc.Arbitrary<Action> {
  const deeds = Object.entries(weights).filter(([, weight]) => weight > 0);
  const deed = fc.oneof(...deeds.map(([name, weight]) => ({ weight, arbitrary: fc.constant(name as Deed) })));
  return fc.tuple(deed, fc.nat(15), fc.nat(10));
}
const action = actionOf(WEIGHTS);

/** A process stands before its slot or its send, is given up or dies, another goes on, the first one perhaps too. */
const handover: fc.Arbitrary<readonly Action[]> = fc
  .record({
    who: fc.nat(2),
    stand: fc.constantFrom<Deed>('to_slot', 'to_send'),
    stop: fc.constantFrom<Deed>('pause', 'trouble', 'run', 'crash_after'),
    next: fc.constantFrom<Deed>('lose_contact', 'lose_contact', 'rival', 'reset', 'cancel'),
    arg: fc.nat(10),
    ticks: fc.nat(10),
    middle: fc.array(action, { maxLength: 8 }),
  })
  .map(({ who, stand, stop, next, arg, ticks, middle }) => [
    [stand, who, arg],
    [stop, who, arg],
    [next, who, arg],
    ['run', who, 10],
    ['tick', 0, ticks],
    ...middle,
    ['run', who + 1, 10],
    ['resume', 0, 0],
    ['run', who, 10],
  ]);

const scenes = fc.oneof(
  { weight: 12, arbitrary: action.map((one): readonly Action[] => [one]) },
  { weight: 1, arbitrary: handover },
);

export const schedules: fc.Arbitrary<Schedule> = fc.record({
  order: fc.constantFrom('ordered', 'independent'),
  sinks: fc.array(fc.constantFrom(...SINK_KINDS), { minLength: 1, maxLength: 3 }),
  actions: fc.array(scenes, { maxLength: 40, size: 'max' }).map((parts) => parts.flat()),
});

const peopled = actionOf({ ...WEIGHTS, ...PEOPLE });

/** Two approve for a few seconds, something is done on the strength of it, and then it is too late, or a key is gone. */
const lost: fc.Arbitrary<readonly Action[]> = fc
  .record({
    run: fc.nat(10),
    loss: fc.constantFrom<Deed>('tick', 'tick', 'revoke'),
    middle: fc.array(peopled, { maxLength: 4 }),
  })
  .map(({ run, loss, middle }): readonly Action[] => [
    ['run', 0, 10],
    ['run', 0, 10],
    ['approve', 3, 0],
    ['approve', 3, 1],
    ['run', 0, 10],
    ['run', 0, run],
    [loss, 0, 10],
    ...middle,
    ['run', 0, 10],
    ['run', 0, 10],
    ['reopen', 0, 2],
  ]);

/** The same, with people who must approve, and do what they like. */
export const peopledSchedules: fc.Arbitrary<Schedule> = fc.record({
  order: fc.constantFrom('ordered', 'independent'),
  sinks: fc.array(fc.constantFrom(...SINK_KINDS), { minLength: 1, maxLength: 3 }),
  actions: fc
    .array(
      fc.oneof(
        { weight: 10, arbitrary: peopled.map((one): readonly Action[] => [one]) },
        { weight: 1, arbitrary: lost },
        { weight: 1, arbitrary: handover },
      ),
      { maxLength: 40, size: 'max' },
    )
    .map((parts) => parts.flat()),
  people: fc.constant(true),
});
