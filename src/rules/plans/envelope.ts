/**
 * What a digest of content is taken over. Invariant: every digest that leaves a worker covers a secret salt, so that a small
 * operation or result cannot be guessed from it; the salt of a run is fixed, so that the same operation has the same digest.
 */
import { sha256Digest, sha256Hex } from '../recovery';
import { contentJson } from './content-json';

export const OPERATION_ENVELOPE_SCHEMA_VERSION = 'countersign.operation.v1';
export const CONTENT_ENVELOPE_SCHEMA_VERSION = 'countersign.content.v1';
export const RESULT_ENVELOPE_SCHEMA_VERSION = 'countersign.result.v1';

/** Content as it is stored: its exact text, and the digest that names it. */
export interface Envelope {
  readonly text: string;
  readonly digest: string;
}

/** `runSalt` is the random secret of the run, at least 32 hex characters. */
export function operationEnvelope(runSalt: string, actionId: string, toolId: string, operation: unknown): Envelope {
  const salt = operationSalt(runSalt, actionId);
  const text = contentJson({ schema_version: OPERATION_ENVELOPE_SCHEMA_VERSION, salt, tool_id: toolId, operation });
  return { text, digest: sha256Digest(text) };
}

export function resultEnvelope(runSalt: string, idempotencyKey: string, result: unknown): Envelope {
  const salt = resultSalt(runSalt, idempotencyKey);
  const text = contentJson({ schema_version: RESULT_ENVELOPE_SCHEMA_VERSION, salt, result });
  return { text, digest: sha256Digest(text) };
}

function resultSalt(runSalt: string, idempotencyKey: string): string {
  return sha256Hex(`${runSalt}/result/${idempotencyKey}`);
}

function operationSalt(runSalt: string, actionId: string): string {
  return sha256Hex(`${runSalt}/operation/${actionId}`);
}

/** Tells, by their salt, the results of these effects of a run from all others. Whatever else the bytes are, they are none. */
export function resultsOf(runSalt: string, idempotencyKeys: Iterable<string>): (bytes: Uint8Array) => boolean {
  const salts = [...idempotencyKeys].map((key) => resultSalt(runSalt, key));
  return envelopesOf(RESULT_ENVELOPE_SCHEMA_VERSION, salts);
}

/** The same of the operations of these actions. */
export function operationsOf(runSalt: string, actionIds: Iterable<string>): (bytes: Uint8Array) => boolean {
  const salts = [...actionIds].map((actionId) => operationSalt(runSalt, actionId));
  return envelopesOf(OPERATION_ENVELOPE_SCHEMA_VERSION, salts);
}

function envelopesOf(schemaVersion: string, salts: readonly string[]): (bytes: Uint8Array) => boolean {
  const known = new Set(salts);
  return (bytes) => {
    try {
      const { schema_version: version, salt } = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
      return version === schemaVersion && typeof salt === 'string' && known.has(salt);
    } catch {
      return false;
    }
  };
}

/** Content by itself, under a random salt of its own. */
export function contentEnvelope(salt: string, content: unknown): Envelope {
  const text = contentJson({ schema_version: CONTENT_ENVELOPE_SCHEMA_VERSION, salt, content }, 'content');
  return { text, digest: sha256Digest(text) };
}

/** The content or result inside stored bytes whose digest was checked by the caller. */
export function openContent(text: string): unknown {
  const envelope = JSON.parse(text) as { content?: unknown; result?: unknown };
  return 'content' in envelope ? envelope.content : envelope.result;
}

/** The operation inside stored bytes whose digest was checked by the caller. */
export function openOperation(text: string): unknown {
  return (JSON.parse(text) as { operation: unknown }).operation;
}
