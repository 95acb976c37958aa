/**
 * The inbox for everybody: many items, keyboards, small screens, both colour schemes, and assistive technology, in a real Chromium.
 *
 * Held here:
 * - 1,000 open items are listed in one page, riskiest first; typing finds one of them at once, and one that comes or goes moves no other
 *   and takes no focus
 * - a plan is found, looked at, approved and left with a keyboard alone
 * - at 400 pixels nothing is cut off; axe finds nothing on any page, in light and in dark
 */
import type { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import type { PlanHandle, Question } from '../../src/client';
import { effectRecords, planToRecord } from '../../src/rules/plans/plan';
import { startInbox } from '../../src/inbox/server';
import { entry } from '../rules/receipts/support';
import { APPROVER, approvalOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import { connectTemporal } from '../support/temporal';
import { describeWith } from '../systems/available';
import { startChromium } from '../systems/chromium';
import { cutOff, faultsByAxe, picture, tabTo } from './page-checks';
import { ReviewersFile, connected, openInbox, pageScript, person } from './support';

describeWith('Chromium', startChromium, ({ browser }) => {
  const rig = useRig();

  async function waitingPlan(reviewers: ReviewersFile): Promise<PlanHandle> {
    await rig.worker({ plugin: { policy: () => ({ approvals: 1 }), reviewers: reviewers.reviewers } });
    const effects = [
      { mode: 'lookup', operation: { account: 'A-1', amount: 'EUR 120.00', memo: 'rent of May' } },
      { mode: 'enforcing', operation: { to: 'clinic', subject: 'Your appointment' } },
    ] as const;
    const handle = await rig.start(effects, { workflow_id: 'workflow:example.org/discharge' });
    await rig.until(handle, ({ state }) => state === 'parked');
    return handle;
  }

  /** One plan that waits for its approval among others, and one that was approved and is in doubt. */
  async function scene(
    reviewers: ReviewersFile,
  ): Promise<{ readonly asked: PlanHandle; readonly doubted: PlanHandle }> {
    reviewers.add(entry('bob', [APPROVER]));
    const asked = await waitingPlan(reviewers);
    for (const name of ['refund', 'booking'])
      await rig.start(['lookup'], { workflow_id: `workflow:example.org/${name}` });
    const doubted = await rig.start(['enforcing', 'blind'], { workflow_id: 'workflow:example.org/transfer' });
    await rig.until(doubted, ({ state }) => state === 'parked');
    const [, blind] = effectRecords(await doubted.plan());
    rig.sinks.faults.programme([{ fault: 'drop_reply', key: blind?.idempotencyKey ?? '' }]);
    await doubted.approve(approvalOf((await doubted.approvals()) as Question, 'bob'));
    await rig.until(doubted, ({ reason }) => reason === 'ambiguous_effect');
    return { asked, doubted };
  }

  it('lists 1,000 open items, and stays quick', { timeout: 240_000 }, async () => {
    const alone = await connectTemporal({ ownNamespace: true });
    const service = await connected(alone.namespace);
    const inbox = await startInbox({ service, assets: { script: pageScript() }, limit: 1_000 });
    const page = await browser.newPage();
    try {
      const record = planToRecord(await rig.prepare(['lookup']));
      const start = (client: Client, number: number, reason: string): Promise<unknown> =>
        client.workflow.start('governedPlan', {
          workflowId: `countersign/run_${number.toString(16).padStart(32, '0')}`,
          taskQueue: 'nobody',
          args: [{ plan: record }],
          memo: {
            countersign: {
              state: 'parked',
              reason,
              asks: 'approval: 1 of any reviewer',
              committed: '0/1',
              parked_at: number,
            },
          },
        });
      for (let at = 0; at < 999; at += 37) {
        const some = Array.from({ length: Math.min(37, 999 - at) }, (_, index) => at + index + 1);
        await Promise.all(
          some.map((number) =>
            start(alone.client, number, number % 10 === 0 ? 'ambiguous_effect' : 'approval_missing'),
          ),
        );
      }
      const rows = page.locator('#items tr');
      await page.goto(inbox.origin);
      await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(999);
      expect((await rows.first().innerText()).includes('Nobody can prove')).toBe(true);
      await page.keyboard.press('/');
      await page.keyboard.type('0003e7');
      await page.getByText('1 of 999').waitFor();
      expect(await page.locator('#items tr:visible').count()).toBe(1);
      await page.keyboard.press('Enter');
      const focused = (): Promise<string | null> =>
        page.evaluate<string | null>('document.activeElement.closest("tr")?.id ?? null');
      const mine = await focused();
      expect(mine).toContain('3e7');
      await start(alone.client, 1_000, 'effect_mismatch');
      await page.locator('#item-run_000000000000000000000000000003e8').waitFor({ state: 'attached' });
      expect(await focused()).toBe(mine);
      expect((await rows.first().getAttribute('id'))?.endsWith('3e8')).toBe(true);
      await alone.client.workflow.getHandle('countersign/run_00000000000000000000000000000001').terminate();
      await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(999);
      expect(await focused()).toBe(mine);
      await page.keyboard.press('/');
      await page.keyboard.press('Escape');
      expect(await page.locator('#items tr:visible').count()).toBe(999);
    } finally {
      await page.close();
      await inbox.close();
      await service.close();
      await alone.close();
    }
  });

  it('is used with a keyboard alone', async () => {
    const reviewers = new ReviewersFile(rig.folder);
    const { origin } = await openInbox(rig, { reviewers: reviewers.reviewers });
    const { page, context } = await person(browser, origin, reviewers, 'ann', [APPROVER]);
    const handle = await waitingPlan(reviewers);
    await page.locator(`#item-${handle.runId}`).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(handle.runId);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'workflow:example.org/discharge' }).waitFor();
    await page.getByText('This browser verified').waitFor();
    await tabTo(page, 'approve');
    await page.keyboard.press('Space');
    await tabTo(page, 'sign-and-send');
    await page.keyboard.press('Enter');
    await handle.result();
    await page.locator('#answer-state').getByText('Handed over.').waitFor();
    expect(rig.writes).toBe(2);
    await context.close();
  });

  it.each(['light', 'dark'] as const)(
    'is whole at 400 pixels, and without fault to axe, in %s',
    async (colorScheme) => {
      const reviewers = new ReviewersFile(rig.folder);
      const { origin } = await openInbox(rig, { reviewers: reviewers.reviewers });
      const wide = { colorScheme, viewport: { width: 1_100, height: 900 } };
      const { page, context } = await person(browser, origin, reviewers, 'ann', [APPROVER], wide);
      const { asked, doubted } = await scene(reviewers);
      const places = {
        list: ['/', 'workflow:example.org/booking', 500],
        approval: [`/runs/${asked.runId}`, 'This browser verified', 900],
        review: [`/runs/${doubted.runId}`, 'This browser verified', 900],
        'sign-in': ['/sign-in', 'Public half', 900],
        nothing: ['/nothing', 'Nothing here', 400],
      } as const;
      for (const [name, [place, shows, height]] of Object.entries(places)) {
        const visit = async (): Promise<void> => {
          await page.goto(`${origin}${place}`);
          await page.getByText(shows).first().waitFor();
        };
        await page.setViewportSize({ width: 1_100, height });
        await visit();
        expect([name, await faultsByAxe(page)]).toEqual([name, []]);
        await visit();
        await picture(page, `${name}-${colorScheme}`);
        if (name === 'review') {
          await page.locator('#chain').scrollIntoViewIfNeeded();
          await picture(page, `chain-${colorScheme}`);
        }
        await page.setViewportSize({ width: 400, height: 800 });
        expect([name, await cutOff(page)]).toEqual([name, []]);
        expect([name, await faultsByAxe(page)]).toEqual([name, []]);
        await picture(page, `${name}-${colorScheme}-small`);
      }
      await context.close();
    },
  );
});
