/**
 * The tools of sessions as a worker is told of them. Invariant: a description says what may be asked of a tool, and runs nothing: what
 * a session's worker holds of it can look, close and end, and never sends.
 */
import type { z } from 'zod';
import type { SessionToolFields } from './activities/session-engine';
import { descriptorHash, inputJsonSchema } from './adapters/tools';
import { checkOf } from './effects';
import type { EffectDefinition, SideEffectClass } from './ports';
import { UNDECLARED_CLASS } from './rules/invocations/class-table';
import { LIMIT_TOOL, toolIdOf } from './rules/invocations/names';
import { MOST_WAITING, QUEUE_BOUND } from './rules/invocations/queue-state';

/** A tool handler is one, too. */
export interface ToolDescriptor {
  /** A lowercase name of up to 64 letters, digits and hyphens; the model calls it by this. */
  readonly tool: string;
  /** As in `1.0.0`. @default the tool has none */
  readonly version?: string;
  /** What the model is told of it. @default the description of the schema */
  readonly description?: string;
  readonly inputSchema: z.ZodType;
  /** @default 'non_idempotent_write' */
  readonly sideEffect?: SideEffectClass;
  /** `queue`: exact order and bound. `native`: Temporal's task queue alone, which is faster. @default 'queue' */
  readonly capacity?: 'queue' | 'native';
  /** How long a call may wait for a worker, in milliseconds. @default 10000 */
  readonly queueWaitMs?: number;
  /** Calls of all sessions that may wait at once, up to 1000; one more is not taken, and hears so at once. @default 256 */
  readonly queueBound?: number;
  /** Longest time of one execution, in milliseconds. @default 30000 */
  readonly deadlineMs?: number;
}

const QUEUE_WAIT_MS = 10_000;
const DEADLINE_MS = 30_000;

export function sessionTool({ tool, version, ...given }: ToolDescriptor): SessionToolFields {
  const { inputSchema, sideEffect = UNDECLARED_CLASS, capacity = 'queue' } = given;
  return {
    ...{ tool, version: version ?? null, sideEffect, capacity },
    description: given.description ?? inputSchema.description ?? '',
    inputSchema: inputJsonSchema(inputSchema),
    descriptorHash: descriptorHash({ tool, inputSchema, sideEffect, ...(version === undefined ? {} : { version }) }),
    checkInput: checkOf(inputSchema),
    queueWaitMs: given.queueWaitMs ?? QUEUE_WAIT_MS,
    queueBound: boundOf(tool, given.queueBound),
    executionMs: given.deadlineMs ?? DEADLINE_MS,
  };
}

function boundOf(tool: string, bound = QUEUE_BOUND): number {
  if (Number.isSafeInteger(bound) && bound >= 0 && bound <= MOST_WAITING) return bound;
  throw new Error(`queueBound of ${tool} must be a whole number up to ${MOST_WAITING}`);
}

/** The tool where it is only described: plans of it can be followed and closed here, and nothing is sent. */
export function describedEffect({
  tool,
  version,
  sideEffect,
  executionMs,
}: Pick<SessionToolFields, 'tool' | 'version' | 'sideEffect' | 'executionMs'>): EffectDefinition {
  return {
    toolId: toolIdOf({ tool, version }),
    sink: {
      kind: 'local_tool',
      sideEffect,
      lookup: 'none',
      enforcesKey: sideEffect === 'idempotent_write' ? 'always' : 'no',
      deadlineMs: executionMs,
      settleMs: 0,
      observe: (items) => Promise.resolve(items.map(() => ({ state: 'unknown' }) as const)),
      dispatch: () => Promise.resolve({ outcome: 'not_sent' }),
    },
    checkOutput: (value) => Promise.resolve({ ok: true, value }),
  };
}

/** What people are asked about where a session has reached a limit. */
export const limitEffect: EffectDefinition = describedEffect({
  ...LIMIT_TOOL,
  sideEffect: 'read_only',
  executionMs: 1_000,
});
