/**
 * The input schema that an MCP server states for a tool, as a schema of a handler.
 *
 * Invariant: others read it as the server wrote it, with its description, so each change of either is another descriptor; arguments are
 * held against all of it, by the validator that comes with the MCP SDK.
 */
import { z } from 'zod';
import { type McpTool } from '../sinks/mcp-connection';

interface Validators {
  readonly AjvJsonSchemaValidator: new () => {
    getValidator(schema: object): (value: unknown) => { readonly valid: boolean };
  };
}

/** Throws where nothing can be held against the schema. */
export function mcpInputSchema({ name, description, inputSchema }: McpTool): z.ZodType<Record<string, unknown>> {
  // `$schema` is a dialect that the validator may not know; the others name the schema, which zod and the validator would keep for ever.
  const { $schema: _dialect, $id: _name, id: _old, ...schema } = inputSchema as Record<string, unknown>;
  const fits = validatorOf(name, schema);
  return z
    .custom<Record<string, unknown>>((value) => isObject(value) && fits(value))
    .meta({ ...schema, ...(description === undefined ? {} : { description }) });
}

function validatorOf(name: string, schema: object): (value: unknown) => boolean {
  // eslint-disable-next-line @typescript-eslint/no-require-imports
  const { AjvJsonSchemaValidator } = require('@modelcontextprotocol/sdk/validation/ajv') as Validators;
  try {
    const validate = new AjvJsonSchemaValidator().getValidator(schema);
    return (value) => validate(value).valid;
  } catch {
    throw new Error(`The input schema of the tool ${name} cannot be used; leave the tool out by "only".`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
