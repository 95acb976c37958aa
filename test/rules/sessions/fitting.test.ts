/**
 * What a workflow that was reset says into a log that has gone further.
 *
 * Held here:
 * - whatever two runs of a session say from the same moment on, the log is one that the rules accept, however they are mixed;
 * - an outcome that the second one knows of a call stands in the log at the end, unless a person is still asked about it there;
 * - what is said twice stands there once.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { recordToText, chained, type TimedEvent } from '../../../src/rules/invocations/session-record';
import { SessionLogReader } from '../../../src/rules/invocations/session-log';
import { SessionView } from '../../../src/rules/invocations/session-view';
import { isFinished } from '../../../src/rules/invocations/vocabulary';
import { eventKey, isCounted } from '../../../src/rules/sessions/event-key';
import { fitted } from '../../../src/rules/sessions/fitting';
import {
  DRAWS,
  Teller,
  completed,
  dispatched,
  drawer,
  question,
  queued,
  requested,
  started,
  unsent,
  user,
  answer,
} from '../invocations/story';
import { T0, callId } from '../invocations/support';

/** The events with which time each of its kind it is. */
function timed(events: readonly TimedEvent[]): readonly (TimedEvent & { readonly key: string })[] {
  const keys = new Set<string>();
  return events.map((said) => {
    let time = 1;
    while (isCounted(said.event) && keys.has(eventKey(said.event, time))) time += 1;
    const key = eventKey(said.event, time);
    keys.add(key);
    return { ...said, key };
  });
}

function merged(first: readonly TimedEvent[], second: readonly TimedEvent[]): readonly TimedEvent[] {
  const view = new SessionView('s1');
  const keys = new Set<string>();
  const log: TimedEvent[] = [];
  for (const { key, ...said } of [...timed(first), ...timed(second)]) {
    if (keys.has(key)) continue;
    const fresh = fitted(view, said);
    if (fresh.length > 0) keys.add(key);
    log.push(...fresh);
  }
  return log;
}

function read(log: readonly TimedEvent[]): SessionView {
  const reader = new SessionLogReader('s1');
  for (const { record } of chained('s1', null, log)) reader.take(recordToText(record));
  return reader.view;
}

it('is a log that the rules accept, with every outcome that is known', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(DRAWS, DRAWS, fc.nat(60), fc.nat(60), (numbers, others, common, cut) => {
      const teller = new Teller(drawer(numbers));
      teller.run();
      // Another run of the same session, which draws the same up to some moment.
      const other = new Teller(drawer([...numbers.slice(0, common), ...others]));
      other.run();
      const log = merged(teller.events.slice(0, cut), other.events);
      const view = read(log);
      for (const { event } of other.events) {
        if (event.type !== 'tool.completed' || view.ended !== null) continue;
        const call = view.calls.get(event.callId);
        const asked = view.approvalsOf(event.callId).some(({ status }) => status !== 'approved');
        // What the calls of a round are stands in the journal: no two runs differ in that.
        const same = call?.runId === other.view.calls.get(event.callId)?.runId;
        if (call !== undefined && same && !asked) expect(isFinished(call.status)).toBe(true);
      }
    }),
    { numRuns: 300, seed: 7 },
  );
});

const A = callId(0);
const opening = [started(), user(1), answer(1, 1, ['charge']), requested(0)].map((event) => ({ at: T0, event }));
const at = (event: Parameters<typeof fitted>[1]['event']): TimedEvent => ({ at: T0, event });
const lost = { type: 'tool.indeterminate', callId: A, code: 'dispatch:lease_expired', exhausted: true } as const;

it.each([
  ['given up, where a worker had had it', [dispatched(A, T0)], unsent(A, 'session:cancelled', T0), ['looked_up']],
  ['given up, where it was in doubt', [dispatched(A, T0), lost], unsent(A, 'session:cancelled', T0), ['looked_up']],
  ['done, where it was queued', [queued(A, T0)], completed(A, T0), ['first', 'result']],
  ['done, where it was in doubt', [dispatched(A, T0), lost], completed(A, T0), ['result']],
  ['queued, where a worker had it', [dispatched(A, T0)], queued(A, T0), []],
  ['in doubt, where it was done', [dispatched(A, T0), completed(A, T0)], lost, []],
  [
    'done, where people are asked',
    [{ type: 'approval.required', approval: question(A, T0) } as const],
    completed(A, T0),
    [],
  ],
])('a call that is %s', (_what, before, said, grounds) => {
  const view = new SessionView('s1');
  for (const { event } of [...opening, ...before.map(at)]) view.take(event, T0);
  const written = fitted(view, at(said));
  expect(written.map(({ event }) => ('ground' in event ? event.ground : event.type))).toEqual(grounds);
});
