/**
 * A tool as its author writes it: a schema for what the model may ask, and a function that does it. Invariant: what a handler throws
 * is said by its type alone, so that "it failed" is never confused with "nobody knows".
 */
import type { z } from 'zod';
import type { SideEffectClass } from '../../ports';

/** What a handler is told beside its arguments. */
export interface ToolCall {
  /** Null for a plan that is no call of a session. */
  readonly callId: string | null;
  /** The same however often this very call is made. Hand it to whatever takes such a key. */
  readonly idempotencyKey: string;
  /** Aborted at the deadline. What a handler throws from then on counts as unknown. */
  readonly signal: AbortSignal;
}

/** What a look-up found under the call's key. */
export type ToolFound =
  | { readonly state: 'absent' }
  | { readonly state: 'committed'; readonly result?: unknown }
  /** It is still being done: ask again later. */
  | { readonly state: 'in_flight'; readonly retryAfterMs?: number }
  | { readonly state: 'unknown' };

export interface ToolHandler<Schema extends z.ZodType = z.ZodType> {
  /** A lowercase name of up to 64 letters, digits and hyphens. */
  readonly tool: string;
  /** As in `1.0.0`. Calls name exactly one version. @default the tool has none */
  readonly version?: string;
  /** Calls that one worker does at once. @default 4 */
  readonly maxConcurrency?: number;
  /** What doing a call a second time would cost. @default 'non_idempotent_write' */
  readonly sideEffect?: SideEffectClass;
  readonly inputSchema: Schema;
  /** Looks for a call by its key, without changing anything. @default there is no way to find out */
  lookup?(args: z.output<Schema>, call: ToolCall): Promise<ToolFound>;
  /** `hint`: a look-up that finds nothing proves nothing. @default 'authoritative' */
  readonly lookupStrength?: 'authoritative' | 'hint';
  /** Longest time of one execution, and of one look-up, in milliseconds. @default 30000 */
  readonly deadlineMs?: number;
  /** How long after the deadline a write may still become visible, in milliseconds. @default 5000 */
  readonly settleMs?: number;
  /** Executions that may be begun for one call before a person must decide. @default 3 */
  readonly maxAttempts?: number;
  /**
   * Does it once. What it returns has to be JSON. A `ToolError` is the tool's own word that it failed; see `ToolOutcomeUnknown` for
   * the opposite.
   */
  run(args: z.output<Schema>, call: ToolCall): Promise<unknown>;
}

/** Types a handler by its schema. */
export function defineTool<Schema extends z.ZodType>(handler: ToolHandler<Schema>): ToolHandler<Schema> {
  return handler;
}

/** The tool failed, and will have no effect. The model is told the code. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  /** `code`: a short stable word of `[A-Za-z0-9._:-]`, without content; it stands in histories. */
  constructor(
    readonly code: string,
    message: string = code,
  ) {
    super(message);
  }
}

/** Nobody knows what became of it: what else a handler throws says that it failed. */
export class ToolOutcomeUnknown extends Error {
  override readonly name = 'ToolOutcomeUnknown';
}
