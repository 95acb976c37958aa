/**
 * Tool sessions in the inbox, in a real Chromium, on a real Temporal server.
 *
 * Held here:
 * - a call that waits for its approval is an item that leads to it; its arguments stand beside the schema that they were checked against,
 *   for a signed-in reviewer and for nobody else; approved there, it is done once
 * - calls of which nobody knows what became are items of their own kind, and each of the four things that people may say of one leads
 *   where it should; a call is not dispatched again by who has not said that it may then happen twice
 * - the page of a session tells its story as `sessions inspect` does, by itself; the browser verifies each record of it, and refuses a log
 *   in which one was changed
 * - names of sessions, tools and workflows that hold markup are shown as text, or nowhere
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { ToolOutcomeUnknown, defineTool, type ToolHandler } from '../../src/adapters/tools';
import type { PolicyRule } from '../../src/rules/invocations/policy';
import { sessionRunId } from '../../src/rules/invocations/names';
import type { ToolDescriptor } from '../../src/session-tools';
import { answerOf, cli } from '../cli/support';
import { SessionRig, call, uniqueTool, until } from '../sessions/support';
import { APPROVER } from '../support/reviewers';
import { useRig } from '../support/rig';
import '../support/temporal';
import { describeWith } from '../systems/available';
import { startChromium } from '../systems/chromium';
import { ReviewersFile, faultsOf, openInbox, person } from './support';

/** As long as a loaded machine may take. */
const SOON = { timeout: 30_000 };
const EVIL = `"'></td><script>globalThis.pwned = 1</script><img src=x onerror="globalThis.pwned = 2">`;

describeWith('Chromium', startChromium, ({ browser }) => {
  const rig = useRig();

  interface Scene {
    readonly play: SessionRig;
    readonly tool: ToolHandler;
    readonly page: Page;
    readonly origin: string;
  }

  /** Ann, signed in, and a tool of its own task queue. */
  async function scene(
    run: ToolHandler['run'],
    calls: readonly unknown[],
    rules: readonly PolicyRule[],
  ): Promise<Scene> {
    const reviewers = new ReviewersFile(rig.folder);
    const handler = defineTool({
      tool: uniqueTool('pay'),
      version: '1.0.0',
      deadlineMs: 500,
      settleMs: 100,
      inputSchema: z.object({
        amount: z.number().min(1).describe('in cents'),
        to: z.enum(['clinic', 'landlord']),
        note: z.string().optional(),
      }),
      run,
    });
    const tool = handler as unknown as ToolHandler;
    const descriptor: ToolDescriptor = { ...tool, capacity: 'native' };
    const play = new SessionRig(rig, {
      script: [{ toolCalls: calls.map((args) => call(tool.tool, args)) }, { text: 'done' }],
      tools: [descriptor],
      plugin: { toolPolicies: rules, reviewers: reviewers.reviewers },
      toolWorker: { reviewers: reviewers.reviewers },
    });
    const { origin } = await openInbox(rig, { reviewers: reviewers.reviewers });
    const { page, context } = await person(browser, origin, reviewers, 'ann', [APPROVER]);
    rig.atEnd(() => context.close());
    await Promise.all([play.worker(), play.toolWorker()]);
    return { play, tool, page, origin };
  }

  it('shows a call with its arguments and their schema, and is where it is approved', async () => {
    const done: unknown[] = [];
    const pay = (args: unknown): Promise<unknown> => Promise.resolve(done.push(args));
    const asking: PolicyRule = { name: 'people-pay', scope: 'agent', decision: 'require_approval' };
    const { play, tool, page, origin } = await scene(pay, [{ amount: 1_250, to: 'clinic' }], [asking]);
    const faults = faultsOf(page);
    const { session, ...handle } = await play.start({ message: 'pay it' });
    await page.goto(origin);
    const row = page.locator('#items tr', { hasText: session });
    await row.getByText('An approval is missing.').waitFor();
    const story = await page.context().newPage();
    await story.goto(`${origin}/sessions/${session}`);
    await story.locator('#asked').getByText('as rule people-pay wants it; 0 there').waitFor();
    await row.getByRole('link', { name: `${tool.tool}@1.0.0` }).click();
    await page.getByText('✓ This is what the plan’s digest covers').waitFor();
    const shown = await page.locator('table.arguments tbody tr').allInnerTexts();
    expect(shown.map((text) => text.split(/\s*\t\s*/))).toEqual([
      ['amount', '1250', 'required; number; 1 or more; in cents'],
      ['to', '"clinic"', 'required; string; one of "clinic", "landlord"'],
      ['note', 'nothing', 'optional; string'],
    ]);
    const stranger = await (await fetch(page.url())).text();
    for (const content of ['1250', 'landlord', 'in cents']) expect(stranger).not.toContain(content);
    expect(done).toEqual([]);
    await page.getByLabel('Approve').check();
    await page.getByRole('button', { name: 'Sign and hand over' }).click();
    await until({ session, ...handle }, ({ status }) => status === 'awaiting_input');
    expect(done).toHaveLength(1);
    // The story went on by itself, and is the one that the command line tells.
    await story.locator('#calls').getByText('succeeded').waitFor();
    await story.getByText(/This browser verified all [0-9]+ records/).waitFor();
    const told = answerOf(await cli('sessions', 'inspect', session, '--json', '--journal', `${rig.folder}/journal`));
    const timeline = told.data?.['timeline'] as {
      type: string;
      queued_ms: number | null;
      executed_ms: number | null;
    }[];
    await expect.poll(() => story.locator('#entries tr').count(), SOON).toBe(timeline.length);
    const rows = await story.locator('#entries tr').allInnerTexts();
    for (const [index, { type, queued_ms: queued, executed_ms: executed }] of timeline.entries()) {
      expect(rows[index]).toContain(type);
      if (queued !== null) expect(rows[index]).toContain(`queued ${queued} ms`);
      if (executed !== null) expect(rows[index]).toContain(`ran ${executed} ms`);
    }
    expect(timeline.some(({ executed_ms: executed }) => executed !== null)).toBe(true);
    expect(faults).toEqual([]);
    // The call is found from its session, also when it is over.
    await story
      .locator('#calls')
      .getByRole('link', { name: `${session}:` })
      .click();
    await story.getByText(`of session ${session}`).waitFor();
    await story.goBack();
    await page.goto(`${origin}/sessions`);
    await page.locator('#items tr', { hasText: session }).getByText('waits for its user').waitFor();

    // A record that was changed is refused by the browser, at its place.
    const folder = path.join(rig.folder, 'journal', sessionRunId(session), 'events');
    const [, second = ''] = readdirSync(folder).sort();
    const kept = readFileSync(path.join(folder, second), 'utf8');
    writeFileSync(path.join(folder, second), kept.replace('"turn":1', '"turn":2'));
    await story.reload();
    await story.getByText(/This browser refuses its records: record 2: /).waitFor();
    writeFileSync(path.join(folder, second), kept);
  });

  it('takes each of the four words about a call of which nobody knows', { timeout: 120_000 }, async () => {
    const begun: string[] = [];
    const lost = ({ note = '' }: { note?: string }): Promise<unknown> => {
      begun.push(note);
      return begun.filter((one) => one === note).length > 1
        ? Promise.resolve('paid')
        : Promise.reject(new ToolOutcomeUnknown());
    };
    const words = ['succeeded', 'failed', 'again', 'observe'];
    const calls = words.map((note, index) => ({ amount: index + 1, to: 'clinic', note }));
    const { play, page, origin } = await scene(lost as ToolHandler['run'], calls, []);
    const { session, ...handle } = await play.start({ message: 'pay them', kind: 'child' });
    const { calls: open } = await until(
      { session, ...handle },
      (status) => status.calls.length === 4 && status.calls.every((one) => one.status === 'indeterminate'),
    );
    await page.goto(origin);
    const rows = page.locator('#items tr', { hasText: session });
    await expect.poll(() => rows.count(), SOON).toBe(4);
    expect(await rows.locator('.kind').allInnerTexts()).toEqual(Array(4).fill('Indeterminate call'));
    const decide = async (index: number, label: string): Promise<void> => {
      await page.goto(`${origin}/runs/${open[index]?.run_id ?? ''}`);
      await page.getByLabel(label).check();
    };
    const send = (): Promise<void> => page.getByRole('button', { name: 'Sign and hand over' }).click();
    const stateOf = async (index: number): Promise<string | undefined> => (await handle.status()).calls[index]?.status;

    await decide(3, 'Ask its system again');
    await send();
    await page.getByText('Handed over. The plan is parked (ambiguous_effect).').waitFor();
    await decide(2, 'It did not happen: dispatch it again');
    await send();
    expect(await page.locator('#answer-state').innerText()).toBe('');
    expect(begun).toHaveLength(4);
    await page.getByLabel('I know that it may have happened').check();
    await send();
    await expect.poll(() => stateOf(2), SOON).toBe('succeeded');
    expect(begun.filter((note) => note === 'again')).toHaveLength(2);
    await decide(1, 'It failed: tell the agent so');
    await send();
    await expect.poll(() => stateOf(1), SOON).toBe('failed');
    for (const index of [0, 3]) {
      await decide(index, 'It happened: the call succeeded');
      await send();
      await page.getByText('Handed over.').waitFor();
    }
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(begun).toHaveLength(5);
  });

  it('shows hostile names as text, or nowhere', async () => {
    const { origin } = await openInbox(rig);
    const page = await browser.newPage();
    const faults = faultsOf(page);
    const start = (workflowType: string, workflowId: string): ReturnType<typeof rig.client.workflow.start> =>
      rig.client.workflow.start(workflowType, {
        workflowId,
        taskQueue: `${rig.taskQueue}-nobody`,
        args: [],
        memo: { countersign_session: { status: EVIL, turn: EVIL }, countersign_run: EVIL },
      });
    const named = `hostile-${process.pid}`;
    const started = [
      await start('toolSession', `countersign-session/${named}`),
      await start('toolSession', `countersign-session/${EVIL}`),
      await start('verificationRun', `countersign/verify/${EVIL}`),
      await start('governedPlan', `countersign/run_${'d'.repeat(32)}`),
    ];
    rig.expectedFailures = ({ workflowId }) => started.some((one) => one.workflowId === workflowId);
    for (const place of ['/sessions', '/checks']) {
      await expect.poll(async () => (await page.goto(`${origin}${place}`))?.status(), SOON).toBe(200);
      expect(await page.locator('main img, main script').count()).toBe(0);
    }
    await expect
      .poll(async () => {
        await page.goto(`${origin}/sessions`);
        return page
          .locator('#items tr', { hasText: named })
          .innerText()
          .catch(() => '');
      }, SOON)
      .toContain('<script>globalThis.pwned = 1</script>');
    for (const place of ['sessions', 'checks', 'runs', 'rechecks']) {
      const answer = await page.goto(`${origin}/${place}/${encodeURIComponent(EVIL)}`);
      expect([place, answer?.status()]).toEqual([place, 404]);
    }
    expect(await page.evaluate('globalThis.pwned')).toBeUndefined();
    expect(faults).toEqual([]);
    for (const one of started) await one.terminate();
    await page.close();
  });
});
