/**
 * Properties of a model that fails, on a real server:
 * - what its provider said stands in no history, for it may quote the user or a key; the kind of the fault, its status and code do;
 * - it is asked again, one request each time, and the first answer is recorded once; a call that it asks for is done once.
 */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { historyToJson } from '../../src/testing/history-json';
import { useRig } from '../support/rig';
import { texts } from '../support/texts';
import { SessionRig, auditedLog, call, uniqueTool } from './support';

const rig = useRig();

class ApiCallError extends Error {
  override readonly name = 'AI_APICallError';
  readonly statusCode = 429;
}
const SAID = 'the key sk-1234 of the user may not say "pay the landlord"';

test('a model that fails twice', async () => {
  const done: unknown[] = [];
  const handler = defineTool({
    tool: uniqueTool('pay'),
    inputSchema: z.object({ amount: z.int() }),
    run: ({ amount }) => Promise.resolve(done.push(amount)),
  }) as ToolHandler;
  const faults = [new ApiCallError(SAID), Object.assign(new Error(SAID), { name: SAID, code: 'ECONNRESET' })];
  let requests = 0;
  const play = new SessionRig(rig, {
    script: [{ toolCalls: [call(handler.tool, { amount: 1 })] }, { text: 'done' }],
    tools: [{ ...handler, capacity: 'native' as const }],
    onRequest: () => {
      requests += 1;
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
    },
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child' });
  expect(await session.result()).toMatchObject({ status: 'completed' });
  expect([requests, done]).toEqual([4, [1]]);
  const said = [...texts(historyToJson(await session.workflow.fetchHistory()))];
  expect(said.filter((text) => /sk-1234|landlord/.test(text))).toEqual([]);
  const { view } = await auditedLog(rig, session.session);
  expect(view.tokens).toBeGreaterThan(0);
});
