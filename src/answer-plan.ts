/**
 * What people ask of a plan, and their answers on the way to it. Invariant: an answer is judged here as every other door judges
 * it, before it leaves; what the workflow refuses comes back as the same refusal.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { receiptDigest } from './rules/receipts/jws';
import { admitAnswer, questionFromRecord, type Answer, type Question } from './rules/receipts/question';
import { Refusal } from './rules/refusal';
import { orRefusal } from './update-refusal';
import type { PlanStatus } from './workflows/messages';

export async function askedOf(workflow: WorkflowHandle): Promise<Question | null> {
  const record = await workflow.query<unknown>('approvals');
  return record === null ? null : questionFromRecord(record);
}

export async function answerTo(workflow: WorkflowHandle, door: Answer, token: string): Promise<PlanStatus> {
  const question = await askedOf(workflow);
  let refusal = refusalHere(question, door, token);
  if (question !== null && refusal?.code === 'receipt_unknown_key') {
    // The key may be newer than what the workers saw last. A plan that stands elsewhere by now has been looked at since.
    await askTo(workflow, 'reobserve', question.headDigest).catch((fault: unknown) => {
      if (!(fault instanceof Refusal) || fault.code !== 'stale_head') throw fault;
    });
    refusal = refusalHere(await askedOf(workflow), door, token);
  }
  if (refusal !== null) throw refusal;
  // Sent again, the same answer is the same Update.
  const updateId = receiptDigest(token);
  return orRefusal(workflow.executeUpdate<PlanStatus, [string]>(door, { args: [token], updateId }));
}

/** Without a head, whatever the plan has come to. Throws `Refusal` when the plan stands at another head. */
export function askTo(
  workflow: WorkflowHandle,
  what: 'reobserve' | 'cancel',
  expectedHead?: string,
): Promise<PlanStatus> {
  if (expectedHead === undefined) return workflow.executeUpdate<PlanStatus, []>(what);
  return orRefusal(workflow.executeUpdate<PlanStatus, [string]>(what, { args: [expectedHead] }));
}

/** Null when it is admitted, was handed over before, or only the workflow can tell. */
function refusalHere(question: Question | null, door: Answer, token: string): Refusal | null {
  if (question === null || question.have.some(({ digest }) => digest === receiptDigest(token))) return null;
  const admission = admitAnswer(token, question, Date.now(), door);
  return admission.ok ? null : admission.refusal;
}
