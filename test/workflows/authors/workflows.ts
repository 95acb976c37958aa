/** Workflows as authors write them, with effects called like activities. */
import { proxyEffects } from '../../../src/workflow';
import type { TestEffects } from './effects';

export { governedPlan } from '../../../src/workflow';

const { charge } = proxyEffects<TestEffects>();

export async function chargeOnce(amount: number): Promise<unknown> {
  return charge({ amount }, { id: 'order-7' });
}
