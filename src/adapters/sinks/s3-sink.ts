/**
 * Objects in an S3 bucket: an effect is one object, put by `If-None-Match: *` under a name of its own.
 *
 * Invariant: nothing is ever overwritten, since nothing is put before the server has shown that it refuses that. What stands under
 * the name is ours only by the marks in its metadata; an absence counts only when the server says by name that the key does not
 * exist, and in a bucket that keeps versions, when none of them is ours.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type DispatchOutcome,
  type EffectSink,
  type SideEffectClass,
  type SinkAnswer,
  type SinkItem,
} from '../../ports';
import { S3Bucket, type S3ObjectHead } from '../s3/s3-bucket';
import { connectionFault, keyBelow, type S3Connection } from '../s3/s3-connection';
import { S3Fault, type S3FaultKind } from '../s3/s3-fault';
import { DIGEST_MARK, KEY_MARK, s3Effect } from './s3-operation';
import { SinkError, type SinkErrorCode, type SinkErrorContext } from './sink-error';

/** Which bucket, and how objects are named; times are in milliseconds. */
export interface S3SinkOptions extends S3Connection {
  /** What errors call this sink. */
  readonly name: string;
  /** @default 'idempotent_write': a repetition is refused by the server */
  readonly sideEffect?: SideEffectClass;
  /** Largest object. @default 16 MiB */
  readonly maxBodyBytes?: number;
  /** @default 30000 */
  readonly deadlineMs?: number;
  /** @default 30000 */
  readonly settleMs?: number;
  /** @default 8 */
  readonly maxInFlight?: number;
  readonly minIntervalMs?: number;
}

const DEFAULT_MAX_BODY_BYTES = 16 * 1024 * 1024;
const DEFAULT_MS = 30_000;
/** More versions of one key than this are for a person to look at. */
const MAX_VERSIONS = 100;
const PROBE_KEY = '.countersign/probe';
const PROBE_BODY = new TextEncoder().encode(
  'An object that stands here is not overwritten under "If-None-Match: *".\n',
);
const PROBE_ATTEMPTS = 5;
const PROBE_PAUSE_MS = 100;
const PROBE_MARKS = { [KEY_MARK]: 'probe', [DIGEST_MARK]: 'probe' };

/** What stands under the name of an effect. */
type Found =
  | { readonly found: 'ours'; readonly digest: string; readonly head: S3ObjectHead }
  | { readonly found: 'foreign' }
  | { readonly found: 'nothing' };

/** What a fault of a send proves: a refusal, that nothing was sent, or nothing at all. */
type Meaning = { readonly refused: string } | { readonly notSent: true } | { readonly unknown: SinkErrorCode };

const MEANINGS: Readonly<Record<S3FaultKind, Meaning>> = {
  exists: { unknown: 'unexpected_status' }, // settled by a look before this is asked
  contended: { unknown: 'in_flight' },
  absent: { unknown: 'unexpected_status' },
  no_bucket: { unknown: 'unexpected_status' },
  in_the_way: { refused: 'name_not_possible' },
  denied: { unknown: 'unexpected_status' },
  too_large: { refused: 'too_large' },
  full: { unknown: 'unexpected_status' },
  not_supported: { unknown: 'unexpected_status' },
  busy: { unknown: 'unexpected_status' },
  rejected: { unknown: 'unexpected_status' },
  no_credentials: { notSent: true },
  not_sent: { notSent: true },
  lost: { unknown: 'connection_lost' },
};

/** An object of an S3 bucket for each effect; nothing is overwritten. Throws `peer_missing` without `@aws-sdk/client-s3`. */
export function s3Sink(options: S3SinkOptions): EffectSink {
  const { name: sink, prefix, deadlineMs = DEFAULT_MS, maxBodyBytes = DEFAULT_MAX_BODY_BYTES } = options;
  const fault = connectionFault(options);
  if (fault !== null) throw new Error(`s3Sink ${sink}: ${fault}`);
  const bucket = new S3Bucket('s3Sink', options, { timeoutMs: deadlineMs, maxBytes: maxBodyBytes });
  let probing: Promise<void> | null = null;
  let probed = false;

  async function look(key: string, item: SinkItem, signal: AbortSignal): Promise<Found> {
    const ours = (head: S3ObjectHead): Found | null => {
      const { [KEY_MARK]: owner, [DIGEST_MARK]: digest } = head.metadata;
      return owner === item.idempotencyKey && digest !== undefined ? { found: 'ours', digest, head } : null;
    };
    let newest: S3ObjectHead | null = null;
    try {
      newest = await bucket.head(key, signal);
    } catch (fault) {
      if (!(fault instanceof S3Fault) || fault.kind !== 'absent') throw fault;
      if (!fault.deleteMarker) return { found: 'nothing' };
    }
    const standing = newest === null ? null : ours(newest);
    if (standing !== null) return standing;
    if (newest !== null && newest.versionId === null) return { found: 'foreign' };
    // Deleted or replaced, where versions are kept: one of those below may be ours.
    const versions = await bucket.versions(key, signal);
    if (versions.length > MAX_VERSIONS) throw new S3Fault('lost');
    for (const { id, deletion } of versions) {
      const before = deletion ? null : ours(await bucket.head(key, signal, id));
      if (before !== null) return before;
    }
    return { found: newest === null ? 'nothing' : 'foreign' };
  }

  async function answer(item: SinkItem, signal: AbortSignal): Promise<SinkAnswer> {
    const effect = s3Effect(item, prefix);
    if (effect === null) return { state: 'absent' }; // no object can be named by it, and none is ever put for it
    const found = await look(effect.key, item, signal);
    if (found.found !== 'ours') return { state: 'absent' };
    return {
      state: 'committed',
      operationDigest: found.digest,
      externalId: null,
      result: resultOf(effect.key, found.head),
    };
  }

  async function send(item: SinkItem, signal: AbortSignal): Promise<DispatchOutcome> {
    const context = { sink, key: item.idempotencyKey };
    const effect = s3Effect(item, prefix);
    if (effect === null) return { outcome: 'refused', code: 'invalid_operation' };
    if (effect.object.body.length > maxBodyBytes) return { outcome: 'refused', code: 'too_large' };
    // At a server that overwrites, or that cannot be asked, nothing is put.
    if (
      !(await probe(signal).then(
        () => true,
        () => false,
      ))
    )
      return { outcome: 'not_sent' };
    try {
      return accepted(effect.key, await bucket.putNew(effect.key, effect.object, signal));
    } catch (fault) {
      if (!(fault instanceof S3Fault)) throw fault;
      if (fault.kind === 'exists') return settle(effect.key, item, context, signal);
      const meaning = MEANINGS[fault.kind];
      if ('refused' in meaning) return { outcome: 'refused', code: meaning.refused };
      if ('notSent' in meaning) return { outcome: 'not_sent' };
      throw unknown(meaning.unknown, fault, context, signal);
    }
  }

  /** The server has refused to overwrite what stands there. */
  async function settle(
    key: string,
    item: SinkItem,
    context: SinkErrorContext,
    signal: AbortSignal,
  ): Promise<DispatchOutcome> {
    const found = await look(key, item, signal).catch((fault: unknown) => {
      throw fault instanceof S3Fault ? unknown('unexpected_status', fault, context, signal) : fault;
    });
    if (found.found === 'foreign') return { outcome: 'refused', code: 'object_exists' };
    if (found.found === 'nothing') throw new SinkError('unexpected_status', context, { detail: 'status=412' });
    if (found.digest !== item.operationDigest) throw new SinkError('key_reused', context);
    return accepted(key, found.head);
  }

  /** Puts one fixed object twice, and looks whether its metadata comes back. */
  async function findOut(signal: AbortSignal): Promise<void> {
    const key = keyBelow(prefix, PROBE_KEY);
    const context = { sink, key: 'probe' };
    const object = { body: PROBE_BODY, contentType: 'text/plain', metadata: PROBE_MARKS };
    const isRefused = async (): Promise<boolean> => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await bucket.putNew(key, object, signal);
          return false;
        } catch (fault) {
          if (!(fault instanceof S3Fault)) throw fault;
          if (fault.kind === 'exists') return true;
          // Another worker puts it at the same moment.
          if (fault.kind !== 'contended' || attempt === PROBE_ATTEMPTS) throw fault;
        }
        await delay(PROBE_PAUSE_MS * attempt);
      }
    };
    try {
      if (!((await isRefused()) || (await isRefused())))
        throw new SinkError('probe_failed', context, { detail: 'it overwrites' });
      const { metadata } = await bucket.head(key, signal);
      if (metadata[KEY_MARK] === PROBE_MARKS[KEY_MARK] && metadata[DIGEST_MARK] === PROBE_MARKS[DIGEST_MARK]) return;
    } catch (fault) {
      if (!(fault instanceof S3Fault)) throw fault;
      throw unknown(fault.kind === 'not_sent' ? 'not_reachable' : 'unexpected_status', fault, context, signal);
    }
    throw new SinkError('probe_failed', context, { detail: 'metadata does not come back' });
  }

  /** Asked once; again when the server did not answer. */
  function probe(signal: AbortSignal = AbortSignal.timeout(deadlineMs)): Promise<void> {
    probing ??= findOut(signal).then(
      () => void (probed = true),
      (fault: unknown) => {
        if (!(fault instanceof SinkError) || fault.code !== 'probe_failed') probing = null;
        throw fault;
      },
    );
    return probing;
  }

  return {
    kind: 'local_tool',
    sideEffect: options.sideEffect ?? 'idempotent_write',
    lookup: 'authoritative',
    /** Only what this server has shown. */
    get enforcesKey() {
      return probed ? 'always' : 'no';
    },
    deadlineMs,
    settleMs: options.settleMs ?? DEFAULT_MS,
    maxInFlight: options.maxInFlight ?? 8,
    ...(options.minIntervalMs === undefined ? {} : { minIntervalMs: options.minIntervalMs }),

    observe: (items, { signal }) =>
      Promise.all(items.map((item) => answer(item, signal).catch((): SinkAnswer => ({ state: 'unknown' })))),

    dispatch: (item, { signal }) => send(item, signal),

    probe: () => probe(),
  };
}

const accepted = (key: string, head: S3ObjectHead): DispatchOutcome => ({
  outcome: 'accepted',
  externalId: null,
  result: resultOf(key, head),
});

/** The name of an object may be content, so it goes where contents go, and not into the evidence. */
const resultOf = (key: string, { etag, versionId }: S3ObjectHead): unknown => ({ key, etag, version_id: versionId });

function unknown(code: SinkErrorCode, fault: S3Fault, context: SinkErrorContext, signal: AbortSignal): SinkError {
  if (signal.aborted) return new SinkError('deadline_passed', context);
  return new SinkError(fault.kind === 'lost' ? 'connection_lost' : code, context, { detail: fault.detail });
}
