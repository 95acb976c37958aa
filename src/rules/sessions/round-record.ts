/**
 * One answer of a model, whole, before any of its calls is dispatched. Invariant: there is one such record a place, by put-if-absent;
 * whoever finds it takes it for the answer and never asks the model again. It holds digests, and no content.
 */
import { Fields, parseRecord } from '../fields';
import { canonicalJson, isDigest } from '../recovery';
import { isAskedTool, isSessionName } from '../invocations/names';

export const ROUND_SCHEMA_VERSION = 'countersign.session_round.v1';

/** Most calls of one answer: all of them may be under way at once. */
export const MOST_CALLS = 200;
const MODEL_NAME = /^[^\p{Cc}\p{Cs}]{1,200}$/u;
const WORD = /^[A-Za-z0-9_.-]{1,64}$/;

/** A call as the model asked for it; `tool` may be a name that nobody knows. */
export interface RoundCall {
  readonly tool: string;
  readonly argsDigest: string;
}

export interface RoundRecord {
  readonly session: string;
  readonly turn: number;
  readonly round: number;
  /** Digest of the message that began the turn. */
  readonly message: string;
  /** Digest of the text of the answer. */
  readonly text: string;
  /** In the order in which their results are wanted. */
  readonly calls: readonly RoundCall[];
  readonly usage: { readonly input: number; readonly output: number };
  readonly stop: string;
  readonly model: string;
}

/** Name of the record in the folder of the session's rounds; names sort as the rounds do. */
export function roundName(turn: number, round: number): string {
  return `${String(turn).padStart(6, '0')}-${String(round).padStart(6, '0')}.json`;
}

export function roundToText(record: RoundRecord): string {
  return canonicalJson({
    schema_version: ROUND_SCHEMA_VERSION,
    session_id: record.session,
    turn: record.turn,
    round: record.round,
    message: record.message,
    text: record.text,
    calls: record.calls.map(({ tool, argsDigest }) => ({ tool, args_digest: argsDigest })),
    input_tokens: record.usage.input,
    output_tokens: record.usage.output,
    stop: record.stop,
    model: record.model,
  });
}

export function roundFromBytes(bytes: Uint8Array | string): RoundRecord {
  return parseRecord(bytes, 'session_round', (value) => {
    const at = new Fields(value, 'session_round');
    at.oneOf('schema_version', [ROUND_SCHEMA_VERSION]);
    const record = {
      session: at.text('session_id', 'a session name', isSessionName),
      turn: at.count('turn'),
      round: at.count('round'),
      message: at.text('message', 'a sha256 digest', isDigest),
      text: at.text('text', 'a sha256 digest', isDigest),
      calls: at.list('calls').map((call, index) => callFromRecord(call, index)),
      usage: { input: at.count('input_tokens'), output: at.count('output_tokens') },
      stop: at.text('stop', 'a short word', (text) => WORD.test(text)),
      model: at.text('model', 'the name of a model', (text) => MODEL_NAME.test(text)),
    };
    at.end();
    return record;
  });
}

function callFromRecord(value: unknown, index: number): RoundCall {
  const at = new Fields(value, `session_round.calls[${index}]`);
  const call = {
    tool: at.text('tool', 'a word of up to 128 characters', isAskedTool),
    argsDigest: at.text('args_digest', 'a sha256 digest', isDigest),
  };
  at.end();
  return call;
}
