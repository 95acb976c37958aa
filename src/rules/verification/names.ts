/**
 * The words and names of verification runs. Invariant: every identity is the SHA-256 of canonical JSON that begins with a domain
 * of its own, so a thing of one kind can never pass for one of another.
 */
import { canonicalJson, isDigest, sha256Digest, sha256Hex } from '../recovery';
import type { Dict, Fields } from '../fields';

/** What a worker may be shown. A specialist sees the captured target and nothing else. */
export const CONTENT_BOUNDARIES = ['captured_target_only', 'whole_context'] as const;
export type ContentBoundary = (typeof CONTENT_BOUNDARIES)[number];

export const JOB_ROLES = ['specialist', 'coordinator'] as const;
export type JobRole = (typeof JOB_ROLES)[number];

/** `sha256:` and 64 hex digits. */
export function identityDigest(domain: string, fields: Dict): string {
  return sha256Digest(canonicalJson({ domain, ...fields }));
}

/** The first 32 hex digits of the same digest. */
export function shortIdentity(domain: string, fields: Dict): string {
  return sha256Hex(canonicalJson({ domain, ...fields })).slice(0, 32);
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;
const CAPTURE_ID = /^cap_[0-9a-f]{32}$/;
const SITTING_ID = /^sit_[0-9a-f]{32}$/;
const JOB_ID = /^[0-9a-f]{32}$/;
const OPERATION_ID = /^op_internal_[0-9a-f]{32}$/;
const PROPOSAL_ID = /^prop_[0-9a-f]{32}$/;

/** Of a criterion, a check, a binding, a provider or a model: a stable word, never text of a person. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

export function isCaptureId(value: unknown): value is string {
  return typeof value === 'string' && CAPTURE_ID.test(value);
}

export function isSittingId(value: unknown): value is string {
  return typeof value === 'string' && SITTING_ID.test(value);
}

export function isJobId(value: unknown): value is string {
  return typeof value === 'string' && JOB_ID.test(value);
}

export function isOperationId(value: unknown): value is string {
  return typeof value === 'string' && OPERATION_ID.test(value);
}

export function isProposalId(value: unknown): value is string {
  return typeof value === 'string' && PROPOSAL_ID.test(value);
}

export function nameAt(at: Fields, field: string): string {
  return at.text(field, 'a name of up to 128 plain characters', isName);
}

export function digestAt(at: Fields, field: string): string {
  return at.text(field, 'a sha256 digest', isDigest);
}

/** A list in ascending order, each once: a set has one text. */
export function setAt<T extends string>(
  at: Fields,
  field: string,
  rule: string,
  holds: (value: unknown) => value is T,
  atLeast = 0,
): readonly T[] {
  const items = at.list(field, atLeast).map((one) => (holds(one) ? one : at.refuse(`must list ${rule}`, field)));
  if (items.some((one, index) => index > 0 && one <= (items[index - 1] as T))) {
    at.refuse('must be in ascending order, each once', field);
  }
  return items;
}

export function sortedSet<T extends string>(items: readonly T[]): readonly T[] {
  return [...new Set(items)].sort();
}
