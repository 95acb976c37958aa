/**
 * Properties of a session on a real server, with tools on Temporal's own task queue:
 * - two rounds of one turn, each with a call at index 0, do both calls, each once, and the model hears both results in order;
 * - results of one round reach the model in the order of its calls, whatever the order in which they came;
 * - a turn of a root ends in `awaiting_input`, one of a child ends the session; the log tells all of it, in order;
 * - what the model asks for by a wrong name or with wrong arguments is an error that it is told, and nothing is done.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ModelRequest } from '../../src';
import { defineTool } from '../../src/adapters/tools';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, eventsUntil, typesOf, uniqueTool, until } from './support';

const rig = useRig();

function counter(done: unknown[]) {
  return defineTool({
    tool: uniqueTool('charge'),
    version: '1.0.0',
    sideEffect: 'non_idempotent_write',
    inputSchema: z.object({ amount: z.number().int() }),
    run: async ({ amount }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, 60 - amount)));
      done.push(amount);
      return { charged: amount };
    },
  });
}

const native = <T extends object>(tool: T): T & { capacity: 'native' } => ({ ...tool, capacity: 'native' });

test('both rounds of a turn do their call at index 0', async () => {
  const done: unknown[] = [];
  const charge = native(counter(done));
  const asked: ModelRequest[] = [];
  const play = new SessionRig(rig, {
    script: [
      { text: 'first', toolCalls: [call(charge.tool, { amount: 5 })] },
      { text: 'second', toolCalls: [call(charge.tool, { amount: 7 })] },
      { text: 'done' },
    ],
    tools: [charge],
    onRequest: (request) => void asked.push(request),
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please' });
  const status = await until(session, ({ status }) => status === 'awaiting_input');
  expect(status).toMatchObject({ turn: 1, round: 3, calls: [], failure: null });
  expect(done).toEqual([5, 7]);
  expect(asked.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
    ['user'],
    ['user', 'assistant', 'tool'],
    ['user', 'assistant', 'tool', 'assistant', 'tool'],
  ]);
  const events = await eventsUntil(session, 'message.assistant', 3);
  const one = ['message.assistant', 'tool.requested', 'tool.queued', 'tool.dispatched', 'tool.completed'];
  expect(typesOf(events)).toEqual(['session.started', 'message.user', ...one, ...one, 'message.assistant']);
  expect(await session.complete()).toMatchObject({ status: 'completed' });
  expect((await auditedLog(rig, session.session)).view.status).toBe('completed');
  expect(typesOf(await eventsUntil(session, 'session.completed'))).toHaveLength(events.length + 1);
});

test('results go back in the order of the calls', async () => {
  const done: unknown[] = [];
  const charge = native(counter(done));
  const asked: ModelRequest[] = [];
  const amounts = [1, 50, 20];
  const play = new SessionRig(rig, {
    script: [{ toolCalls: amounts.map((amount) => call(charge.tool, { amount })) }, { text: 'done' }],
    tools: [charge],
    onRequest: (request) => void asked.push(request),
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect([...done].sort()).toEqual([1, 20, 50]);
  const told = asked.at(-1)?.messages.at(-1);
  expect(told).toMatchObject({
    role: 'tool',
    results: amounts.map((amount) => ({ ok: true, value: { charged: amount } })),
  });
});

test('a call that cannot be is told to the model', async () => {
  const done: unknown[] = [];
  const charge = native(counter(done));
  const asked: ModelRequest[] = [];
  const play = new SessionRig(rig, {
    script: [{ toolCalls: [call(charge.tool, { amount: 'all of it' }), call('refund', {})] }, { text: 'sorry' }],
    tools: [charge],
    onRequest: (request) => void asked.push(request),
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect(done).toEqual([]);
  expect(asked.at(-1)?.messages.at(-1)).toMatchObject({
    results: [
      {
        ok: false,
        value: { code: 'call:invalid_arguments', message: 'the arguments do not fit: amount: invalid_type' },
      },
      { ok: false, value: { code: 'call:unknown_tool' } },
    ],
  });
  await auditedLog(rig, session.session);
});
