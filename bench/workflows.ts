/**
 * The workflows that are compared: Countersign's own, plain Temporal, and the hand-written look up, dispatch, record.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { BenchActivities } from './activities';

export { governedPlan } from '../src/workflow';

const { send, lookUp, record, loop } = proxyActivities<BenchActivities>({ startToCloseTimeout: '5 minutes' });

export async function plain(prefix: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await send(`${prefix}-${index}`);
}

export async function handwritten(prefix: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const key = `${prefix}-${index}`;
    if (!(await lookUp(key))) await send(key);
    await record(key);
  }
}

export async function looped(prefix: string, count: number): Promise<void> {
  await loop(prefix, count);
}
