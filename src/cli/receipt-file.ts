/** A receipt in a file. Invariant: it is one line of text; what is no receipt is judged by the door like any other. */
import { decodeReceipt } from '../rules/receipts/jws';
import { doorOf, type Answer as Door } from '../rules/receipts/question';

export function receiptText(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(/\r?\n$/, '');
}

export function doorFor(token: string): Door {
  try {
    return doorOf(decodeReceipt(token).kind) ?? 'approve';
  } catch {
    return 'approve';
  }
}
