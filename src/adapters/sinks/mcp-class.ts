/**
 * What a repetition of an MCP tool would cost, from what its server says and what the operator says.
 *
 * Invariant: a server's annotations only raise the class that the operator gave; nothing that a server says makes anything harmless.
 */
import { type SideEffectClass } from '../../ports';

/** The hints of `tools/list` that count here. */
export interface McpAnnotations {
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
}

const RANK: Record<SideEffectClass, number> = {
  read_only: 0,
  idempotent_write: 1,
  non_idempotent_write: 2,
  irreversible_action: 3,
};

/** The class that the server states, or `null` where it states none. */
export function statedClass(annotations: McpAnnotations | undefined): SideEffectClass | null {
  const { readOnlyHint, destructiveHint, idempotentHint } = annotations ?? {};
  if (readOnlyHint === true) return 'read_only';
  if (idempotentHint === true) return 'idempotent_write';
  const writes = readOnlyHint === false || destructiveHint === true || idempotentHint === false;
  return writes ? 'non_idempotent_write' : null;
}

export function highest(classes: readonly SideEffectClass[]): SideEffectClass {
  return classes.reduce((left, right) => (RANK[right] > RANK[left] ? right : left), 'read_only');
}
