/**
 * The identifiers of governance. Invariant: ASCII only, whole-string match, no normalisation.
 */
export const GOVERNED_KINDS = ['capability', 'purpose', 'policy', 'workflow', 'tool'] as const;
export type GovernedKind = (typeof GOVERNED_KINDS)[number];

export interface GovernedId {
  readonly kind: GovernedKind;
  readonly namespace: string;
  readonly local: string;
  readonly version: string | null;
}

export function isRunId(value: unknown): value is string {
  throw new Error('not built');
}
export function isActionId(value: unknown): value is string {
  throw new Error('not built');
}
export function isDigest(value: unknown): value is string {
  throw new Error('not built');
}
export function isIdempotencyKey(value: unknown): value is string {
  throw new Error('not built');
}
/** The parts of a governed id. With `kind`, only an id of that kind is accepted. */
export function parseGovernedId(_value: unknown, _kind?: GovernedKind): GovernedId {
  throw new Error('not built');
}
