/**
 * Properties of the example "order", run from its page:
 * - every command of the page prints what the page shows: an order, the same one again, a refusal by the payment and by the
 *   warehouse, and a cancellation that gives back what is known to be done;
 * - when the worker is killed in the middle of an order, one that is started after it ends the order, and nothing is done twice;
 * - no history of it holds the card or the address.
 */
import { expect, test } from 'vitest';
import { builtProgram } from '../cli/support';
import { useRig } from '../support/rig';
import { texts } from '../support/texts';
import { historyToJson } from '../../src/testing/history-json';
import { Shells, blocksOf } from './page';

const rig = useRig();
const PAGE = 'examples/order/README.md';
const UP = './temporal-dev.sh up\n';

test('the page', { timeout: 300_000 }, async () => {
  builtProgram();
  const shells = new Shells({
    COUNTERSIGN_JOURNAL: `${rig.folder}/orders`,
    COUNTERSIGN_CONTENTS: `${rig.folder}/orders-contents`,
  });
  rig.atEnd(() => shells.end());
  const [services, worker, ...rest] = blocksOf(PAGE);
  expect(services!.text.startsWith(UP)).toBe(true);
  await shells.start(services!.text.slice(UP.length));
  const first = await shells.start(worker!.text);
  expect(first.said).toBe('worker ready\n');
  for (const [at, { language, text }] of rest.entries()) {
    if (language === 'sh') expect((await shells.run(text)).trimEnd()).toBe(rest[at + 1]!.text.trimEnd());
  }
  expect(rest.filter(({ language }) => language === 'sh')).toHaveLength(3);

  const counted = async (collection: string): Promise<unknown> =>
    JSON.parse(await shells.run(`curl -s $SHOP_URL/${collection}`)) as unknown;
  const placed = shells.run('npx tsx examples/order/src/client.ts fifth piano');
  await expect.poll(() => counted('reservations'), { timeout: 60_000 }).toEqual({ count: 3, begun: 3 });
  await first.kill();
  await shells.start(worker!.text);
  expect(await placed).toBe('confirmed, charge-4, shelf A3\n');
  expect(await counted('reservations')).toEqual({ count: 3, begun: 3 });
  expect(await counted('charges')).toEqual({ count: 4, begun: 4 });

  for (const name of ['first', 'second', 'third', 'fourth', 'fifth']) {
    const history = historyToJson(await rig.client.workflow.getHandle(`order-${name}`).fetchHistory());
    expect([...texts(history)].filter((text) => /somebody@example|visa|piano|unicorn|"card"/.test(text))).toEqual([]);
  }
});
