/**
 * The machine of one tool call.
 *
 * Held here:
 * - what every command makes of a call in every status, and of either kind of class, is what a written table says, and nothing else;
 * - grounds: which dispatch and which outcome may follow which status, for every ground, status and class;
 * - a stored end, a failure too, is what every later request is answered, and no later word changes it;
 * - the same call id with another tool, run or other arguments is `call_conflict`;
 * - under any commands in any order: attempts only ever count up, one end, nothing moves after it.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DISPATCH_GROUNDS,
  FINISH_GROUNDS,
  MOVES,
  stepInvocation,
  type DispatchGround,
  type FinishGround,
  type Invocation,
  type InvocationCommand,
  type InvocationCommandName,
} from '../../../src/rules/invocations/invocation';
import { callRunId } from '../../../src/rules/invocations/names';
import {
  INVOCATION_STATUSES,
  SIDE_EFFECT_CLASSES,
  isFinished,
  type InvocationStatus,
} from '../../../src/rules/invocations/vocabulary';
import type { SideEffectClass } from '../../../src/rules/sends/traits';
import { CHARGE, callId, digest } from './support';

const asked = {
  callId: callId(0),
  runId: callRunId(callId(0), CHARGE),
  tool: CHARGE,
  sideEffect: 'non_idempotent_write' as SideEffectClass,
  argsDigest: digest('args'),
};
const REQUEST: InvocationCommand = { does: 'request', at: 1, ...asked };

function madeOf(step: ReturnType<typeof stepInvocation>): Invocation {
  if (step.verdict === 'refused' || step.invocation === null) throw new Error(`refused: ${JSON.stringify(step)}`);
  return step.invocation;
}
const fresh = madeOf(stepInvocation(null, REQUEST));
const IN: Record<InvocationStatus, Invocation> = {
  pending: fresh,
  queued: { ...fresh, status: 'queued', queuedAt: 2 },
  awaiting_approval: { ...fresh, status: 'awaiting_approval' },
  dispatched: { ...fresh, status: 'dispatched', attempt: 1, worker: 'w', dispatchedAt: 3 },
  succeeded: { ...fresh, status: 'succeeded', attempt: 1, resultDigest: digest('r'), completedAt: 4 },
  failed: { ...fresh, status: 'failed', attempt: 1, errorCode: 'card_declined', completedAt: 4 },
  indeterminate: { ...fresh, status: 'indeterminate', attempt: 1, errorCode: 'dispatch:lease_expired' },
};

const dispatch = (ground: DispatchGround, attempt: number): InvocationCommand => ({
  does: 'dispatch',
  ground,
  attempt,
  worker: 'w',
  at: 3,
});
const finish = (ground: FinishGround, status: 'succeeded' | 'failed' = 'succeeded'): InvocationCommand => ({
  does: 'finish',
  status,
  ground,
  resultDigest: status === 'succeeded' ? digest('r') : null,
  code: status === 'succeeded' ? null : 'card_declined',
  at: 4,
});

/** What the table of the specification says; `-`: refused, `=`: nothing changes. In the order of the statuses. */
const TABLE: Record<string, { command: InvocationCommand; write: string; safe: string }> = {
  request: { command: REQUEST, write: '= = = = = = =', safe: '= = = = = = =' },
  ask: { command: { does: 'ask' }, write: 'a a = - - - -', safe: 'a a = - - - -' },
  queue: { command: { does: 'queue', at: 2 }, write: 'q = q - - - -', safe: 'q = q - - - -' },
  'dispatch first': { command: dispatch('first', 1), write: 'd d d = - - -', safe: 'd d d = - - -' },
  'dispatch resend_safe': { command: dispatch('resend_safe', 2), write: '- - - - - - -', safe: '- - - d - - -' },
  'dispatch proven_absent': { command: dispatch('proven_absent', 2), write: '- - - - - - d', safe: '- - - - - - d' },
  'dispatch redispatch': { command: dispatch('redispatch', 2), write: '- - - - - - d', safe: '- - - - - - d' },
  'finish result': { command: finish('result'), write: '- - - s = - s', safe: '- - - s = - s' },
  'finish late_result': { command: finish('late_result'), write: '- - - - = - s', safe: '- - - - = - s' },
  'finish looked_up': { command: finish('looked_up'), write: '- - - s = - s', safe: '- - - s = - s' },
  'finish resolution': { command: finish('resolution'), write: '- - - - = - s', safe: '- - - - = - s' },
  'fail result': { command: finish('result', 'failed'), write: '- - - f - = f', safe: '- - - f - = f' },
  'fail resolution': { command: finish('resolution', 'failed'), write: '- - - - - = f', safe: '- - - - - = f' },
  give_up: {
    command: { does: 'give_up', code: 'dispatch:no_handler', at: 4 },
    write: 'f f f - - - -',
    safe: 'f f f - - - -',
  },
  lose: {
    command: { does: 'lose', code: 'dispatch:lease_expired', exhausted: false },
    write: '- - - i - - =',
    safe: '- - - - - - =',
  },
  'lose, exhausted': {
    command: { does: 'lose', code: 'dispatch:lease_expired', exhausted: true },
    write: '- - - i - - =',
    safe: '- - - i - - =',
  },
};
const LETTERS: Readonly<Record<string, InvocationStatus>> = {
  q: 'queued',
  a: 'awaiting_approval',
  d: 'dispatched',
  s: 'succeeded',
  f: 'failed',
  i: 'indeterminate',
};
const CLASSES: Record<SideEffectClass, 'safe' | 'write'> = {
  read_only: 'safe',
  idempotent_write: 'safe',
  non_idempotent_write: 'write',
  irreversible_action: 'write',
};

describe.each(Object.entries(TABLE))('%s', (_name, { command, ...expected }) => {
  it.each(SIDE_EFFECT_CLASSES)('of a call that is %s', (sideEffect) => {
    const seen = INVOCATION_STATUSES.map((status) => {
      const before = { ...IN[status], sideEffect };
      const step = stepInvocation(before, command);
      if (step.verdict === 'refused') {
        expect(step).toMatchObject({ invocation: before, code: 'call_closed' });
        return '-';
      }
      if (step.verdict === 'same') {
        expect(step.invocation).toBe(before);
        return '=';
      }
      return Object.keys(LETTERS).find((letter) => LETTERS[letter] === step.invocation.status);
    });
    expect(seen.join(' ')).toBe(expected[CLASSES[sideEffect]]);
  });
});

describe('a call', () => {
  it('is tried with every command and ground by the table above', () => {
    const names = new Set(Object.values(TABLE).map(({ command }) => command.does));
    const all: Record<InvocationCommandName, true> = {
      request: true,
      ask: true,
      queue: true,
      dispatch: true,
      finish: true,
      give_up: true,
      lose: true,
    };
    expect([...names].sort()).toEqual(Object.keys(all).sort());
    const grounds = Object.values(TABLE).flatMap(({ command }) => ('ground' in command ? [command.ground] : []));
    expect(new Set(grounds)).toEqual(new Set([...DISPATCH_GROUNDS, ...FINISH_GROUNDS]));
    expect(Object.keys(MOVES).length).toBe(Object.keys(all).length - 1);
  });

  it('is recorded before anything else, and says what it was asked with', () => {
    expect(fresh).toEqual({
      ...asked,
      status: 'pending',
      attempt: 0,
      worker: null,
      resultDigest: null,
      errorCode: null,
      createdAt: 1,
      queuedAt: null,
      dispatchedAt: null,
      completedAt: null,
    });
    const others = Object.values(TABLE).filter(({ command }) => command.does !== 'request');
    for (const { command } of others) {
      expect(stepInvocation(null, command)).toMatchObject({
        verdict: 'refused',
        invocation: null,
        code: 'call_closed',
      });
    }
  });

  it.each([
    { argsDigest: digest('other') },
    { tool: { tool: 'refund', version: '1.0.0' } },
    { tool: { tool: 'charge', version: null } },
    { runId: null },
  ])('with %j under the same id is a conflict, whatever became of it', (change) => {
    for (const status of INVOCATION_STATUSES) {
      const step = stepInvocation(IN[status], { ...REQUEST, ...change } as InvocationCommand);
      expect(step).toMatchObject({ verdict: 'refused', code: 'call_conflict', invocation: IN[status] });
    }
  });

  it('stays the same call where only its class is declared anew', () => {
    expect(stepInvocation(IN.failed, { ...REQUEST, sideEffect: 'read_only' } as InvocationCommand)).toEqual({
      verdict: 'same',
      invocation: IN.failed,
    });
  });

  it('keeps its end: another outcome, result, code or reason is refused', () => {
    const other = { ...finish('result'), resultDigest: digest('other') } as InvocationCommand;
    const wrong: readonly [InvocationStatus, InvocationCommand][] = [
      ['succeeded', other],
      ['succeeded', finish('late_result', 'failed')],
      ['failed', finish('late_result')],
      ['failed', { ...finish('result', 'failed'), code: 'other' } as InvocationCommand],
      ['failed', { does: 'give_up', code: 'session:cancelled', at: 9 }],
    ];
    for (const [status, command] of wrong) {
      expect(stepInvocation(IN[status], command)).toMatchObject({ verdict: 'refused', invocation: IN[status] });
    }
    const given = madeOf(stepInvocation(IN.queued, { does: 'give_up', code: 'dispatch:no_handler', at: 4 }));
    expect(stepInvocation(given, { does: 'give_up', code: 'dispatch:no_handler', at: 9 }).verdict).toBe('same');
  });

  it('counts its dispatches one by one', () => {
    for (const attempt of [0, 2, 3])
      expect(stepInvocation(IN.queued, dispatch('first', attempt)).verdict).toBe('refused');
    for (const attempt of [0, 1, 3]) {
      expect(stepInvocation(IN.indeterminate, dispatch('redispatch', attempt)).verdict).toBe('refused');
    }
    expect(madeOf(stepInvocation(IN.indeterminate, dispatch('redispatch', 2)))).toMatchObject({
      attempt: 2,
      errorCode: null,
    });
  });

  it('fails with a code, and succeeds without', () => {
    for (const command of [
      { ...finish('result'), code: 'odd' },
      { ...finish('result', 'failed'), code: null },
    ] as InvocationCommand[]) {
      expect(stepInvocation(IN.dispatched, command).verdict).toBe('refused');
    }
  });
});

it('any commands in any order: one end, which stays; attempts count up; no dispatch of a write without a ground', () => {
  const pick = fc.constantFrom(...Object.values(TABLE).map(({ command }) => command));
  const near = fc.integer({ min: -1, max: 2 });
  fc.assert(
    fc.property(
      fc.constantFrom(...SIDE_EFFECT_CLASSES),
      fc.array(fc.tuple(pick, near), { maxLength: 30 }),
      (sideEffect, words) => {
        let call = { ...fresh, sideEffect };
        for (const [word, off] of words) {
          const command = word.does === 'dispatch' ? { ...word, attempt: call.attempt + off } : word;
          const step = stepInvocation(call, command);
          const after = step.invocation as Invocation;
          if (step.verdict !== 'moved') expect(after).toBe(call);
          if (isFinished(call.status)) expect(after).toBe(call);
          const dispatched = step.verdict === 'moved' && after.status === 'dispatched';
          expect(after.attempt).toBe(call.attempt + (dispatched ? 1 : 0));
          if (dispatched && call.attempt > 0 && CLASSES[sideEffect] === 'write')
            expect(call.status).toBe('indeterminate');
          call = after;
        }
      },
    ),
    { seed: 5 },
  );
});
