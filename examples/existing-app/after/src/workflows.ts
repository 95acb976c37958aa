import { proxyActivities } from '@temporalio/workflow';
import { proxyEffects } from 'countersign/workflow';
import type * as activities from './activities';
import type { effects } from './effects';
export { governedPlan } from 'countersign/workflow';

const { priceOf } = proxyActivities<typeof activities>({ startToCloseTimeout: '5 seconds' });
const { charge } = proxyEffects<typeof effects>();

export async function buy(item: string): Promise<number> {
  const cents = await priceOf(item);
  await charge({ item, cents }, { id: 'payment' });
  return cents;
}
