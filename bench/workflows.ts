/**
 * The workflows that are compared: Countersign's own, plain Temporal, the hand-written look up, dispatch, record,
 * and one activity that only makes the durable creates of a governed plan.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { BenchActivities } from './activities';

export { governedPlan } from '../src/workflow';

const { send, lookUp, record, loop, creates } = proxyActivities<BenchActivities>({ startToCloseTimeout: '5 minutes' });

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

export async function created(prefix: string, count: number): Promise<void> {
  await creates(prefix, count);
}
