/**
 * What a sink throws. From `dispatch` it always means that the outcome is unknown; from `observe`, that the sink could not be asked.
 *
 * Invariant: the message names the sink, the key and the fault; never an address, a credential or anything of the operation or answer.
 */

const SENTENCES = {
  deadline_passed:
    'The call was given up at its deadline or because the worker stops; whether it took effect is unknown.',
  connection_lost: 'The connection broke before the answer was complete.',
  not_reachable: 'No connection could be made.',
  not_encrypted: 'The server does not offer the encryption without which nothing is sent to it.',
  answer_too_large: 'The answer is larger than this sink accepts; raise its limit.',
  answer_invalid: 'The answer does not have the form that this sink was declared with.',
  unexpected_status: 'The sink answered with a status that proves nothing about the effect.',
  redirect_not_followed: 'The sink answered with a redirect, which is never followed; give the final address.',
  in_flight: 'An earlier send under this key is still running; ask again later.',
  key_reused: 'The sink holds another request under this key; a person must compare the two.',
  several_matches: 'The sink holds more than one entry under this key; a person must say which one counts.',
  partly_done: 'The sink carried out only a part of the operation; a person must say what becomes of it.',
  filter_ignored: 'The sink did not apply the filter of the look-up, so its answer proves nothing.',
  version_conflict: 'The version that the operation was made for is no longer the current one; look again.',
  not_primary:
    'The server is a replica, so what it does not hold may have been written all the same; give the primary.',
  statement_failed: 'The server did not carry out a statement, for a reason that proves nothing about the effect.',
  transaction_ended: 'A statement of this tool ended the transaction that it runs in; leave that to the sink.',
  command_failed: 'The command ended with an exit code that proves nothing about the effect.',
  command_killed: 'The command was ended by a signal; whether it took effect is unknown.',
  output_too_large: 'The command wrote more than this sink accepts; raise its limit.',
  output_invalid: 'The command did not print the JSON that this sink was declared with.',
  probe_failed: 'The start-up self-test found that the sink does not keep what was declared for it.',
} as const;

/** Each has one sentence, which the message holds. */
export type SinkErrorCode = keyof typeof SENTENCES;

export interface SinkErrorContext {
  /** The sink's name, as its operator wrote it. */
  readonly sink: string;
  /** The idempotency key, or what else the call was about. */
  readonly key: string;
}

/** Thrown by `dispatch` it means an unknown outcome; by `observe`, that the sink could not be asked; by `probe`, that it must not be used. */
export class SinkError extends Error {
  override readonly name = 'SinkError';
  readonly sink: string;
  readonly key: string;
  /** How long the sink asked to wait, in milliseconds. */
  readonly retryAfterMs?: number;
  constructor(
    readonly code: SinkErrorCode,
    context: SinkErrorContext,
    options: { detail?: string; retryAfterMs?: number | undefined } = {},
  ) {
    const detail = options.detail ? `, ${options.detail}` : '';
    super(`${code}: ${SENTENCES[code]} [sink=${context.sink}, key=${context.key}${detail}]`);
    this.sink = context.sink;
    this.key = context.key;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}
