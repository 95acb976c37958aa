/**
 * Receipts that come in with a drive. Invariant: each is judged again as every door judges it, under the keys of now, and stored
 * before anything is done on its strength; what is stored already is kept once, and never judged anew.
 */
import { decodeReceipt, receiptDigest } from '../rules/receipts/jws';
import { findKey, type Jwks } from '../rules/receipts/jwks';
import { isResolution, type ResolutionReceipt } from '../rules/receipts/decision';
import { admitAnswer } from '../rules/receipts/question';
import { Refusal } from '../rules/refusal';
import type { HeadRef } from '../rules/sends/slot';
import { ask, type Position } from './ask';
import { isParkable, type ReceiptAnswer } from './contract';
import type { Engine } from './engine';
import type { Held } from './takeover';
import type { Permission } from './permission';
import { refuseStrangeResult } from './said';

export async function receive(
  engine: Engine,
  permission: Permission,
  held: Held,
  position: Position,
  tokens: readonly string[],
  now: () => number,
): Promise<readonly ReceiptAnswer[]> {
  const answers: ReceiptAnswer[] = [];
  for (const token of tokens) {
    const receipt = receiptDigest(token);
    try {
      const known = (await permission.decisions()).some(({ digest }) => digest === receipt);
      if (!known) await take(engine, permission, held, position, token, now());
      answers.push({ receipt, refused: null });
    } catch (fault) {
      // Without keys, or a sound journal, nothing can be judged: the receipt stays where it is, and comes again.
      if (!(fault instanceof Refusal) || fault.code === 'reviewers_unavailable' || isParkable(fault.code)) throw fault;
      answers.push({ receipt, refused: { code: fault.code, message: fault.message } });
    }
  }
  return answers;
}

async function take(
  engine: Engine,
  permission: Permission,
  held: Held,
  position: Position,
  token: string,
  now: number,
): Promise<void> {
  const asked = await ask(permission, position, await keysFor(permission, token));
  // Until the plan has ended, a rejection is heard also where no approval is asked for any more.
  const admission = admitAnswer(token, { ...asked, asksApproval: permission.rules.length > 0 }, now);
  if (!admission.ok) throw admission.refusal;
  const { decision } = admission;
  if (isResolution(decision)) await refuseStrangeResult(engine, position.head, decision.claims);
  const { files } = permission;
  await files.claim(decision);
  if (isResolution(decision)) {
    const { digest: receipt, claims } = decision;
    const { resolution, lineage } = claims;
    const attempts = await attemptsOf(engine, position, decision);
    await files.accept({ receipt, resolution, lineage, epoch: held.epoch, attempts });
  }
  // Last, for what is stored is never looked at again.
  await files.keep(decision, now);
  permission.refresh();
}

/** A key that was added a moment ago is looked for once more. */
async function keysFor(permission: Permission, token: string): Promise<Jwks> {
  const keys = await permission.keys();
  const { kid } = decodeReceipt(token);
  return findKey(keys, kid) === null ? permission.keys(kid) : keys;
}

/**
 * How many attempts of each named effect there were at the head that the person saw. Another driver may have gone on from there
 * while the receipt was judged: what it began stands under a later head.
 */
async function attemptsOf(
  engine: Engine,
  { head }: Position,
  { claims }: ResolutionReceipt,
): Promise<readonly { readonly actionId: string; readonly attempts: number }[]> {
  const named = head.effects.filter(({ actionId }) => claims.actionIds.includes(actionId));
  return Promise.all(
    named.map(async ({ actionId, idempotencyKey }) => {
      const slots = await engine.journal.slots(claims.runId, idempotencyKey);
      const seen = slots.filter(({ record }) => isSeenFrom(record.head, claims.lineage, Number(head.sequence)));
      return { actionId, attempts: Math.max(0, ...seen.map(({ attempt }) => attempt)) };
    }),
  );
}

function isSeenFrom(at: HeadRef, lineage: number, sequence: number): boolean {
  return at.lineage < lineage || (at.lineage === lineage && at.sequence <= sequence);
}
