/**
 * Properties of the erasure of a session, on a real server and in processes that are killed:
 * - what people were asked about its limits goes with everything else of it: afterwards the content store holds nothing, and the journal is
 *   as it was;
 * - killed by SIGKILL before any of its deletions, it ends the same when it is run again.
 */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { PlanClient } from '../../src/client';
import { limitRunId, sessionRunId } from '../../src/rules/invocations/names';
import { runChild } from '../adapters/stores/run-child';
import { APPROVER, TestReviewers, approvalOf, rejectionOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { SessionRig, auditedLog, call, uniqueTool, until } from './support';

const rig = useRig();

function filesOf(folder: string): readonly string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name))).sort();
}

const textsOf = (folder: string): readonly string[] =>
  filesOf(folder).map((name) => `${name} ${readFileSync(path.join(folder, name), 'utf8')}`);

/** Over, after people had let it have one round more, and then no other. */
async function sessionAtItsLimit(): Promise<string> {
  const tool = defineTool({
    tool: uniqueTool('step'),
    inputSchema: z.object({ n: z.int() }),
    run: ({ n }) => Promise.resolve({ n }),
  }) as ToolHandler;
  const reviewers = new TestReviewers();
  const play = new SessionRig(rig, {
    script: [0, 1].map((n) => ({ text: `round ${n}`, toolCalls: [call(tool.tool, { n })] })),
    tools: [tool],
    plugin: { reviewers, toolPolicies: [{ name: 'more', scope: 'agent', decision: 'escalate', route: APPROVER }] },
    toolWorker: { reviewers },
  });
  await Promise.all([play.worker(), play.toolWorker()]);
  const session = await play.start({ message: 'please', kind: 'child', limits: { rounds: 1 } });
  for (const [question, answer] of [approvalOf, rejectionOf].entries()) {
    await until(session, ({ status, round }) => status === 'awaiting_approval' && round === question + 1);
    const { client, contents, taskQueue } = rig;
    const plan = new PlanClient({ client, contents, taskQueue }).getHandle(
      limitRunId(session.session, 'rounds', question + 1),
    );
    await rig.until(plan, ({ state }) => state === 'parked');
    await plan.approve(answer((await plan.approvals())!, question === 0 ? 'ann' : 'bob'));
  }
  await expect(session.result()).rejects.toMatchObject({ cause: { type: 'SessionFailed' } });
  await auditedLog(rig, session.session);
  return session.session;
}

test('it ends the same wherever it is killed', { timeout: 300_000 }, async () => {
  const session = await sessionAtItsLimit();
  const [journal, contents] = [path.join(rig.folder, 'journal'), path.join(rig.folder, 'contents')];
  const [before, held] = [textsOf(journal), filesOf(contents)];
  for (const question of [1, 2]) expect(held).toContain(`salts/${limitRunId(session, 'rounds', question)}`);
  expect(held.filter((name) => name.startsWith('operations/'))).toHaveLength(4);

  const erase = (from: string, kill: number): Promise<unknown> =>
    runChild('../../sessions/erasing-child.ts', [journal, from, sessionRunId(session), String(kill)]);
  const copy = (name: string): string => {
    const folder = path.join(rig.folder, name);
    cpSync(contents, folder, { recursive: true });
    return folder;
  };
  const whole = copy('whole');
  const deletions = (await erase(whole, 0)) as number;
  expect(filesOf(whole)).toEqual([]);
  expect(deletions).toBeGreaterThanOrEqual(held.length);
  for (let kill = 1; kill <= deletions; kill += 1) {
    const part = copy(`killed-${kill}`);
    expect(await erase(part, kill)).toBe('killed');
    expect(await erase(part, 0)).toEqual(expect.any(Number));
    expect(filesOf(part), `killed before deletion ${kill}`).toEqual([]);
  }
  expect(textsOf(journal)).toEqual(before);
});
