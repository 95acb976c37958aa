/**
 * The idempotency key of an effect. Invariant: it is a function of who acts, with which tool and what content, and of
 * nothing else: neither its place in the plan nor its approval changes it.
 */
import { refuse } from './errors';
import { requireDigest, requireWord } from './fields';
import { parseActionId, parseGovernedId, parseRunId } from './identifiers';
import { sha256Hex } from './sha256';
import { EFFECT_KINDS, type EffectKind } from './vocabulary';

export interface EffectIdentity {
  readonly runId: string;
  readonly actionId: string;
  readonly toolId: string;
  readonly kind: EffectKind;
  readonly operationDigest: string;
}

export function deriveIdempotencyKey(identity: EffectIdentity): string {
  requireIdentity(identity);
  return keyOf(identity.runId, identity);
}

/** Refuses an identity that is not well-formed. */
export function requireIdentity(identity: EffectIdentity): void {
  if (typeof identity.runId !== 'string') refuse('run_id', 'invalid_run_id');
  parseRunId(identity.runId);
  if (typeof identity.actionId !== 'string') refuse('action_id', 'invalid_action_id');
  parseActionId(identity.actionId);
  if (typeof identity.toolId !== 'string') refuse('tool_id', 'invalid_tool_id');
  parseGovernedId(identity.toolId, 'tool');
  requireWord(EFFECT_KINDS, identity.kind, 'kind', 'unknown_effect_kind');
  requireDigest(identity.operationDigest, 'operation_digest');
}

/** The key of parts that are already known to be well-formed. */
export function keyOf(runId: string, parts: Omit<EffectIdentity, 'runId'>): string {
  return `idem_${sha256Hex(idempotencyPreimage(runId, parts))}`;
}

/** Canonical JSON of the identity, written directly: every part is plain ASCII. */
export function idempotencyPreimage(runId: string, parts: Omit<EffectIdentity, 'runId'>): string {
  return `{"action_id":"${parts.actionId}","kind":"${parts.kind}","operation_digest":"${parts.operationDigest}","run_id":"${runId}","tool_id":"${parts.toolId}"}`;
}
