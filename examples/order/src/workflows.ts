/**
 * An order: charge, then reserve and notify as one plan; when that is refused or cancelled, everything is given back.
 */
import { ApplicationFailure, CancelledFailure, CancellationScope } from '@temporalio/workflow';
import { proxyEffects, runPlan, type CancelledDetails, type Ref } from 'countersign/workflow';
import type { Order, effects } from './effects';

// A plugin cannot register workflows: this one carries a plan while it waits for a person.
export { governedPlan } from 'countersign/workflow';

const { charge, refund, reserve, release, notify } = proxyEffects<typeof effects>({ origin: 'order' });

export interface OrderOutcome {
  readonly status: 'confirmed' | 'declined' | 'given back';
  readonly charge: string | null;
  readonly shelf: string | null;
  /** Everything had been done before this run of the workflow. */
  readonly replayed: boolean;
}

/** The order itself is content: it comes by reference, and so no history holds a card or an address. */
export async function orderWorkflow(order: Ref<Order>): Promise<OrderOutcome> {
  const paid = await charge(order, { id: 'payment' }).catch(declined);
  if (paid === null) return { status: 'declined', charge: null, shelf: null, replayed: false };
  const id = paid.exposed?.id ?? null;
  try {
    const fulfilment = await runPlan({
      id: 'fulfilment',
      origin: 'order',
      effects: [reserve.of(order, { id: 'goods' }), notify.of(order, { id: 'confirmation' })],
    });
    const [reserved] = fulfilment.results;
    const shelf = reserved.exposed?.shelf ?? null;
    return { status: 'confirmed', charge: id, shelf, replayed: paid.replayed && fulfilment.replayed };
  } catch (fault) {
    const { committed } = detailsOf(fault);
    await CancellationScope.nonCancellable(async () => {
      if (committed.some(({ effect }) => effect === 'reserve')) await release(order, { id: 'goods-back' });
      if (paid.ref !== null) await refund({ charge: paid.ref }, { id: 'money-back' });
    });
    return { status: 'given back', charge: id, shelf: null, replayed: false };
  }
}

/** A card that is declined is an answer, not an accident. */
function declined(fault: unknown): null {
  if (fault instanceof ApplicationFailure && fault.type === 'EffectRejected') return null;
  throw fault;
}

/** What is committed, what was not sent, and what nobody knows; anything else that went wrong is not ours to handle. */
function detailsOf(fault: unknown): CancelledDetails {
  const cancelled = fault instanceof CancelledFailure;
  const rejected = fault instanceof ApplicationFailure && fault.type === 'EffectRejected';
  if (!cancelled && !rejected) throw fault;
  return fault.details?.[0] as CancelledDetails;
}
