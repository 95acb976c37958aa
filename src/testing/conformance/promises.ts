/**
 * What can go wrong around a sink, and what a sink may never say or do whatever goes wrong.
 *
 * Invariant: every violation names one fault and one promise of these tables, so that a report reads the same for every sink
 * and a test can expect it by its words.
 */

/** The faults that the kit brings about. */
export const SINK_FAULTS = {
  none: 'Nothing goes wrong.',
  repeat: 'The same operation is sent again under the same key.',
  refusal: 'The operation is one that the sink will never carry out.',
  aborted: 'The worker stops the call before its deadline.',
  lost_request: 'The connection is closed before anything of the request is passed on.',
  reset: 'The connection is reset before anything of the request is passed on.',
  lost_reply: 'The write is made, and the connection is closed before its answer is passed on.',
  cut_anywhere: 'The connection is closed at each step of the exchange, one after the other.',
  late_commit: 'The decisive part of the request is held back until the client has given up, and then let go.',
  late_original: 'The request is held back, sent again by another worker, and then let go.',
  two_senders: 'Several workers send the same operation at once.',
  lookup_timeout: 'A look-up is never answered.',
  lookup_lost: 'The connection is closed before the answer of a look-up is passed on.',
  slow_drip: 'An answer arrives byte by byte, so slowly that it is not there at the deadline.',
  wrong_digest: 'The sink holds another operation under the key.',
  duplicate_rows: 'The sink holds two writes under the key.',
  expired_key: 'The sink has forgotten the key.',
  status_400: 'The server answers 400, and does nothing.',
  status_409: 'The server answers 409 although it has made the write.',
  status_412: 'The server answers 412 although it has made the write.',
  status_429: 'The server answers 429, and does nothing.',
  status_5xx: 'The server answers 500, 502, 503 or 504 although it has made the write.',
  redirect: 'The server answers with a redirect to another address.',
  lookup_error: 'The server answers a look-up with an error status.',
  lookup_gateway: 'What stands before the server answers a look-up with 404 or 410 and a page of its own.',
  lookup_garbage: 'The server answers a look-up with 200 and something that is no answer.',
  ignored_filter: 'The server ignores what a look-up filters by.',
  stale_read: 'A cache stands before the server and answers reads that do not say no-store or no-cache.',
} as const;
/** One of `SINK_FAULTS`: what went wrong around the sink. */
export type SinkFault = keyof typeof SINK_FAULTS;

/** What was broken. Each reads on after the fault's name: `lost_reply: said absent after settling although …`. */
export const BROKEN = {
  declaration_invalid: 'declares what no sink can be',
  probe_failed: 'its start-up self-test fails at a sound server',
  false_absent: 'said absent after settling although the sink holds the write',
  false_committed: 'said committed although the sink holds no such write',
  false_accepted: 'said accepted although the sink holds another operation under the key',
  false_refused: 'said refused although the sink refused nothing',
  false_not_sent: 'said not_sent although the sink holds the write',
  never_committed: 'does not say committed, although nothing went wrong and its look-up is declared authoritative',
  never_absent: 'does not say absent, although nothing was ever sent and its look-up is declared authoritative',
  never_accepted: 'does not accept an operation that is sound, although nothing goes wrong',
  not_written: 'said accepted, but the sink holds no write',
  sent_again: 'sent again by itself: one call may send once',
  written_twice: 'the sink holds more than one write although it is declared to enforce keys',
  other_name: 'told another external id than before for the same write',
  digest_ignored: 'said committed with the digest that it was asked for, although the sink holds another operation',
  one_of_several: 'picked one of several matches',
  refusal_thrown: 'threw instead of answering refused',
  refusal_missing: 'did not answer refused',
  refusal_unstable: 'answered refused with a code that is not one short stable word',
  refusal_written: 'the sink holds a write of an operation that was refused',
  deadline_ignored: 'was still running long after its deadline',
  abort_ignored: 'was still running long after its signal was aborted',
  failure_as_absent: 'said absent although nothing was read',
  failure_as_committed: 'said committed although nothing was read',
  retry_after_lost: 'told another time to wait than the server asked for',
  redirect_followed: 'followed a redirect',
  content_told: 'told content or credentials in an error, a code or a log',
  observe_wrote: 'changed something by looking',
  observe_unstable: 'gave two answers to the same question',
  answers_mixed: 'did not give one answer for each item, in order',
  answer_malformed: 'answered in a form that the port does not have',
} as const;
/** One of `BROKEN`: the promise that was not kept. */
export type Broken = keyof typeof BROKEN;

/** One promise that a sink did not keep. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';
  constructor(
    readonly fault: SinkFault,
    readonly broken: Broken,
    detail?: string,
  ) {
    super(`${fault}: ${BROKEN[broken]}${detail === undefined ? '' : ` (${detail})`}`);
  }
}

/** Thrown by a case that cannot be run against this sink, or need not be. Never a pass. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}
