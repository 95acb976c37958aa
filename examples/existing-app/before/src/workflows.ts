import { proxyActivities } from '@temporalio/workflow';
import type * as activities from './activities';

const { priceOf, charge } = proxyActivities<typeof activities>({ startToCloseTimeout: '5 seconds' });

export async function buy(item: string): Promise<number> {
  const cents = await priceOf(item);
  await charge({ item, cents });
  return cents;
}
