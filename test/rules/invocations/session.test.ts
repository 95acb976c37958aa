/**
 * Sessions as their logs tell them.
 *
 * Held here:
 * - the status after every event of a story is the written one; ledger, results and timeline are what the story says, in full;
 * - an event that cannot follow is refused, and changes nothing: out of turn, twice, after the end, without its approval, by the
 *   requester, too early, too late, or about what is not there;
 * - random sessions that do what the rules say come to an end, and from every prefix of their log the same comes next: the model is
 *   asked once a round; each call is dispatched once an attempt; cancelled anywhere, nothing more is dispatched;
 * - tokens, rounds and time count to their very number, time for people does not, and a lifted limit is as much again;
 * - a log is read whole or refused by its line: changed, dropped, doubled, swapped, of another session, or behind a refused one.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { askApproval, nextApprovalId } from '../../../src/rules/invocations/approval';
import type { AskedApproval } from '../../../src/rules/invocations/approval-record';
import { ledgerRows } from '../../../src/rules/invocations/ledger';
import { limitReached, wallClockLeftMs } from '../../../src/rules/invocations/limits';
import { nextSessionStep } from '../../../src/rules/invocations/next-session-step';
import type { SessionEvent, SessionLimits } from '../../../src/rules/invocations/session-event';
import { SessionLogReader } from '../../../src/rules/invocations/session-log';
import {
  chained,
  recordName,
  recordToText,
  type SessionRecord,
  type TimedEvent,
} from '../../../src/rules/invocations/session-record';
import { SessionView, type Round } from '../../../src/rules/invocations/session-view';
import { timelineOf } from '../../../src/rules/invocations/timeline';
import { resultsInOrder } from '../../../src/rules/invocations/tool-results';
import { isFinished, type SessionStatus } from '../../../src/rules/invocations/vocabulary';
import { Refusal } from '../../../src/rules/refusal';
import {
  DRAWS,
  NO_LIMITS,
  TERMS,
  Teller,
  answer,
  completed,
  decided,
  dispatched,
  drawer,
  queued,
  question,
  requested,
  started,
  unsent,
  user,
  vote,
} from './story';
import { CHARGE, T0, callId, digest } from './support';

const [A, B, C] = [0, 1, 2].map((index) => callId(index)) as [string, string, string];
const ASKED = question(B, T0 + 30, { onTimeout: { escalate: ['role:example.org/board'] } });
const BOARD: AskedApproval = {
  ...question(B, T0 + 1_030, { route: 'role:example.org/board' }, 2),
  approvalId: nextApprovalId(ASKED.approvalId),
  depth: 1,
  after: ASKED.approvalId,
};
const lost = (id: string): SessionEvent => ({
  type: 'tool.indeterminate',
  callId: id,
  code: 'dispatch:lease_expired',
  exhausted: false,
});

/** One turn: a call that works, one that people decide, one that is lost; and an answer. */
const STORY: readonly (readonly [at: number, event: SessionEvent, status: SessionStatus])[] = [
  [0, started(), 'awaiting_input'],
  [10, user(1), 'running'],
  [20, answer(1, 1, ['charge', 'charge', 'charge']), 'running'],
  [21, requested(0), 'running'],
  [21, requested(1), 'running'],
  [21, requested(2), 'awaiting_tool'],
  [25, queued(A, T0 + 24), 'awaiting_tool'],
  [30, { type: 'approval.required', approval: ASKED }, 'awaiting_tool'],
  [35, dispatched(C, T0 + 28), 'awaiting_tool'],
  [40, dispatched(A, T0 + 38), 'awaiting_tool'],
  [60, completed(A, T0 + 58), 'awaiting_tool'],
  [70, lost(C), 'awaiting_approval'],
  [80, vote(ASKED, 'ann'), 'awaiting_approval'],
  [1_030, { type: 'approval.escalated', approvalId: ASKED.approvalId, next: BOARD.approvalId }, 'awaiting_approval'],
  [1_030, { type: 'approval.required', approval: BOARD }, 'awaiting_approval'],
  [1_040, vote(BOARD, 'ann'), 'awaiting_approval'],
  [1_050, vote(BOARD, 'bob'), 'awaiting_approval'],
  [1_050, decided(BOARD), 'awaiting_approval'],
  [1_060, queued(B, T0 + 1_059), 'awaiting_tool'],
  [1_070, dispatched(B, T0 + 1_069), 'awaiting_tool'],
  [
    1_080,
    completed(B, T0 + 1_079, { status: 'failed', resultDigest: null, errorCode: 'card_declined' }),
    'awaiting_approval',
  ],
  [1_090, completed(C, T0 + 1_088, { ground: 'resolution' }), 'running'],
  [1_100, answer(1, 2, []), 'awaiting_input'],
  [1_110, { type: 'session.completed' }, 'completed'],
];
const timed = STORY.map(([at, event]): TimedEvent => ({ at: T0 + at, event }));

function told(events: readonly TimedEvent[]): SessionView {
  const view = new SessionView('s1');
  for (const { event, at } of events) view.take(event, at);
  return view;
}
/** The story up to and with the first event of this type, or the first so many of it. */
const upTo = (count: number): SessionView => told(timed.slice(0, count));
const after = (type: SessionEvent['type'], which = 1): SessionView => {
  let left = which;
  return upTo(timed.findIndex(({ event }) => event.type === type && (left -= 1) === 0) + 1);
};

describe('a story', () => {
  it('has a status after every event', () => {
    const view = new SessionView('s1');
    expect(view.status).toBe('pending');
    for (const [at, event, status] of STORY) {
      view.take(event, T0 + at);
      expect([event.type, view.status]).toEqual([event.type, status]);
    }
  });

  it('has a row for each call, with every field', () => {
    const common = { session_id: 's1', agent_version_id: 'v1', turn: 1, round: 1, tool: 'charge', version: '1.0.0' };
    const row = (id: string, index: number) => ({
      call_id: id,
      ...common,
      index,
      side_effect_class: 'non_idempotent_write',
      args_digest: digest(`args ${id}`),
      worker_identity: 'w@1',
      attempt: 1,
      created_at: T0 + 21,
    });
    const declined = { error_code: 'card_declined', error_message: "the tool's handler failed with this code" };
    const fine = { status: 'succeeded', error_code: null, error_message: null };
    expect(ledgerRows(told(timed))).toEqual([
      {
        ...row(A, 0),
        ...fine,
        result_digest: digest(`result of ${A}`),
        queued_at: T0 + 24,
        dispatched_at: T0 + 38,
        completed_at: T0 + 58,
      },
      {
        ...row(B, 1),
        ...declined,
        status: 'failed',
        result_digest: null,
        queued_at: T0 + 1_059,
        dispatched_at: T0 + 1_069,
        completed_at: T0 + 1_079,
      },
      {
        ...row(C, 2),
        ...fine,
        result_digest: digest(`result of ${C}`),
        queued_at: null,
        dispatched_at: T0 + 28,
        completed_at: T0 + 1_088,
      },
    ]);
  });

  it('has its results in the order in which the model asked, once all are there', () => {
    const view = told(timed);
    const round: Round = {
      turn: 1,
      round: 1,
      calls: Array.from({ length: 3 }, () => ({ tool: 'charge', argsDigest: digest('x') })),
    };
    expect(resultsInOrder(upTo(21), round)).toBeNull();
    expect(
      resultsInOrder(view, round)?.map(({ callId: id, wireId, status, errorCode }) => [id, wireId, status, errorCode]),
    ).toEqual([
      [A, A, 'succeeded', null],
      [B, B, 'failed', 'card_declined'],
      [C, C, 'succeeded', null],
    ]);
    expect(resultsInOrder(view, { turn: 1, round: 2, calls: [] })).toEqual([]);
  });

  it('is one line of time, with how long calls waited, ran, and were asked about', () => {
    const records = chained('s1', null, timed).map(({ record }) => record);
    const line = timelineOf(records);
    expect(
      line
        .map(({ at, sequence }) => [at, sequence])
        .every(([at = 0, sequence = 0], index) => {
          const [last = 0, before = 0] = index === 0 ? [0, 0] : [line[index - 1]?.at, line[index - 1]?.sequence];
          return at > last || (at === last && sequence > before);
        }),
    ).toBe(true);
    const told = line.flatMap(({ type, callId: id, queuedMs, executedMs, askedMs }) =>
      [queuedMs, executedMs, askedMs].some((ms) => ms !== null) ? [[type, id, queuedMs, executedMs, askedMs]] : [],
    );
    expect(told).toEqual([
      ['tool.dispatched', C, 7, null, null],
      ['tool.dispatched', A, 14, null, null],
      ['tool.completed', A, null, 20, null],
      ['approval.escalated', B, null, null, 1_000],
      ['approval.decided', B, null, null, 20],
      ['tool.dispatched', B, 10, null, null],
      ['tool.completed', B, null, 10, null],
      ['tool.completed', C, null, 1_060, null],
    ]);
    expect(line.find(({ type }) => type === 'tool.dispatched')?.detail).toEqual({
      attempt: 1,
      ground: 'first',
      worker_identity: 'w@1',
      dispatched_at: T0 + 28,
    });
    // A worker whose clock is behind took no less than no time.
    const skewed = [
      started(),
      user(1),
      answer(1, 1, ['charge']),
      requested(0),
      dispatched(A, T0 - 5),
      completed(A, T0 - 9),
    ];
    const odd = timelineOf(
      chained(
        's1',
        null,
        skewed.map((event) => ({ at: T0, event })),
      ).map(({ record }) => record),
    );
    expect(odd.map(({ queuedMs, executedMs }) => queuedMs ?? executedMs).filter((ms) => ms !== null)).toEqual([0, 0]);
  });
});

describe('an event that cannot follow', () => {
  const ended: SessionEvent = { type: 'session.completed' };
  const all = (): SessionView => told(timed);
  const asked = (id: string, more: Partial<AskedApproval> = {}): SessionEvent => ({
    type: 'approval.required',
    approval: { ...question(id, T0), ...more } as AskedApproval,
  });
  const escalated: SessionEvent = { type: 'approval.escalated', approvalId: ASKED.approvalId, next: BOARD.approvalId };
  const cases: readonly [string, () => SessionView, SessionEvent, number?][] = [
    ['anything before the start', () => upTo(0), user(1)],
    ['a second start', () => upTo(1), started()],
    ['an answer to nothing', () => upTo(1), answer(1, 1, [])],
    ['a message in the middle of a turn', () => upTo(2), user(2)],
    ['a message of another turn', () => upTo(1), user(2)],
    ['an answer of another turn', () => upTo(2), answer(2, 1, [])],
    ['an answer of another round', () => upTo(2), answer(1, 2, [])],
    ['an answer while calls are not recorded', () => upTo(3), answer(1, 2, [])],
    ['an answer while calls are not finished', () => after('tool.queued'), answer(1, 2, [])],
    ['a call that was not asked for', () => upTo(3), requested(3)],
    ['a call of another round', () => upTo(3), requested(0, { round: 2 })],
    [
      'a call of another tool than was asked for',
      () => upTo(3),
      requested(0, { tool: { tool: 'refund', version: null } }),
    ],
    ['a call of another agent', () => upTo(3), { ...requested(0), callId: 's1:v2:1:1:0' } as SessionEvent],
    ['a call of another session', () => upTo(3), { ...requested(0), callId: 's2:v1:1:1:0' } as SessionEvent],
    [
      'a call with the run of another',
      () => upTo(3),
      { ...requested(0), runId: (requested(1) as { runId: string }).runId } as SessionEvent,
    ],
    [
      'the same place with other arguments',
      () => upTo(6),
      { ...requested(0), argsDigest: digest('other') } as SessionEvent,
    ],
    ['a dispatch of an unknown call', () => upTo(3), dispatched(A, T0)],
    ['a dispatch without the approval that was asked for', () => after('approval.required'), dispatched(B, T0)],
    ['a place in the queue without it', () => after('approval.required'), queued(B, T0)],
    ['a dispatch between an escalation and its question', () => after('approval.escalated'), dispatched(B, T0)],
    [
      'a second dispatch of a call that runs',
      () => after('tool.dispatched'),
      dispatched(C, T0, { attempt: 2, ground: 'resend_safe' }),
    ],
    ['a dispatch of what is finished', all, dispatched(A, T0, { attempt: 2, ground: 'redispatch' })],
    ['an outcome of what was never dispatched', () => after('tool.queued'), completed(A, T0)],
    ['another outcome', () => after('tool.completed'), completed(A, T0, { resultDigest: digest('other') })],
    ['giving up what was dispatched', () => after('tool.dispatched'), unsent(C, 'session:cancelled', T0)],
    ['a question about an unknown call', () => upTo(3), asked(A)],
    ['a question about other arguments', () => after('tool.queued'), asked(A, { argsDigest: digest('other') })],
    ['the same question twice', () => after('approval.required'), { type: 'approval.required', approval: ASKED }],
    [
      'a question after one that was not escalated',
      () => after('approval.required'),
      { type: 'approval.required', approval: BOARD },
    ],
    ['a question about a call that runs', () => after('tool.dispatched'), asked(C)],
    ['a vote on nothing', () => after('approval.required'), vote(BOARD, 'ann')],
    ['a vote of the requester', () => after('approval.required'), vote(ASKED, 'asker')],
    ['a second vote of one person', () => after('approval.vote'), vote(ASKED, 'ann')],
    ['a vote at its expiry', () => after('approval.required'), vote(ASKED, 'ann'), 1_030],
    ['a vote on what is closed', () => after('approval.escalated'), vote(ASKED, 'bob')],
    ['a decision that the votes do not say', () => after('approval.vote'), decided(ASKED)],
    [
      'silence that no rule takes for consent',
      () => after('approval.vote'),
      { ...decided(ASKED), by: 'timeout' } as SessionEvent,
      5_000,
    ],
    ['an escalation too early', () => after('approval.vote'), escalated, 1_029],
    [
      'an escalation to another question',
      () => after('approval.vote'),
      { ...escalated, next: ASKED.approvalId } as SessionEvent,
      1_030,
    ],
    [
      'an expiry where others are to be asked',
      () => after('approval.vote'),
      { type: 'approval.expired', approvalId: ASKED.approvalId },
      1_030,
    ],
    [
      'an expiry too early',
      () => after('approval.required', 2),
      { type: 'approval.expired', approvalId: BOARD.approvalId },
      2_029,
    ],
    ['an end in the middle of a turn', () => upTo(2), ended],
    ['an end with calls under way', () => after('tool.dispatched'), ended],
    [
      'a failure that leaves calls without an end',
      () => after('tool.dispatched'),
      { type: 'session.failed', code: 'limit:tokens' },
    ],
    ['a cancellation that leaves calls without an end', () => after('tool.queued'), { type: 'session.cancelled' }],
    ['a second end', all, ended],
    ['a message after the end', all, user(2)],
  ];
  it.each(cases)('%s', (_name, make, event, at = 50) => {
    const view = make();
    const untouched = make();
    expect(() => view.take(event, T0 + at)).toThrow(Refusal);
    expect(view).toEqual(untouched);
  });

  it('after the end only tells what became of calls that were under way', () => {
    const view = told(
      [started(), user(1), answer(1, 1, ['charge', 'charge']), requested(0), requested(1)].map((event) => ({
        at: T0,
        event,
      })),
    );
    for (const event of [dispatched(A, T0), dispatched(B, T0)]) view.take(event, T0);
    view.take({ type: 'session.cancelled' }, T0);
    view.take(completed(A, T0 + 5), T0 + 5);
    view.take(lost(B), T0 + 5);
    expect(() => view.take(dispatched(B, T0, { attempt: 2, ground: 'redispatch' }), T0)).toThrow('follows the end');
    view.take(completed(B, T0 + 9, { ground: 'late_result' }), T0 + 9);
    expect(view.status).toBe('cancelled');
    expect(nextSessionStep(view, T0)).toEqual({ does: 'nothing' });
  });
});

describe('whatever happens', () => {
  it(
    'the session ends, the model is asked once a round, and each prefix of the log leads on',
    { timeout: 120_000 },
    () => {
      const seen = new Set<string>();
      fc.assert(
        fc.property(DRAWS, (numbers) => {
          const teller = new Teller(drawer(numbers));
          teller.run();
          const { events, view, answers } = teller;
          for (const { event } of events) seen.add(event.type);
          expect(new Set(answers).size).toBe(answers.length);
          expect(view.unfinished).toEqual([]);
          // A prefix is what a crash leaves. It is read as it was, and goes on from there to an end of its own.
          const cut = (numbers[0] ?? 0) % (events.length + 1);
          const revived = new Teller(drawer(numbers.slice(1)));
          for (const { event, at } of events.slice(0, cut)) {
            revived.now = at;
            revived.view.take(event, at);
            revived.events.push({ event, at });
          }
          const known = revived.view.round;
          const asked = events
            .slice(0, cut)
            .flatMap(({ event }) => (event.type === 'message.assistant' ? [`${event.turn}/${event.round}`] : []));
          revived.run();
          expect(asked.filter((round) => revived.answers.includes(round))).toEqual([]);
          if (known !== null) expect(revived.view.calls.size).toBeGreaterThanOrEqual(known.calls.length);
        }),
        { numRuns: 150, seed: 9 },
      );
      expect([...seen].sort()).toEqual(
        [
          ...['approval.decided', 'approval.escalated', 'approval.expired', 'approval.required', 'approval.vote'],
          ...['message.assistant', 'message.user', 'session.completed', 'session.failed', 'session.started'],
          ...[
            'tool.completed',
            'tool.dispatched',
            'tool.indeterminate',
            'tool.policy_denied',
            'tool.queued',
            'tool.requested',
          ],
        ].sort(),
      );
    },
  );

  it('nothing is dispatched once it is to be cancelled', { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(DRAWS, fc.nat(40), (numbers, cancelAfter) => {
        const teller = new Teller(drawer(numbers));
        teller.run(cancelAfter);
        const later = teller.events.slice(cancelAfter).map(({ event }) => event.type);
        expect(later).not.toContain('tool.queued');
        expect(later).not.toContain('message.assistant');
        // What was chosen before the word came may still be written down; nothing is chosen after.
        expect(later.filter((type) => type === 'tool.dispatched').length).toBeLessThanOrEqual(1);
        const over = ['cancelled', 'completed', 'failed'];
        expect(over).toContain(teller.view.status);
        const open = teller.view.unfinished.map(({ status }) => status);
        expect(open.every((status) => status === 'indeterminate')).toBe(true);
      }),
      { numRuns: 150, seed: 10 },
    );
  });
});

describe('what comes next', () => {
  const act = (id: string, action: string) => ({ callId: id, action });
  const cases: readonly (readonly [number, unknown])[] = [
    [0, { does: 'start' }],
    [1, { does: 'wait_for_input' }],
    [2, { does: 'ask_model', turn: 1, round: 1 }],
    [3, { does: 'request_calls', indexes: [0, 1, 2] }],
    [4, { does: 'request_calls', indexes: [1, 2] }],
    [6, { does: 'go_on', calls: [act(A, 'begin'), act(B, 'begin'), act(C, 'begin')] }],
    [9, { does: 'go_on', calls: [act(A, 'enqueue'), act(B, 'wait_for_people'), act(C, 'look_up')] }],
    [12, { does: 'go_on', calls: [act(B, 'wait_for_people'), act(C, 'keep_review')] }],
    [19, { does: 'go_on', calls: [act(B, 'enqueue'), act(C, 'keep_review')] }],
    [22, { does: 'ask_model', turn: 1, round: 2 }],
    [23, { does: 'wait_for_input' }],
    [24, { does: 'nothing' }],
  ];
  it.each(cases)('after %i events of the story', (count, step) => {
    expect(nextSessionStep(upTo(count), T0 + 2_000)).toEqual(step);
  });

  it('is to give up or settle what there is, when it is to be cancelled', () => {
    expect(nextSessionStep(upTo(9), T0, true)).toEqual({
      does: 'go_on',
      calls: [act(A, 'give_up'), act(B, 'give_up'), act(C, 'settle')],
    });
    expect(nextSessionStep(upTo(2), T0, true)).toEqual({ does: 'cancel' });
    expect(nextSessionStep(upTo(0), T0, true)).toEqual({ does: 'start' });
  });

  it('is to send a safe call again, and of a child to complete', () => {
    const events = [
      started({ kind: 'child' }),
      user(1),
      answer(1, 1, ['charge']),
      requested(0, { sideEffect: 'read_only' }),
      dispatched(A, T0),
    ];
    const view = told(events.map((event) => ({ at: T0, event })));
    expect(nextSessionStep(view, T0)).toEqual({ does: 'go_on', calls: [act(A, 'resend')] });
    view.take(completed(A, T0), T0);
    view.take(answer(1, 2, []), T0);
    expect([view.status, nextSessionStep(view, T0)]).toEqual(['running', { does: 'complete' }]);
  });
});

describe('a limit', () => {
  const limited = (limits: Partial<SessionLimits>): SessionView =>
    told(
      [
        started({ limits: { ...NO_LIMITS, ...limits } }),
        user(1),
        answer(1, 1, ['charge']),
        requested(0),
        dispatched(A, T0 + 300),
        completed(A, T0 + 390),
      ].map((event, index) => ({ at: T0 + index * 100, event })),
    );
  it.each([
    [{ tokens: 120 }, 'tokens'],
    [{ tokens: 121 }, null],
    [{ rounds: 1 }, 'rounds'],
    [{ rounds: 2 }, null],
    // 100 of 1,000 ms were a wait for the user.
    [{ wallClockMs: 900 }, 'wall_clock'],
    [{ wallClockMs: 901 }, null],
    [{ tokens: 1, rounds: 1 }, 'tokens'],
    [{}, null],
  ])('%j', (limits, expected) => {
    const view = limited(limits);
    expect(limitReached(view.spending(T0 + 1_000))).toBe(expected);
    const step = nextSessionStep(view, T0 + 1_000);
    expect(step).toEqual(
      expected === null ? { does: 'ask_model', turn: 1, round: 2 } : { does: 'limit', limit: expected, action: 'ask' },
    );
  });

  it('is as much again each time that people say so, and their time does not count', () => {
    const view = limited({ wallClockMs: 900 });
    const subject = { callId: null, argsDigest: null, limit: 'wall_clock' } as const;
    const asking = {
      session: 's1',
      subject,
      reason: 'limit:escalate',
      terms: { ...TERMS, approvals: 1, expiryMs: null },
      question: 1,
      at: T0 + 1_000,
    } as const;
    const approval = askApproval(asking) as AskedApproval;
    view.take({ type: 'approval.required', approval }, T0 + 1_000);
    expect([view.status, nextSessionStep(view, T0 + 9_000)]).toEqual([
      'awaiting_approval',
      { does: 'wait_for_people' },
    ]);
    expect(wallClockLeftMs(view.spending(T0 + 9_000))).toBe(0);
    view.take(vote(approval, 'ann'), T0 + 50_000);
    expect(wallClockLeftMs(view.spending(T0 + 50_000))).toBe(900);
    expect(limitReached(view.spending(T0 + 50_899))).toBeNull();
    expect(limitReached(view.spending(T0 + 50_900))).toBe('wall_clock');
    expect(wallClockLeftMs(limited({}).spending(T0))).toBeNull();
  });

  it('fails the session once people have said no, and goes on to others where they were to be asked', () => {
    const asked = (onTimeout: 'deny' | { escalate: string[] }): readonly [SessionView, AskedApproval] => {
      const view = limited({ rounds: 1 });
      const subject = { callId: null, argsDigest: null, limit: 'rounds' } as const;
      const terms = { ...TERMS, onTimeout };
      const asking = { session: 's1', subject, reason: 'limit:escalate', terms, question: 1, at: T0 + 1_000 } as const;
      const approval = askApproval(asking) as AskedApproval;
      view.take({ type: 'approval.required', approval }, T0 + 1_000);
      return [view, approval];
    };
    const limit = { does: 'limit', limit: 'rounds' };
    const [denied, one] = asked('deny');
    denied.take(vote(one, 'ann', 'reject'), T0 + 1_001);
    expect(nextSessionStep(denied, T0 + 1_001)).toEqual({ ...limit, action: 'fail' });
    const [expired, two] = asked('deny');
    expired.take({ type: 'approval.expired', approvalId: two.approvalId }, T0 + 2_000);
    expect(nextSessionStep(expired, T0 + 2_000)).toEqual({ ...limit, action: 'fail' });
    const [escalated, { approvalId }] = asked({ escalate: ['role:example.org/board'] });
    const next = nextApprovalId(approvalId);
    escalated.take({ type: 'approval.escalated', approvalId, next }, T0 + 2_000);
    expect(nextSessionStep(escalated, T0 + 2_000)).toEqual({ ...limit, action: 'ask_next' });
  });

  it('counts no time before the start, and none of a clock that ran backwards', () => {
    expect(new SessionView('s1').elapsedMs(T0)).toBe(0);
    const view = limited({});
    expect(view.elapsedMs(T0 - 50)).toBe(0);
    view.take(answer(1, 2, []), T0 + 100);
    view.take(user(2), T0 + 50);
    expect(view.waitedMs).toBe(100);
  });
});

describe('a log', () => {
  const records = chained('s1', null, timed);
  const texts = records.map(({ text }) => text);
  const read = (lines: readonly string[], session = 's1'): SessionLogReader => {
    const reader = new SessionLogReader(session);
    for (const line of lines) reader.take(line);
    return reader;
  };

  it('is read as it was written, also from where it was left', () => {
    const reader = read(texts);
    expect(reader.view.status).toBe('completed');
    expect(reader.head).toEqual({ sequence: texts.length, digest: records.at(-1)?.digest });
    expect(read(texts.slice(0, 5)).head?.digest).toBe(records[5]?.record.previous);
    const later = chained('s1', read(texts.slice(0, 5)).head, timed.slice(5));
    expect(later.map(({ text }) => text)).toEqual(texts.slice(5));
    expect(recordName(1)).toBe('00000000000000000001.json');
    expect(new SessionLogReader('s1').take(new TextEncoder().encode(texts[0]))).toEqual(records[0]?.record);
  });

  it('is refused by the first line that is not whole, in its place, and possible', () => {
    for (const index of texts.keys()) {
      const line = texts[index] as string;
      const damages: readonly (readonly string[])[] = [
        [...texts.slice(0, index), line.replace(/"at":\d/, '"at":9'), ...texts.slice(index + 1)],
        [...texts.slice(0, index), line.slice(0, -1), ...texts.slice(index + 1)],
        [...texts.slice(0, index), ` ${line}`, ...texts.slice(index + 1)],
        [...texts.slice(0, index), line, line, ...texts.slice(index + 1)],
        ...(index + 1 < texts.length
          ? [
              [...texts.slice(0, index), ...texts.slice(index + 1)],
              [...texts.slice(0, index), texts[index + 1] as string, line, ...texts.slice(index + 2)],
            ]
          : []),
      ];
      for (const [which, damaged] of damages.entries()) {
        const place = which === 3 ? index + 2 : index + 1;
        expect(() => read(damaged)).toThrow(`invalid_record: line ${place}: `);
      }
    }
  });

  it('is refused where its chain is whole and its story is not', () => {
    const impossible = chained('s1', null, [timed[0], timed[2]] as TimedEvent[]).map(({ text }) => text);
    expect(() => read(impossible)).toThrow('invalid_record: line 2: ');
    const twice = chained('s1', null, [
      ...timed.slice(0, 4),
      { at: T0, event: { ...requested(0), argsDigest: digest('x') } as SessionEvent },
    ]);
    expect(() => read(twice.map(({ text }) => text))).toThrow('call_conflict: line 5: ');
    expect(() => read(texts, 's2')).toThrow('line 1: record.session_id is of another session');
    const other = chained('s1', { sequence: 1, digest: digest('another') }, timed.slice(1));
    expect(() => read([texts[0] as string, other[0]?.text as string])).toThrow('line 2: record.previous');
  });

  it('is refused where a record names another place than the one it stands at', () => {
    const second = records[1]?.record as SessionRecord;
    const misplaced = recordToText({ ...second, sequence: 3 });
    expect(() => read([texts[0] as string, misplaced])).toThrow('line 2: record.sequence');
  });

  it('is not read on behind a line that was refused', () => {
    const reader = new SessionLogReader('s1');
    expect(() => reader.take('{')).toThrow('line 1');
    expect(() => reader.take(texts[0] as string)).toThrow('follows a line that was refused');
  });

  it('holds no contents: only digests, names, numbers and words', () => {
    const words = texts.join('').match(/"[^"]*"/g) ?? [];
    const plain = /^"(sha256:[0-9a-f]{64}|(run|apr)_[0-9a-f]{32}|[A-Za-z0-9._:/@-]{1,64})"$/;
    expect(words.filter((word) => !plain.test(word))).toEqual([]);
    expect(recordToText(records[0]?.record as never)).toBe(texts[0]);
  });
});

it('random sessions are read from their logs as they were told', () => {
  fc.assert(
    fc.property(DRAWS, (numbers) => {
      const teller = new Teller(drawer(numbers));
      teller.run();
      const reader = new SessionLogReader('s1');
      for (const { text } of chained('s1', null, teller.events)) reader.take(text);
      expect(reader.view).toEqual(teller.view);
      const rows = ledgerRows(reader.view);
      expect(rows.every(({ status }) => isFinished(status))).toBe(true);
      expect(rows.every(({ tool }) => tool === CHARGE.tool || tool === 'nosuch')).toBe(true);
    }),
    { numRuns: 100, seed: 13 },
  );
});
