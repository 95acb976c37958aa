/**
 * `defineEffect`: one effect as its worker defines it and as its authors see it. Invariant: the types that a workflow gets by
 * `import type` are those that the worker checks at run time, and a message about contents names only fields of the schema.
 */
import type { z } from 'zod';
import type { ContentCheck, EffectDefinition, EffectSink } from './ports';
import type { EffectSignature } from './rules/calls/signature';

export interface EffectOptions<
  Input extends z.ZodType,
  Output extends z.ZodType,
  Exposed extends keyof z.output<Output> & string,
> extends Pick<EffectDefinition, 'maxAttempts' | 'approvalRequired' | 'compensationLimit'> {
  /** Governed id, as in `tool:example.org/charge@1.0.0`. */
  readonly tool: string;
  readonly sink: EffectSink;
  /**
   * What an author gives. What the schema makes of it is sent, so the same arguments must always make the same; and as they
   * travel as JSON, it sees a date as its text.
   */
  readonly input: Input;
  /** What the sink gives back. @default nothing is given back to the author */
  readonly output?: Output;
  /** Fields of the output that may enter a history; the others are reached by the result's Ref. @default none */
  readonly exposed?: readonly Exposed[];
}

export interface DefinedEffect<Args, Output, Exposed>
  extends EffectDefinition, EffectSignature<Args, Output, Exposed> {}

export function defineEffect<
  Input extends z.ZodType,
  Output extends z.ZodType = z.ZodType<unknown>,
  const Exposed extends keyof z.output<Output> & string = never,
>(
  options: EffectOptions<Input, Output, Exposed>,
): DefinedEffect<z.input<Input>, z.output<Output>, Pick<z.output<Output>, Exposed>> {
  const { tool, input, output, exposed, ...rest } = options;
  return {
    ...rest,
    toolId: tool,
    checkInput: checkOf(input),
    ...(output === undefined ? {} : { checkOutput: checkOf(output) }),
    ...(exposed === undefined ? {} : { exposed }),
  };
}

const MOST_FAULTS = 5;

/** What a schema says of a value, without a word of the value. */
export function checkOf(schema: z.ZodType): ContentCheck {
  return async (value) => {
    try {
      const answer = await schema.safeParseAsync(value);
      if (answer.success) return { ok: true, value: answer.data };
      const faults = answer.error.issues.slice(0, MOST_FAULTS);
      return { ok: false, faults: faults.map(({ path, code }) => `${safePath(schema, path)}: ${code}`) };
    } catch {
      return { ok: false, faults: ['the schema itself failed on it'] };
    }
  };
}

/** A path may run through keys that are content, as those of a record are: only fields that a schema declares are named. */
function safePath(schema: z.ZodType, path: readonly PropertyKey[]): string {
  let at: unknown = schema;
  const names = path.map((step) => {
    const { shape, element } = unwrapped(at);
    const field = typeof step === 'string' ? shape?.[step] : undefined;
    at = field ?? element;
    return typeof step === 'number' || field !== undefined ? String(step) : '*';
  });
  return names.join('.') || 'value';
}

interface SchemaParts {
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly element?: unknown;
  readonly innerType?: unknown;
  readonly in?: unknown;
}

/** The object or list inside optional, nullable, default and pipe. */
function unwrapped(schema: unknown): SchemaParts {
  const parts = ((schema as { def?: SchemaParts } | undefined)?.def ?? {}) as SchemaParts;
  const inner = parts.innerType ?? parts.in;
  return inner === undefined ? parts : unwrapped(inner);
}
