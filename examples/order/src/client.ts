/**
 * The client: `client.ts NAME [ITEM] [CARD] [--cancel]` places an order and prints what became of it. The same name again is
 * the same order. With `--cancel` it is cancelled while the warehouse is at work.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { putContent } from 'countersign';
import { fileStore } from 'countersign/stores';
import type { Order } from './effects';
import type { orderWorkflow } from './workflows';

async function main(): Promise<void> {
  const contents = process.env.COUNTERSIGN_CONTENTS;
  if (!contents) throw new Error('COUNTERSIGN_CONTENTS is not set; see README.md of this example');
  const words = process.argv.slice(2).filter((word) => word !== '--cancel');
  const [name, item = 'lamp', card = 'visa'] = words;
  if (name === undefined) throw new Error('Say the name of the order, as in: client.ts first');

  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await Connection.connect(connectionOptions);
  const client = new Client({ connection, namespace: namespace ?? 'default' });
  const order: Order = { item, cents: 4_900, card, mail: 'somebody@example.org' };
  const handle = await client.workflow.start<typeof orderWorkflow>('orderWorkflow', {
    workflowId: `order-${name}`,
    taskQueue: 'orders',
    args: [await putContent(fileStore(contents), order)],
  });
  if (process.argv.includes('--cancel')) {
    await warehouseAtWork();
    await handle.cancel();
  }
  const { status, charge, shelf, replayed } = await handle.result();
  const details = [charge, shelf === null ? null : `shelf ${shelf}`, replayed ? 'replayed' : null];
  process.stdout.write(`${[status, ...details.filter((word) => word !== null)].join(', ')}\n`);
  await connection.close();
}

async function warehouseAtWork(): Promise<void> {
  const count = async (): Promise<number> => {
    const reply = await fetch(`${process.env.SHOP_URL}/reservations`);
    return ((await reply.json()) as { begun: number }).begun;
  };
  const before = await count();
  while ((await count()) === before) await delay(50);
}

main().catch((fault: unknown) => {
  process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exit(1);
});
