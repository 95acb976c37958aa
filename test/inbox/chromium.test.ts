/**
 * The inbox in a real Chromium, on a real Temporal server.
 *
 * Held here:
 * - a reviewer approves with a key that the browser made and no script can read; a second completes the quorum, and the plan is carried
 *   out once; a requester is refused, and a doubt is resolved
 * - a receipt that was signed elsewhere, by the command that the page shows, is handed over, also where scripts are off
 * - a page whose plan has moved on says so, signs nothing, and is refused where it is sent all the same
 * - names and contents that hold markup are shown as text and run nothing
 * - a checkpoint that was changed, and a content that is not the plan's, are called so by the browser
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { KeyFolder } from '../../src/adapters/reviewers';
import type { PlanHandle, Question } from '../../src/client';
import type { ApprovalRule } from '../../src/rules/receipts/approval-rule';
import { publicEntry } from '../../src/rules/receipts/signing-key';
import { builtProgram } from '../cli/support';
import { APPROVER, AUDITOR, approvalOf } from '../support/reviewers';
import { useRig } from '../support/rig';
import '../support/temporal';
import { describeWith } from '../systems/available';
import { startChromium } from '../systems/chromium';
import { entry } from '../rules/receipts/support';
import { ReviewersFile, faultsOf, openInbox, person, type Person } from './support';

const TWO: ApprovalRule = { approvals: 2, roles: [APPROVER, AUDITOR] };
const ONE: ApprovalRule = { approvals: 1, roles: [APPROVER] };
/** What a script of the page's own origin would do to take the key. */
const TAKE_KEY = `(async () => {
  const done = (request) => new Promise((resolve) => request.addEventListener('success', () => resolve(request.result)));
  const database = await done(indexedDB.open('countersign', 1));
  const { privateKey } = await done(database.transaction('keys').objectStore('keys').get('own'));
  return crypto.subtle.exportKey('pkcs8', privateKey).then(() => 'taken', () => 'kept');
})()`;
describeWith('Chromium', startChromium, ({ browser }) => {
  const rig = useRig();

  async function worker(reviewers: ReviewersFile, rule: ApprovalRule | null): ReturnType<typeof rig.worker> {
    return rig.worker({ plugin: { policy: () => rule, reviewers: reviewers.reviewers } });
  }

  async function waiting(effects: Parameters<typeof rig.draft>[0], requester?: string): Promise<PlanHandle> {
    const draft = rig.draft(effects);
    const handle = await rig.plans.start(await rig.plans.prepare(draft, requester === undefined ? {} : { requester }));
    await rig.until(handle, ({ state }) => state === 'parked');
    return handle;
  }

  async function answer(page: Page, decision: string): Promise<void> {
    await page.getByLabel(decision).check();
    await page.getByRole('button', { name: 'Sign and hand over' }).click();
  }

  async function anns(): Promise<{ reviewers: ReviewersFile; origin: string; ann: Person }> {
    const reviewers = new ReviewersFile(rig.folder);
    const { origin } = await openInbox(rig, { reviewers: reviewers.reviewers });
    const ann = await person(browser, origin, reviewers, 'ann', [APPROVER]);
    rig.atEnd(() => ann.context.close());
    return { reviewers, origin, ann };
  }

  it('is where two approve, and the plan is carried out once', async () => {
    const { reviewers, origin, ann } = await anns();
    const bob = await person(browser, origin, reviewers, 'bob', [AUDITOR]);
    const faults = [faultsOf(ann.page), faultsOf(bob.page)];
    await worker(reviewers, TWO);
    const handle = await waiting(['enforcing', 'lookup']);
    for (const { page } of [ann, bob]) {
      await page.locator(`#item-${handle.runId} a`).click();
      await page.getByText('This browser verified its one checkpoint').waitFor();
      expect(await page.getByText('✓ This is what the plan’s digest covers').count()).toBe(2);
    }
    await answer(ann.page, 'Approve');
    await ann.page.getByText('Handed over. The plan is parked').waitFor();
    await bob.page.locator('#asked').getByText('approve by key').waitFor();
    expect(rig.writes).toBe(0);
    await answer(bob.page, 'Approve');
    await handle.result();
    await bob.page.locator('#state').getByText('closed').waitFor();
    await bob.page.getByText('This browser verified all 4 checkpoints').waitFor();
    expect(await bob.page.locator('svg.chain g.valid').count()).toBe(4);
    expect(await bob.page.locator('#history li').count()).toBe(2);
    expect(rig.writes).toBe(2);
    expect(faults).toEqual([[], []]);
    // No script, ours included, can take the key out of the browser.
    const taken = await ann.page.evaluate(TAKE_KEY);
    expect(taken).toBe('kept');
    await bob.context.close();
  });

  it('refuses the requester, and lets another end the plan', async () => {
    const { reviewers, origin, ann } = await anns();
    await worker(reviewers, ONE);
    const handle = await waiting(['lookup'], 'person:example.org/ann');
    await ann.page.goto(`${origin}/runs/${handle.runId}`);
    await answer(ann.page, 'Approve');
    await ann.page.getByText('(receipt_requester)').waitFor();
    const bob = await person(browser, origin, reviewers, 'bob', [APPROVER]);
    await bob.page.goto(`${origin}/runs/${handle.runId}`);
    await answer(bob.page, 'Reject: end the plan');
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'ApprovalRejected' } });
    expect(rig.writes).toBe(0);
    await bob.context.close();
  });

  it('shows what is in doubt, and takes the word of who has looked', async () => {
    const { reviewers, origin, ann } = await anns();
    await worker(reviewers, null);
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await waiting(['blind']);
    await ann.page.goto(origin);
    const row = ann.page.locator(`#item-${handle.runId}`);
    await row.getByText('Nobody can prove what became of an effect.').waitFor();
    await row.getByRole('link').click();
    await ann.page.getByText('A send was begun, and nothing says what became of it.').waitFor();
    await ann.page.getByLabel('It happened: mark effects as committed').check();
    await ann.page.getByLabel('0: tool:example.org/blind').check();
    await ann.page.getByLabel('What its sink calls it').fill('row-<b>1</b>');
    await ann.page.getByRole('button', { name: 'Sign and hand over' }).click();
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.writes).toBe(1);
  });

  it('takes a receipt that was signed elsewhere by the command that it shows, also without scripts', async () => {
    const reviewers = new ReviewersFile(rig.folder);
    const keys = path.join(rig.folder, 'keys');
    reviewers.add(publicEntry(await new KeyFolder(keys).make('laptop', 'person:example.org/ann', [APPROVER])));
    const { origin } = await openInbox(rig, { reviewers: reviewers.reviewers });
    const program = builtProgram();
    const signed = (command: string): string => {
      const [, statement = ''] = command.split('\n');
      const out = execFileSync(process.execPath, [program, 'keys', 'sign', 'laptop', '--keys', keys], {
        input: statement,
      });
      return out.toString().trim().split('\n').at(-1) ?? '';
    };
    await worker(reviewers, ONE);
    const handle = await waiting([{ mode: 'lookup', operation: { note: 'for reviewers' } }]);

    const plain = await browser.newContext({ javaScriptEnabled: false });
    const page = await plain.newPage();
    await page.goto(`${origin}/sign-in`);
    await page.getByLabel('Signed answer').fill(signed(await page.locator('pre.command').innerText()));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'workflow:example.org/rig' }).first().waitFor();
    await page.goto(`${origin}/runs/${handle.runId}`);
    expect(await page.locator('pre.content').innerText()).toContain('for reviewers');
    const asked = (await handle.approvals()) as Question;
    await page.getByLabel('Receipt').fill('no receipt');
    await page.getByRole('button', { name: 'Hand over' }).click();
    await page.getByText('(receipt_malformed)').waitFor();
    await page.getByRole('link', { name: 'Go on' }).click();
    await page.getByLabel('Receipt').fill(approvalOf(asked, 'ann')); // a key that nobody knows
    await page.getByRole('button', { name: 'Hand over' }).click();
    await page.getByText('(receipt_unknown_key)').waitFor();

    const scripted = await browser.newPage();
    await scripted.goto(`${origin}/runs/${handle.runId}`);
    await scripted.getByLabel('Approve').check();
    await scripted.getByRole('button', { name: 'Sign it elsewhere' }).click();
    const receipt = signed(await scripted.locator('#statement').innerText());
    await page.goto(`${origin}/runs/${handle.runId}`);
    await page.getByLabel('Receipt').fill(receipt);
    await page.getByRole('button', { name: 'Hand over' }).click();
    await page.getByText('Handed over. The plan is').waitFor();
    await handle.result();
    expect(rig.writes).toBe(1);
    await plain.close();
    await scripted.close();
  });

  it('signs nothing on a page whose plan has moved on, and refuses what was made on one', async () => {
    const { reviewers, origin, ann } = await anns();
    reviewers.add(entry('bob', [APPROVER]));
    await worker(reviewers, ONE);
    const handle = await waiting(['blind']);
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const old = await plain.newPage();
    for (const page of [ann.page, old]) await page.goto(`${origin}/runs/${handle.runId}`);
    const question = (await handle.approvals()) as Question;
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    await handle.approve(approvalOf(question, 'bob'));
    await rig.until(handle, ({ reason }) => reason === 'ambiguous_effect');
    await ann.page.getByText('The plan has moved on since this page was made.').waitFor();
    expect(await ann.page.getByRole('button', { name: 'Sign and hand over' }).isDisabled()).toBe(true);
    await old.getByLabel('Receipt').fill(approvalOf(question, 'bob'));
    await old.getByRole('button', { name: 'Hand over' }).click();
    await old.getByText('(stale_head)').waitFor();
    await plain.close();
  });

  it('shows hostile names and contents as text', async () => {
    const { reviewers, origin, ann } = await anns();
    const faults = faultsOf(ann.page);
    const dialogs: string[] = [];
    ann.page.on('dialog', (dialog) => void dialogs.push(dialog.message()));
    const evil = `"'></pre></td><script>globalThis.pwned = 1; alert(1)</script><img src=x onerror="globalThis.pwned = 2">`;
    const hostile = await rig.client.workflow.start('governedPlan', {
      workflowId: `countersign/run_${'e'.repeat(32)}`,
      taskQueue: `${rig.taskQueue}-nobody`,
      args: [{ plan: { workflow_id: evil } }],
      memo: { countersign: { state: 'parked', reason: evil, asks: evil, committed: evil, parked_at: 1 } },
    });
    await worker(reviewers, ONE);
    const handle = await waiting([{ mode: 'lookup', operation: { [evil]: evil } }]);
    await ann.page.goto(origin);
    const row = ann.page.locator(`#item-run_${'e'.repeat(32)}`);
    await row.waitFor();
    expect(await row.innerText()).toContain('<script>globalThis.pwned = 1; alert(1)</script>');
    expect(await row.locator('img, script').count()).toBe(0);
    await ann.page.getByLabel('Filter').fill(evil.slice(0, 12));
    await ann.page.goto(`${origin}/runs/${handle.runId}`);
    await ann.page.getByText('✓ This is what the plan’s digest covers').waitFor();
    expect(await ann.page.locator('pre.content').innerText()).toContain('<img src=x onerror=');
    expect(await ann.page.locator('pre.content *').count()).toBe(0);
    await ann.page.goto(`${origin}/runs/run_${'e'.repeat(32)}`);
    await ann.page.getByText('no such run is known').waitFor();
    expect(await ann.page.evaluate('globalThis.pwned')).toBeUndefined();
    expect([dialogs, faults]).toEqual([[], []]);
    await hostile.terminate();
    rig.expectedFailures = ({ workflowId }) => workflowId === hostile.workflowId;
  });

  describe('what was changed', () => {
    it('is called so, checkpoint by checkpoint, and content by content', async () => {
      const { reviewers, origin, ann } = await anns();
      await worker(reviewers, ONE);
      const handle = await waiting(['lookup', 'enforcing']);
      const { runId } = handle;
      const asked = (await handle.approvals()) as Question;
      reviewers.add(entry('bob', [APPROVER]));
      await handle.approve(approvalOf(asked, 'bob'));
      await handle.result();
      const at = `${origin}/runs/${runId}`;
      await ann.page.goto(at);
      await ann.page.getByText('This browser verified all 4 checkpoints').waitFor();

      const folder = path.join(rig.folder, 'journal', runId, 'lineage-0001');
      const [, , third = ''] = readdirSync(folder).sort();
      const kept = readFileSync(path.join(folder, third), 'utf8');
      writeFileSync(path.join(folder, third), kept.replace(/"phase":"[a-z_]+"/, '"phase":"completed"'));
      rig.expectedFailures = () => true;
      await ann.page.goto(at);
      await ann.page.getByText('This browser found 2 invalid of 4 checkpoints').waitFor();
      expect(
        await ann.page.locator('svg.chain g').evaluateAll((boxes) => boxes.map((box) => box.getAttribute('class'))),
      ).toEqual(['valid', 'valid', 'invalid', 'invalid']);
      await ann.page.getByText('The journal refuses to say').waitFor();
      writeFileSync(path.join(folder, third), kept);

      const [shown] = await ann.page.locator('pre.content').allInnerTexts();
      expect(shown).toContain('amount');
      await ann.page.route(at, async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replace(/&quot;amount&quot;: 0/, '&quot;amount&quot;: 9');
        await route.fulfill({ response, body });
      });
      await ann.page.goto(at);
      await ann.page.getByText('✗ This is NOT what the plan’s digest covers.').waitFor();
      expect(await ann.page.getByText('✓ This is what the plan’s digest covers').count()).toBe(1);
    });
  });
});
