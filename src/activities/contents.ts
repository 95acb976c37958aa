/**
 * Operations and results, by digest. Invariant: contents live only here, are read back only when their digest matches, and
 * can be erased without touching the journal.
 */
import { randomBytes } from 'node:crypto';
import { StoreError, type ContentStore, type Store } from '../ports';
import { contentJson } from '../rules/plans/content-json';
import { contentEnvelope, openContent, openOperation, resultEnvelope, type Envelope } from '../rules/plans/envelope';
import { sha256Digest } from '../rules/recovery';
import { Refusal } from '../rules/refusal';

const encoder = new TextEncoder();
const hex = (digest: string): string => digest.slice(digest.indexOf(':') + 1);

/** Where the schema of a call stands. Nothing else leads there, so it is not part of an export. */
export const schemaPath = (runId: string): string => `schemas/${runId}`;

const answerPath = (place: string): string => `answers/${place}`;

/** Puts that run at once: enough to share each flush of the folder. */
const SIDE_BY_SIDE = 32;

export function newSalt(): string {
  return randomBytes(32).toString('hex');
}

export class Contents {
  constructor(private readonly store: Store) {}

  /** The secret that salts every digest of a run, or null while nobody has made it. */
  async knownSalt(runId: string): Promise<string | null> {
    const stored = await this.read(`salts/${runId}`);
    return stored === null ? null : decode(stored);
  }

  /** Keeps `salt` for the run unless somebody was faster; answers the one that counts. */
  async settleSalt(runId: string, salt: string): Promise<string> {
    const outcome = await this.store.create(`salts/${runId}`, encoder.encode(salt));
    const settled = outcome === 'conflict' ? await this.knownSalt(runId) : salt;
    if (settled === null) throw new Refusal('content_missing', 'the salt of this run cannot be read back', runId);
    return settled;
  }

  /** Keeps what was answered to an author, without content, for whoever asks for it; the first answer counts. */
  async keepAnswer(place: string, answer: unknown): Promise<void> {
    await this.store.create(answerPath(place), encoder.encode(contentJson(answer, 'answer')));
  }

  /** Null while nobody has kept one. */
  async answer(place: string): Promise<unknown> {
    const bytes = await this.read(answerPath(place));
    return bytes === null ? null : (JSON.parse(decode(bytes)) as unknown);
  }

  /** Whoever asks again puts it again. A store that cannot delete keeps it. */
  async forgetAnswer(place: string): Promise<void> {
    const store: Partial<ContentStore> = this.store;
    await store.delete?.(answerPath(place));
  }

  async putOperations(envelopes: readonly Envelope[]): Promise<void> {
    for (let from = 0; from < envelopes.length; from += SIDE_BY_SIDE) {
      const batch = envelopes.slice(from, from + SIDE_BY_SIDE);
      await Promise.all(
        batch.map(({ digest, text }) => this.store.create(`operations/${hex(digest)}`, encoder.encode(text))),
      );
    }
  }

  async operation(digest: string): Promise<unknown> {
    const text = await this.text([`operations/${hex(digest)}`], digest);
    if (text !== null) return openOperation(text);
    throw new Refusal(
      'content_missing',
      'this operation is not in the worker’s content store; check which folder it uses, or prepare the plan again',
      digest,
    );
  }

  /** Keeps content by itself and answers the digest that stands for it. */
  async putContent(content: unknown): Promise<string> {
    const envelope = contentEnvelope(newSalt(), content);
    await this.store.create(`values/${hex(envelope.digest)}`, encoder.encode(envelope.text));
    return envelope.digest;
  }

  /** What a Ref stands for: content that was put by itself, or the result of an effect. */
  async content(digest: string): Promise<unknown> {
    const text = await this.text([`values/${hex(digest)}`, `results/${hex(digest)}`], digest);
    if (text !== null) return openContent(text);
    throw new Refusal(
      'content_missing',
      'what this Ref stands for is not in the worker’s content store; check which folder it uses, or whether it was erased',
      digest,
    );
  }

  /** Keeps which result counts as that of an effect; answers the one that was kept first. */
  async settleResult(idempotencyKey: string, digest: string): Promise<string> {
    const outcome = await this.store.create(`recalled/${idempotencyKey}`, encoder.encode(digest));
    return outcome === 'conflict' ? ((await this.settledResult(idempotencyKey)) ?? digest) : digest;
  }

  async settledResult(idempotencyKey: string): Promise<string | null> {
    const bytes = await this.read(`recalled/${idempotencyKey}`);
    return bytes === null ? null : decode(bytes);
  }

  /** Keeps the configuration of a check, which is no secret, and answers the digest of its canonical text. */
  async putConfiguration(configuration: unknown): Promise<string> {
    const text = contentJson(configuration, 'configuration');
    const digest = sha256Digest(text);
    await this.store.create(`configurations/${hex(digest)}`, encoder.encode(text));
    return digest;
  }

  async configuration(digest: string): Promise<unknown> {
    const text = await this.text([`configurations/${hex(digest)}`], digest);
    if (text !== null) return JSON.parse(text) as unknown;
    throw new Refusal('content_missing', 'the configuration of a check is not in the worker’s content store', digest);
  }

  /** Keeps the schema that the arguments of a call were checked against, which is no secret; the first one counts. */
  async keepSchema(runId: string, schema: Readonly<Record<string, unknown>>): Promise<void> {
    await this.store.create(schemaPath(runId), encoder.encode(contentJson(schema, 'schema')));
  }

  /** Null of a call about which nobody was asked, and of every other plan. */
  async schema(runId: string): Promise<unknown> {
    const bytes = await this.read(schemaPath(runId));
    return bytes === null ? null : (JSON.parse(decode(bytes)) as unknown);
  }

  /** Keeps which run a launch is; answers the one that was kept first. */
  async settleLaunch(captureId: string, runId: string): Promise<string> {
    const outcome = await this.store.create(`launches/${captureId}`, encoder.encode(runId));
    if (outcome !== 'conflict') return runId;
    const bytes = await this.read(`launches/${captureId}`);
    if (bytes === null)
      throw new Refusal('content_missing', 'which launch this call is cannot be read back', captureId);
    return decode(bytes);
  }

  /** The first of the entries that is there, once its bytes are those of the digest. */
  private async text(paths: readonly string[], digest: string): Promise<string | null> {
    for (const path of paths) {
      const bytes = await this.read(path);
      if (bytes === null) continue;
      if (sha256Digest(bytes) === digest) return decode(bytes);
      throw new Refusal(
        'content_missing',
        'the stored content does not match its digest; restore it from where it was made',
        digest,
      );
    }
    return null;
  }

  /** What is there and cannot be what was put is missing, not absent: a person has to restore it. */
  private async read(path: string): Promise<Uint8Array | null> {
    try {
      return await this.store.read(path);
    } catch (fault) {
      if (!(fault instanceof StoreError) || fault.code !== 'store_unsafe_entry') throw fault;
      throw new Refusal('content_missing', fault.message.replace(`${fault.code}: `, ''));
    }
  }

  /** Stores a result and answers the digest that stands for it. */
  async putResult(runId: string, idempotencyKey: string, result: unknown): Promise<string> {
    const salt = (await this.knownSalt(runId)) ?? (await this.settleSalt(runId, newSalt()));
    const envelope = resultEnvelope(salt, idempotencyKey, result);
    await this.store.create(`results/${hex(envelope.digest)}`, encoder.encode(envelope.text));
    return envelope.digest;
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
