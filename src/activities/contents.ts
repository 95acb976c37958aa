/**
 * Operations and results, by digest. Invariant: contents live only here, are read back only when their digest matches, and
 * can be erased without touching the journal.
 */
import { randomBytes } from 'node:crypto';
import type { Store } from '../ports';
import { openOperation, resultEnvelope, type Envelope } from '../rules/plans/envelope';
import { sha256Digest } from '../rules/recovery';
import { Refusal } from '../rules/refusal';

const encoder = new TextEncoder();
const hex = (digest: string): string => digest.slice(digest.indexOf(':') + 1);

export class Contents {
  constructor(private readonly store: Store) {}

  /** The secret that salts every digest of a run: made once, whoever asks first. */
  async runSalt(runId: string): Promise<string> {
    const path = `salts/${runId}`;
    const stored = await this.store.read(path);
    if (stored !== null) return decode(stored);
    const salt = randomBytes(32).toString('hex');
    await this.store.create(path, encoder.encode(salt));
    const settled = await this.store.read(path);
    if (settled === null) throw new Refusal('content_missing', 'the salt of this run cannot be read back', runId);
    return decode(settled);
  }

  async putOperation(envelope: Envelope): Promise<void> {
    await this.store.create(`operations/${hex(envelope.digest)}`, encoder.encode(envelope.text));
  }

  async operation(digest: string): Promise<unknown> {
    const bytes = await this.store.read(`operations/${hex(digest)}`);
    if (bytes === null) {
      throw new Refusal('content_missing', 'the content of an operation is not in this worker’s content store', digest);
    }
    if (sha256Digest(bytes) !== digest) {
      throw new Refusal('content_missing', 'the stored content of an operation does not match its digest', digest);
    }
    return openOperation(decode(bytes));
  }

  /** Stores a result and answers the digest that stands for it. */
  async putResult(runId: string, idempotencyKey: string, result: unknown): Promise<string> {
    const envelope = resultEnvelope(await this.runSalt(runId), idempotencyKey, result);
    await this.store.create(`results/${hex(envelope.digest)}`, encoder.encode(envelope.text));
    return envelope.digest;
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
