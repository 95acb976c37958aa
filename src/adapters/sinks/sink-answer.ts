/**
 * The answer of a look-up as a command prints it and a service sends it:
 * `{state: absent | committed | in_flight | unknown, operation_digest?, external_id?, result?, retry_after_ms?}`.
 *
 * Invariant: what does not have this form is no answer; above all it is not `absent`.
 */
import { type SinkAnswer } from '../../ports';

/** Reads one answer, or `null` when it has another form. */
export function parseSinkAnswer(wire: unknown): SinkAnswer | null {
  const fields = (typeof wire === 'object' && wire !== null ? wire : {}) as Record<string, unknown>;
  const { operation_digest: digest, external_id: externalId = null, result, retry_after_ms: wait } = fields;
  switch (fields['state']) {
    case 'absent':
    case 'unknown':
      return { state: fields['state'] };
    case 'in_flight':
      return typeof wait === 'number' && wait >= 0
        ? { state: 'in_flight', retryAfterMs: wait }
        : { state: 'in_flight' };
    case 'committed':
      if (typeof digest !== 'string' || (typeof externalId !== 'string' && externalId !== null)) return null;
      return { state: 'committed', operationDigest: digest, externalId, ...(result === undefined ? {} : { result }) };
    default:
      return null;
  }
}
