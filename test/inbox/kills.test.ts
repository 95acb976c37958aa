/**
 * The inbox in a real Chromium while everything behind it is killed: worker, inbox and Temporal server, each a process, each by SIGKILL.
 *
 * Held here:
 * - nothing that was on the screen of the list, or of a plan, is gone for a twentieth of a second
 * - a page says that it is not of now, and from when it is; when they are back, it is what it would be, without a new sign-in by hand
 * - what is decided then is carried out once
 */
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { buildChildren } from '../../scripts/kill-matrix/build-child';
import { Child } from '../../scripts/kill-matrix/child';
import { PlanClient } from '../../src/client';
import { startDevServer, type DevServer } from '../../src/testing/dev-server';
import { builtProgram, startProgram } from '../cli/support';
import { TOOL_ID, type ParkedWorkerOrders } from '../journeys/parked-worker';
import { bundleOf } from '../support/bundle';
import { APPROVER } from '../support/reviewers';
import { useRig } from '../support/rig';
import { temporalCli } from '../support/temporal';
import { describeWith } from '../systems/available';
import { startChromium } from '../systems/chromium';
import { ReviewersFile, person } from './support';

const TASK_QUEUE = 'inbox-kills';
/** A server that was killed has to be found, and what it knew read again. */
const SOON = { timeout: 60_000 };

/** Notes, twenty times a second, whether something that was on the screen is gone. */
const watchFor = (selectors: readonly string[]): string => `(() => {
  globalThis.gone = [];
  setInterval(() => {
    for (const one of ${JSON.stringify(selectors)}) if (document.querySelector(one) === null) globalThis.gone.push(one);
  }, 50);
})()`;

describeWith('Chromium', startChromium, ({ browser }) => {
  const rig = useRig();

  it('keeps what is on the screen while worker, inbox and server are killed', { timeout: 300_000 }, async () => {
    const reviewers = new ReviewersFile(rig.folder);
    const folders = { journal: path.join(rig.folder, 'journal'), contents: path.join(rig.folder, 'contents') };
    mkdirSync(folders.contents);
    const where = {
      executable: temporalCli(),
      dbFile: path.join(rig.folder, 'temporal.db'),
      dynamicConfig: { 'history.transferProcessorMaxPollRPS': 10_000 },
    };
    let server: DevServer = await startDevServer(where);
    rig.atEnd(() => server.stop());
    const { address, port } = server;

    await buildChildren(rig.folder, { worker: path.join(__dirname, '../journeys/parked-worker.ts') });
    const bundle = path.join(rig.folder, 'workflow.js');
    writeFileSync(
      bundle,
      ((await bundleOf(path.resolve(__dirname, '../../src/workflow.ts'))) as { code: string }).code,
    );
    const log = openSync(path.join(rig.folder, 'workers.log'), 'a');
    const orders: ParkedWorkerOrders = {
      ...{ address, taskQueue: TASK_QUEUE, bundle, ...folders, sinks: rig.sinks.url, keptInMemory: 10 },
      reviewers: reviewers.file,
    };
    const startWorker = (): Child => new Child(path.join(rig.folder, 'worker.js'), [JSON.stringify(orders)], log);
    let worker = startWorker();
    rig.atEnd(async () => void (await worker.kill()));

    const program = builtProgram();
    const env = {
      TEMPORAL_ADDRESS: address,
      COUNTERSIGN_JOURNAL: folders.journal,
      COUNTERSIGN_CONTENTS: folders.contents,
      COUNTERSIGN_REVIEWERS: reviewers.file,
    };
    let running = startProgram(program, ['inbox', '--port', '0'], env);
    rig.atEnd(async () => {
      running.child.kill('SIGKILL');
      await running.ended;
    });
    await running.shown('inbox of namespace');
    const [origin = '', inboxPort = ''] = /http:\/\/127\.0\.0\.1:([0-9]+)/.exec(running.output()) ?? [];

    // Before anybody is asked: a question names the keys that are known when it is put.
    const { page, context } = await person(browser, origin, reviewers, 'ann', [APPROVER]);
    rig.atEnd(() => context.close());
    const client = new Client({ connection: await Connection.connect({ address }) });
    rig.atEnd(() => client.connection.close());
    const { contents, journal: store } = rig;
    const plans = new PlanClient({ client, contents, store, taskQueue: TASK_QUEUE });
    const effect = { id: 'e', tool_id: TOOL_ID, kind: 'local_tool', operation: { amount: 7 } };
    const draft = { workflow_id: 'workflow:example.org/kills', name: 'kills', effects: [effect] };
    const { runId } = await plans.start(await plans.prepare(draft));

    const list = await context.newPage();
    await list.goto(origin);
    await list.locator(`#item-${runId}`).waitFor(SOON);
    await page.goto(`${origin}/runs/${runId}`);
    await page.getByText('This browser verified its one checkpoint').waitFor(SOON);
    await list.evaluate(watchFor([`#item-${runId} a`]));
    const shown = ['#asked li', '#effect-0 .not_sent', 'pre.content', '#chain-verdict.verified', 'svg.chain g.valid'];
    await page.evaluate(watchFor([...shown, '#own-answer']));
    const whole = async (): Promise<void> => {
      expect(await page.locator('#asked').innerText()).toContain('1 of any reviewer');
      expect(await page.locator('pre.content').innerText()).toContain('amount');
      for (const one of [list, page]) expect(await one.evaluate('globalThis.gone')).toEqual([]);
    };

    await worker.kill();
    await page.getByText('No worker answers for this plan now.').waitFor(SOON);
    await whole();
    worker = startWorker();
    await page.getByText('No worker answers for this plan now.').waitFor({ state: 'hidden', ...SOON });

    running.child.kill('SIGKILL');
    await running.ended;
    for (const one of [list, page])
      await one.locator('#connection').getByText('The inbox does not answer.').waitFor(SOON);
    await whole();
    running = startProgram(program, ['inbox', '--port', inboxPort], env);
    for (const one of [list, page]) await one.locator('#connection').waitFor({ state: 'hidden', ...SOON });

    await server.kill();
    for (const one of [list, page]) await one.getByText('This is what was known at').first().waitFor(SOON);
    await whole();
    server = await startDevServer({ ...where, port });
    for (const one of [list, page]) {
      await expect
        .poll(() => one.getByText('This is what was known at').filter({ visible: true }).count(), SOON)
        .toBe(0);
    }
    await page.getByText('No worker answers for this plan now.').waitFor({ state: 'hidden', ...SOON });
    await whole();

    // And all of it is live again.
    await page.getByLabel('Approve').check();
    const hand = page.getByRole('button', { name: 'Sign and hand over' });
    // Whoever is told that the server is not quite there yet hands over again.
    const state = async (): Promise<string> => {
      if (await hand.isEnabled().catch(() => false)) await hand.click();
      return page.locator('#state').innerText();
    };
    await expect.poll(state, { ...SOON, interval: 2_000 }).toContain('closed');
    await list.locator(`#item-${runId}`).waitFor({ state: 'detached', ...SOON });
    expect(rig.writes).toBe(1);
  });
});
