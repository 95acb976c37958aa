/**
 * Verification runs in the inbox, in a real Chromium, on a real Temporal server.
 *
 * Held here:
 * - a launch that waits for its receipt is an item that leads to the command that authorizes it; nothing on a page authorizes or starts it
 * - the page of a run tells its jobs with their leases and submissions, the reason of each end, and every record in order, by itself; the
 *   browser verifies each record, and refuses a run in which one was changed
 * - a recheck that is owed is a card that leads to its command, and is started by nothing here
 * - pages of sessions and of runs are whole at 400 pixels and without fault to axe, in light and in dark, and are left by a keyboard alone
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type ToolHandler } from '../../src/adapters/tools';
import { scriptedModel } from '../../src/adapters/models';
import { SessionClient, type VerificationClient } from '../../src/client';
import { call, uniqueTool, until } from '../sessions/support';
import { useRig } from '../support/rig';
import '../support/temporal';
import { describeWith } from '../systems/available';
import { startChromium } from '../systems/chromium';
import { startPaidProvider, type PaidProvider } from '../systems/paid-provider';
import {
  ANN,
  authorizeAll,
  checks,
  clientOf,
  draft,
  local,
  paidLauncher,
  proposalId,
  reviewers,
  signed,
} from '../workflows/verification/support';
import { cutOff, faultsByAxe, picture } from './page-checks';
import { faultsOf, openInbox } from './support';

describeWith('Chromium', startChromium, ({ browser }) => {
  const rig = useRig();
  let provider: PaidProvider;
  let runs: VerificationClient;
  const tool = defineTool({
    tool: uniqueTool('pay'),
    version: '1.0.0',
    inputSchema: z.object({ amount: z.number() }),
    run: () => Promise.resolve('paid'),
  }) as unknown as ToolHandler;

  beforeEach(async () => {
    provider = await startPaidProvider();
    const models = [scriptedModel({ script: [{ toolCalls: [call(tool.tool, { amount: 1 })] }, { text: 'done' }] })];
    const asking = { name: 'people-pay', scope: 'agent', decision: 'require_approval' } as const;
    const sessions = { models, tools: [tool], toolPolicies: [asking] };
    await rig.worker({ plugin: { ...sessions, launchers: [paidLauncher(provider.url)], reviewers, checks } });
    runs = clientOf(rig);
  });
  afterEach(() => provider.close());

  it('tells a run from its launch to its recheck, and starts nothing', async () => {
    const { origin } = await openInbox(rig);
    const page = await browser.newPage();
    const faults = faultsOf(page);
    const prepared = await runs.prepare(draft(1, 1, { checks: [local(0, 1), ...draft(0, 1).checks] }));
    const { runId } = prepared;
    const handle = await runs.start(prepared);
    const wanted = await handle.wanted();
    await page.goto(origin);
    await page.locator(`#item-${runId}`).getByText('A launch waits for the receipt of a person.').waitFor();
    await page.locator(`#item-${runId} a`).click();
    await page.getByText(`npx countersign verify-run authorize ${runId} --key NAME`).waitFor();
    await page.locator('#asked').getByText('model-1').waitFor();
    expect(await page.locator('main form, main button').count()).toBe(0);
    expect(provider.requests()).toBe(0);
    if (wanted !== null) await handle.authorize(signed(wanted));
    await authorizeAll(rig, handle);
    // The page went on by itself.
    await page.locator('#state').getByText('completed').waitFor();
    const jobs = await page.locator('#jobs tbody tr').allInnerTexts();
    expect(jobs).toHaveLength(2);
    for (const job of jobs)
      expect(job).toMatch(/completed[^]*authorized until [^]*begun 20[^]*for [0-9]+ ms[^]*[0-9a-f]{17}/);
    const book = await runs.book(runId);
    await page.getByText(`This browser verified all ${book?.records.length ?? 0} records`).waitFor();
    const rows = await page.locator('#entries tr').allInnerTexts();
    expect(rows.map((row) => /[a-z]+_[a-z]+/.exec(row)?.[0])).toEqual(book?.records.map(({ event }) => event.type));
    expect(rows.join('\n')).toMatch(/launching, leased for [0-9]+ ms/);

    await runs.apply(runId, { person: ANN, proposals: [proposalId(0), proposalId(1)] });
    const launched = provider.requests();
    await page.getByRole('link', { name: 'A recheck' }).click();
    await page.getByText('npx countersign verify-run recheck DRAFT --intent').waitFor();
    expect(await page.locator('main form, main button').count()).toBe(0);
    await page.getByRole('link', { name: runId }).click();
    await page.getByText('proposals_applied').waitFor();
    expect(provider.requests()).toBe(launched);
    expect(await runs.obligations(runId)).toMatchObject([{ state: 'pending_capture' }]);

    const file = path.join(rig.folder, 'journal', runId, 'lifecycle', `${'2'.padStart(20, '0')}.json`);
    const kept = readFileSync(file, 'utf8');
    writeFileSync(file, kept.replace('departs', 'conforms'));
    await page.reload();
    await page.getByText(/This browser refuses its records: record 2: /).waitFor();
    writeFileSync(file, kept);
    expect(faults).toEqual([]);
    await page.close();
  });

  it('says why a launch came to nothing', async () => {
    const { origin } = await openInbox(rig);
    provider.mode = { status: 403 };
    const prepared = await runs.prepare(draft(0, 1));
    await authorizeAll(rig, await runs.start(prepared));
    const page = await (await fetch(`${origin}/checks/${prepared.runId}`)).text();
    const reason = (await runs.book(prepared.runId))?.jobs.values().next().value?.reason;
    expect(page).toContain(
      reason === 'provider_refused' ? 'Its provider refused to launch it.' : 'Nobody knows whether it was launched.',
    );
    expect(page).toContain('ended without a result');
    expect(await (await fetch(`${origin}/checks/run_${'0'.repeat(32)}`)).text()).toContain('Nothing here');
  });

  it.each(['light', 'dark'] as const)(
    'is whole at 400 pixels, and without fault to axe, in %s',
    async (colorScheme) => {
      const { origin } = await openInbox(rig);
      const { client, contents, journal: store, taskQueue } = rig;
      const session = `reach-${colorScheme}-${process.pid}`;
      const bound = { tool: tool.tool, version: '1.0.0' };
      const talk = await new SessionClient({ client, contents, store, taskQueue }).start({
        ...{ session, agentVersion: '1', model: 'scripted', tools: [bound], message: 'pay' },
      });
      const prepared = await runs.prepare(draft(1, 1, { checks: [local(0, 1), ...draft(0, 1).checks] }));
      await authorizeAll(rig, await runs.start(prepared));
      await until(talk, ({ status }) => status === 'awaiting_approval');
      const { calls } = await talk.status();
      const page = await browser.newPage({ colorScheme, viewport: { width: 1_100, height: 900 } });
      const places = {
        sessions: ['/sessions', session],
        session: [`/sessions/${session}`, 'This browser verified all'],
        call: [`/runs/${calls[0]?.run_id ?? ''}`, 'This browser verified'],
        checks: ['/checks', prepared.runId],
        run: [`/checks/${prepared.runId}`, 'This browser verified all'],
      } as const;
      for (const [name, [place, shows]] of Object.entries(places)) {
        for (const width of [1_100, 400]) {
          await page.setViewportSize({ width, height: 900 });
          await page.goto(`${origin}${place}`);
          await page.getByText(shows).first().waitFor();
          expect([name, width, await cutOff(page)]).toEqual([name, width, []]);
          await picture(page, `${name}-${colorScheme}${width === 400 ? '-small' : ''}`);
          expect([name, width, await faultsByAxe(page)]).toEqual([name, width, []]);
        }
      }
      // By keyboard alone from the list to the story of the call's session, and back.
      await page.goto(origin);
      await page.locator('#items tr', { hasText: session }).waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type(session);
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: `Session ${session}` }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'What waits for you' }).waitFor();
      await page.close();
    },
  );
});
