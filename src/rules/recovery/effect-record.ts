/**
 * One effect of a plan as a checkpoint records it. Invariant: a record exists only if all of its fields are valid, and a
 * committed one always carries its evidence, a pending one never.
 */
import { refuse } from './errors';
import { requireDigest, requireFields, requireInteger, requireWord } from './fields';
import { isActionId, isGovernedId, isIdempotencyKey } from './identifiers';
import { keyOf, requireIdentity } from './idempotency';
import { type JsonObject } from './json-value';
import { Seal } from './sealed';
import {
  COMPENSATION_LIMITS,
  EFFECT_KINDS,
  EFFECT_STATES,
  isWord,
  type CompensationLimit,
  type EffectKind,
  type EffectState,
} from './vocabulary';

export interface EffectRecord {
  readonly ordinal: bigint;
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operationDigest: string;
  readonly idempotencyKey: string;
  readonly approvalRequired: boolean;
  readonly compensationLimit: CompensationLimit;
  readonly state: EffectState;
  readonly commitEvidenceDigest: string | null;
}

/** An effect before it has its key. */
export interface EffectRecordInput {
  readonly runId: string;
  readonly ordinal: bigint;
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operationDigest: string;
  readonly approvalRequired: boolean;
  readonly compensationLimit: CompensationLimit;
  /** @default 'pending' */
  readonly state?: EffectState;
  /** @default null */
  readonly commitEvidenceDigest?: string | null;
}

const FIELDS: ReadonlySet<string> = new Set([
  'ordinal',
  'action_id',
  'tool_id',
  'kind',
  'operation_digest',
  'idempotency_key',
  'approval_required',
  'compensation_limit',
  'state',
  'commit_evidence_digest',
]);

const seal = new Seal<EffectRecord>();
/** The run under which a record's key was last derived. Records that carry over unchanged are not hashed again. */
const derivedUnder = new WeakMap<EffectRecord, string>();

export const EffectRecord = {
  /** Derives the key and makes the record. */
  create(input: EffectRecordInput): EffectRecord {
    requireIdentity(input);
    const effect = construct({
      ordinal: input.ordinal,
      actionId: input.actionId,
      toolId: input.toolId,
      kind: input.kind,
      operationDigest: input.operationDigest,
      idempotencyKey: keyOf(input.runId, input),
      approvalRequired: input.approvalRequired,
      compensationLimit: requireWord(
        COMPENSATION_LIMITS,
        input.compensationLimit,
        'compensation_limit',
        'unknown_compensation_limit',
      ),
      state: requireWord(EFFECT_STATES, input.state ?? 'pending', 'state', 'unknown_effect_state'),
      commitEvidenceDigest: input.commitEvidenceDigest ?? null,
    });
    derivedUnder.set(effect, input.runId);
    return effect;
  },

  /** Reads one item of a checkpoint's `effects`. Whether its key fits is for the checkpoint, which knows the run. */
  fromDict(value: unknown): EffectRecord {
    const dict = requireFields(value, 'effect', FIELDS);
    const { action_id: actionId, tool_id: toolId, kind, compensation_limit: compensationLimit, state } = dict;
    if (
      !isActionId(actionId) ||
      !isGovernedId(toolId, 'tool') ||
      !isWord(EFFECT_KINDS, kind) ||
      !isWord(COMPENSATION_LIMITS, compensationLimit) ||
      !isWord(EFFECT_STATES, state)
    ) {
      return refuse('effect', 'invalid_effect');
    }
    return construct({
      ordinal: dict.ordinal as bigint,
      actionId,
      toolId,
      kind,
      operationDigest: dict.operation_digest as string,
      idempotencyKey: dict.idempotency_key as string,
      approvalRequired: dict.approval_required as boolean,
      compensationLimit,
      state,
      commitEvidenceDigest: dict.commit_evidence_digest as string | null,
    });
  },

  toDict(effect: EffectRecord): JsonObject {
    return {
      ordinal: effect.ordinal,
      action_id: effect.actionId,
      tool_id: effect.toolId,
      kind: effect.kind,
      operation_digest: effect.operationDigest,
      idempotency_key: effect.idempotencyKey,
      approval_required: effect.approvalRequired,
      compensation_limit: effect.compensationLimit,
      state: effect.state,
      commit_evidence_digest: effect.commitEvidenceDigest,
    };
  },
} as const;

/** Checks what `fromDict` and `create` share, in the order of the contract. */
function construct(effect: EffectRecord): EffectRecord {
  requireInteger(effect.ordinal, 'ordinal');
  requireDigest(effect.operationDigest, 'operation_digest');
  if (!isIdempotencyKey(effect.idempotencyKey)) refuse('idempotency_key', 'invalid_idempotency_key');
  if (typeof effect.approvalRequired !== 'boolean') refuse('approval_required', 'invalid_boolean');
  requireEvidence(effect.state === 'committed', effect.commitEvidenceDigest, 'effect');
  return seal.seal(effect);
}

/** Evidence stands exactly where something is committed. */
export function requireEvidence(committed: boolean, evidence: unknown, fieldName: string): void {
  if (committed) {
    if (evidence === null) refuse(fieldName, 'missing_commit_evidence');
    requireDigest(evidence, 'commit_evidence_digest');
  } else if (evidence !== null) {
    refuse(fieldName, 'unexpected_commit_evidence');
  }
}

export function isEffectRecord(value: unknown): value is EffectRecord {
  return seal.holds(value);
}

/** The same effect, now committed. */
export function commitEffect(effect: EffectRecord, evidence: string): EffectRecord {
  if (!isEffectRecord(effect)) return refuse('effects', 'invalid_effect');
  const committed = construct({ ...effect, state: 'committed', commitEvidenceDigest: evidence });
  return carryKey(effect, committed);
}

/** Whether the record's key is the one that its identity gives under `runId`. */
export function keyFits(effect: EffectRecord, runId: string): boolean {
  if (derivedUnder.get(effect) === runId) return true;
  if (keyOf(runId, effect) !== effect.idempotencyKey) return false;
  derivedUnder.set(effect, runId);
  return true;
}

/** What may never change about an effect, from checkpoint to checkpoint. */
export function sameIdentity(left: EffectRecord, right: EffectRecord): boolean {
  return (
    left.ordinal === right.ordinal &&
    left.actionId === right.actionId &&
    left.toolId === right.toolId &&
    left.kind === right.kind &&
    left.operationDigest === right.operationDigest &&
    left.idempotencyKey === right.idempotencyKey &&
    left.approvalRequired === right.approvalRequired &&
    left.compensationLimit === right.compensationLimit
  );
}

/** `effect` itself, or `known` when it is the very same record; a key already derived for `known` counts for both. */
export function reuseKnown(effect: EffectRecord, known: EffectRecord | undefined): EffectRecord {
  if (known === undefined || !sameIdentity(effect, known)) return effect;
  const same = effect.state === known.state && effect.commitEvidenceDigest === known.commitEvidenceDigest;
  return same ? known : carryKey(known, effect);
}

function carryKey(from: EffectRecord, to: EffectRecord): EffectRecord {
  const runId = derivedUnder.get(from);
  if (runId !== undefined) derivedUnder.set(to, runId);
  return to;
}

/** Canonical JSON, written directly: every value is plain ASCII. */
export function writeEffect(effect: EffectRecord): string {
  const evidence = effect.commitEvidenceDigest === null ? 'null' : `"${effect.commitEvidenceDigest}"`;
  return `{"action_id":"${effect.actionId}","approval_required":${effect.approvalRequired},"commit_evidence_digest":${evidence},"compensation_limit":"${effect.compensationLimit}","idempotency_key":"${effect.idempotencyKey}","kind":"${effect.kind}","operation_digest":"${effect.operationDigest}","ordinal":${effect.ordinal},"state":"${effect.state}","tool_id":"${effect.toolId}"}`;
}
