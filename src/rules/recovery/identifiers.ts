/**
 * The identifiers of the contract. Invariant: ASCII only, the whole string, no normalisation: what is not written exactly
 * so is another identifier or none.
 */
import { refuse } from './errors';

const RUN_ID = /^run_[0-9a-f]{32}$/;
const ACTION_ID = /^act_[0-9a-f]{32}$/;
const OPAQUE_ID = /^(?:run|act)_[0-9a-f]{32}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const IDEMPOTENCY_KEY = /^idem_[0-9a-f]{64}$/;

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const VERSION = '(?:0|[1-9][0-9]*)(?:\\.(?:0|[1-9][0-9]*)){2}';
const GOVERNED_ID = new RegExp(`^([a-z]+):(${LABEL}(?:\\.${LABEL})+)/([a-z][a-z0-9-]{0,63})(?:@(${VERSION}))?$`);
const MAX_GOVERNED_ID = 512;
const MAX_NAMESPACE = 253;

export const GOVERNED_KINDS = ['capability', 'purpose', 'policy', 'workflow', 'tool'] as const;
export type GovernedKind = (typeof GOVERNED_KINDS)[number];

/** The parts of `kind:namespace/local@version`. */
export interface GovernedId {
  readonly kind: GovernedKind;
  readonly namespace: string;
  readonly local: string;
  readonly version: string | null;
}

export function isRunId(value: unknown): value is string {
  return typeof value === 'string' && RUN_ID.test(value);
}

export function isActionId(value: unknown): value is string {
  return typeof value === 'string' && ACTION_ID.test(value);
}

export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && DIGEST.test(value);
}

export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && IDEMPOTENCY_KEY.test(value);
}

/** Whether `value` is a governed id, of `kind` when given. */
export function isGovernedId(value: unknown, kind?: GovernedKind): value is string {
  if (typeof value !== 'string' || value.length > MAX_GOVERNED_ID) return false;
  const match = GOVERNED_ID.exec(value);
  if (match === null || (match[2] as string).length > MAX_NAMESPACE) return false;
  return kind === undefined ? (GOVERNED_KINDS as readonly unknown[]).includes(match[1]) : match[1] === kind;
}

/** Throws `run_id: invalid_identifier`, or `wrong_identifier_kind` for an action id. */
export function parseRunId(value: unknown): string {
  return isRunId(value) ? value : refuseOpaque('run_id', value);
}

/** Throws `action_id: invalid_identifier`, or `wrong_identifier_kind` for a run id. */
export function parseActionId(value: unknown): string {
  return isActionId(value) ? value : refuseOpaque('action_id', value);
}

function refuseOpaque(fieldName: string, value: unknown): never {
  const known = typeof value === 'string' && OPAQUE_ID.test(value);
  return refuse(fieldName, known ? 'wrong_identifier_kind' : 'invalid_identifier');
}

/** The parts of a governed id. With `kind`, only an id of that kind is accepted. */
export function parseGovernedId(value: unknown, kind?: GovernedKind): GovernedId {
  if (typeof value !== 'string') return refuse('identifier', 'invalid_identifier_type');
  if (value.length > MAX_GOVERNED_ID && [...value].length > MAX_GOVERNED_ID) {
    return refuse('identifier', 'identifier_too_long');
  }
  const match = GOVERNED_ID.exec(value);
  if (match === null) return refuse('identifier', 'invalid_identifier');
  const [, foundKind, namespace, local, version] = match as unknown as [string, string, string, string, string?];
  const known = GOVERNED_KINDS.find((candidate) => candidate === foundKind);
  if (known === undefined) return refuse('kind', 'unknown_kind');
  if (namespace.length > MAX_NAMESPACE) return refuse('namespace', 'namespace_too_long');
  if (kind !== undefined && known !== kind) return refuse('kind', 'wrong_kind');
  return { kind: known, namespace, local, version: version ?? null };
}
