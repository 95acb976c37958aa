/**
 * Handing over a receipt that a person signed. Invariant: it goes through the door of the plan like every other; a page that showed another
 * head than the plan's of now is refused before anything is sent.
 */
import { doorFor } from '../cli/receipt-file';
import { nothingAsked } from '../cli/sign';
import { statusOf } from '../cli/follow';
import { CliError } from '../cli/failure';
import type { Service } from '../cli/service';
import type { PlanStatus } from '../client';
import { decodeReceipt } from '../rules/receipts/jws';
import { Refusal } from '../rules/refusal';

/** `head`: the digest of the head that the person was shown. */
export async function handOver(service: Service, runId: string, head: string, token: string): Promise<PlanStatus> {
  decodeReceipt(token); // what is no receipt asks nobody anything
  const handle = service.plans.getHandle(runId);
  const status = await statusOf(service, handle);
  if (status === null) {
    throw new CliError(
      'service_unavailable',
      'no worker answers for this plan; start one, and hand the receipt over again',
    );
  }
  const question = await service.soon(() => handle.approvals());
  if (question === null) throw nothingAsked(status);
  if (question.headDigest !== head) {
    throw new Refusal('stale_head', 'the plan has moved on since this page was made; look at it again');
  }
  return doorFor(token) === 'approve' ? handle.approve(token) : handle.resolve(token);
}
