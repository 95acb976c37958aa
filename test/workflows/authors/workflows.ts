/**
 * Workflows as authors write them, with effects called like activities. Recorded histories are replayed with them: change what
 * one does only together with a new recording, or add another.
 */
import { CancelledFailure } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  setHandler,
} from '@temporalio/workflow';
import { proxyEffects, runPlan, type EffectResult, type OrRef } from '../../../src/workflow';
import type { TestEffects } from './effects';

export { governedPlan } from '../../../src/workflow';

const { charge, reserve, notify } = proxyEffects<TestEffects>();

const moreSignal = defineSignal<[name: string]>('more');

/** What became of a call, as data. */
export type Became =
  | { readonly answered: unknown }
  | { readonly failed: string; readonly details: unknown; readonly cancellation: boolean };

async function became(call: Promise<unknown>): Promise<Became> {
  try {
    return { answered: await call };
  } catch (fault) {
    const cancellation = isCancellation(fault);
    if (fault instanceof ApplicationFailure)
      return { failed: fault.type ?? '', details: fault.details?.[0], cancellation };
    if (fault instanceof CancelledFailure) return { failed: 'cancelled', details: fault.details[0], cancellation };
    throw fault;
  }
}

export async function chargeOnce(amount: number): Promise<EffectResult> {
  return charge({ amount }, { id: 'order-7' });
}

export async function inALoop(times: number): Promise<(number | undefined)[]> {
  const rows: (number | undefined)[] = [];
  for (let at = 0; at < times; at += 1) rows.push((await charge({ amount: at }, { id: `nr-${at}` })).exposed?.row);
  return rows;
}

export async function allTogether(times: number): Promise<EffectResult[]> {
  return Promise.all(Array.from({ length: times }, (_, at) => charge({ amount: at }, { id: `nr-${at}` })));
}

/** Three sequences of calls side by side, and a fourth for each signal. */
export async function sequences(length: number): Promise<number> {
  const sequence = async (name: string): Promise<void> => {
    for (let at = 0; at < length; at += 1) await charge({ amount: at }, { id: `${name}-${at}` });
  };
  const told: Promise<void>[] = [];
  setHandler(moreSignal, (name) => void told.push(sequence(name)));
  await Promise.all(['a', 'b', 'c'].map(sequence));
  await condition(() => told.length > 0);
  await Promise.all(told);
  return (3 + told.length) * length;
}

/** The same call, one after the other and side by side. */
export async function thrice(): Promise<EffectResult[]> {
  const sideBySide = ['both', 'both'].map((id) => charge({ amount: 1 }, { id }));
  const first = await charge({ amount: 2 }, { id: 'again' });
  const second = await charge({ amount: 2 }, { id: 'again' });
  return [...(await Promise.all(sideBySide)), first, second];
}

export async function otherArguments(): Promise<Became[]> {
  const sideBySide = [1, 2].map((amount) => became(charge({ amount }, { id: 'side-by-side' })));
  const later = [3, 4].map((amount) => () => became(charge({ amount }, { id: 'later' })));
  return [...(await Promise.all(sideBySide)), await later[0]!(), await later[1]!()];
}

export async function continued(run: number, replayed: boolean[]): Promise<boolean[]> {
  const seen = [...replayed, (await charge({ amount: 1 }, { id: 'in-every-run' })).replayed];
  if (run === 3) return seen;
  return continueAsNew<typeof continued>(run + 1, seen);
}

export const stopSignal = defineSignal('stop');

/** Two effects in a scope that a signal cancels; a third one outside of it. */
export async function inAScope(): Promise<Became[]> {
  const scope = new CancellationScope({ cancellable: true });
  setHandler(stopSignal, () => scope.cancel());
  const within = scope.run(() =>
    Promise.all([
      became(charge({ amount: 1 }, { id: 'in-hand' })),
      became(runPlan({ id: 'set', effects: [notify.of('a', { id: 'a' }), reserve.of({ item: 'b' }, { id: 'b' })] })),
    ]),
  );
  const ended = await within;
  const late = await scope.run(() => became(charge({ amount: 3 }, { id: 'never-begun' })));
  const known = await scope.run(() => became(charge({ amount: 1 }, { id: 'in-hand' })));
  return [...ended, late, known, await became(charge({ amount: 2 }, { id: 'outside' }))];
}

/** What is shielded is done although the workflow is cancelled, and is done once. */
export async function cleaningUp(): Promise<Became[]> {
  const paid = await became(charge({ amount: 1 }, { id: 'paid' }));
  await condition(() => false).catch(() => undefined);
  const again = (): Promise<Became> => became(charge({ amount: 2 }, { id: 'back' }));
  return [paid, ...(await CancellationScope.nonCancellable(() => Promise.all([again(), again()])))];
}

export async function chargeAfterSignal(): Promise<EffectResult> {
  let told = false;
  setHandler(stopSignal, () => void (told = true));
  const paid = await charge({ amount: 1 }, { id: 'before' });
  await condition(() => told);
  return paid;
}

export async function planned(amounts: readonly number[]): Promise<unknown> {
  const [first, ...rest] = amounts.map((amount, at) => charge.of({ amount }, { id: `nr-${at}` }));
  const outcome = await runPlan({ id: 'all', effects: [first!, ...rest], order: 'independent' });
  return { ...outcome, rows: outcome.results.map(({ exposed }) => exposed?.row) };
}

export async function caught(effect: 'charge' | 'notify', amount: number): Promise<Became> {
  return became({ charge, notify }[effect]({ amount }, { id: 'order-7' }));
}

/** The order is content, and may come as a Ref; what the charge gave back goes on as one. */
export async function byReference(order: OrRef<{ amount: number; note?: string }>): Promise<EffectResult[]> {
  const paid = await charge(order, { id: 'paid' });
  const told = await notify({ paid: paid.ref, order }, { id: 'told' });
  return [paid, told];
}

export async function chargeContent(content: OrRef<{ amount: number }>): Promise<Became> {
  return became(charge(content, { id: 'content' }));
}
