/**
 * What a tool promises, as one hash. Invariant: it covers the name, the version, the class and the input schema, so a worker that
 * takes other arguments, or is less careful, has another hash; it says nothing of the code behind them.
 */
import { z } from 'zod';
import { UNDECLARED_CLASS } from '../../rules/invocations/class-table';
import { contentJson } from '../../rules/plans/content-json';
import { sha256Digest } from '../../rules/recovery';
import type { ToolHandler } from './tool-handler';

export function descriptorHash({ tool, version, sideEffect, inputSchema }: Descriptor): string {
  return sha256Digest(
    contentJson({
      domain: 'countersign.tool_descriptor.v1',
      tool,
      version: version ?? null,
      side_effect: sideEffect ?? UNDECLARED_CLASS,
      input_schema: inputJsonSchema(inputSchema),
    }),
  );
}

export type Descriptor = Pick<ToolHandler, 'tool' | 'version' | 'sideEffect' | 'inputSchema'>;

/** The schema as others read it: a model's provider, a reviewer. What JSON Schema cannot say is left open. */
export function inputJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(json)) as Record<string, unknown>;
}
