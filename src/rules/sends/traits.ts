/**
 * What a sink declares of itself and what it may answer. Invariant: these are claims and raw answers; `proof.ts` alone
 * decides what they are worth.
 */

/** What a repetition of the effect would cost. An undeclared class is `non_idempotent_write`. */
export type SideEffectClass = 'read_only' | 'idempotent_write' | 'non_idempotent_write' | 'irreversible_action';

/** What a look-up is worth. A `hint` may prove that an effect is committed, never that it is absent. */
export type LookupStrength = 'authoritative' | 'hint' | 'none';

/** Whether the sink itself refuses a second write under one key: always, until its horizon ends, or not at all. */
export type KeyEnforcement = 'always' | 'within_horizon' | 'no';

/** What a look-up by key found. `in_flight` is an operation that the sink itself says is still running. */
export type SinkAnswer =
  | { readonly state: 'absent' }
  | {
      readonly state: 'committed';
      /** The operation digest stored under the key; one that differs from ours is a changed effect, never a success. */
      readonly operationDigest: string;
      /**
       * The sink's own immutable name for what was written, the same that its dispatch answered. Part of the commit evidence:
       * another name later is a changed effect, and a question to a person.
       */
      readonly externalId: string | null;
      readonly result?: unknown;
    }
  | { readonly state: 'in_flight'; readonly retryAfterMs?: number }
  | { readonly state: 'unknown' };
