/**
 * A handler as the sink of one tool. Invariant: an execution is refused only by what the handler itself said before its deadline;
 * what it threw after that, and a transport that broke under a write, is unknown.
 */
import type { z } from 'zod';
import type { DispatchOutcome, EffectDefinition, EffectSink, SinkAnswer, SinkContext, SinkItem } from '../../ports';
import { isResendSafe, UNDECLARED_CLASS } from '../../rules/invocations/class-table';
import { toolIdOf } from '../../rules/invocations/names';
import type { ToolCall, ToolFound, ToolHandler } from './tool-handler';

export const TOOL_DEADLINE_MS = 30_000;
const SETTLE_MS = 5_000;

/** The codes of a call that its handler did not end with a code of its own. */
const INVALID_ARGUMENTS = 'invalid_arguments';
const HANDLER_FAILED = 'handler_failed';

/** What sockets and Node's own fetch say when an exchange broke: the request may have arrived. */
const BROKEN_TRANSPORT = /^(E(CONN|PIPE|TIMEDOUT|HOST|NET|SOCKET|AI_)|UND_ERR_|ERR_(STREAM|SOCKET|HTTP2|TLS|SSL))/;

/** The tool as plans name it. */
export function toolEffect(handler: ToolHandler): EffectDefinition {
  const { tool, version, maxAttempts } = handler;
  return {
    toolId: toolIdOf({ tool, version: version ?? null }),
    sink: handlerSink(handler),
    ...(maxAttempts === undefined ? {} : { maxAttempts }),
    // What the model is given back is whatever the handler gave: it is kept, and stands in no history.
    checkOutput: (value) => Promise.resolve({ ok: true, value }),
  };
}

export function handlerSink(handler: ToolHandler): EffectSink {
  const { sideEffect = UNDECLARED_CLASS, deadlineMs = TOOL_DEADLINE_MS, settleMs = SETTLE_MS } = handler;
  return {
    kind: 'local_tool',
    sideEffect,
    lookup: handler.lookup === undefined ? 'none' : (handler.lookupStrength ?? 'authoritative'),
    // Who declares an idempotent write says just that: the same key again changes nothing.
    enforcesKey: sideEffect === 'idempotent_write' ? 'always' : 'no',
    deadlineMs,
    settleMs,
    observe: (items, context) => Promise.all(items.map((item) => find(handler, item, context))),
    dispatch: (item, context) => execute(handler, item, context, isResendSafe(sideEffect)),
  };
}

async function execute(
  handler: ToolHandler,
  item: SinkItem,
  { signal }: SinkContext,
  repeatable: boolean,
): Promise<DispatchOutcome> {
  const args = await parsed(handler.inputSchema, item.operation);
  if (args === null) return { outcome: 'refused', code: INVALID_ARGUMENTS };
  try {
    const result = await handler.run(args.value, callOf(item, signal));
    return { outcome: 'accepted', externalId: null, result: result === undefined ? null : result };
  } catch (fault) {
    if (signal.aborted || isUnknown(fault) || (!repeatable && isBrokenTransport(fault))) throw fault;
    return { outcome: 'refused', code: codeOf(fault) };
  }
}

async function find(handler: ToolHandler, item: SinkItem, { signal }: SinkContext): Promise<SinkAnswer> {
  const args = await parsed(handler.inputSchema, item.operation);
  if (args === null || handler.lookup === undefined) return { state: 'unknown' };
  const found: ToolFound = await handler.lookup(args.value, callOf(item, signal));
  if (found.state !== 'committed') return found;
  // The key covers the arguments: what stands under it is what was asked for.
  const { operationDigest } = item;
  const result = found.result === undefined ? {} : { result: found.result };
  return { state: 'committed', operationDigest, externalId: null, ...result };
}

function callOf({ callId, idempotencyKey }: SinkItem, signal: AbortSignal): ToolCall {
  return { callId: callId ?? null, idempotencyKey, signal };
}

async function parsed(schema: z.ZodType, value: unknown): Promise<{ readonly value: unknown } | null> {
  try {
    const answer = await schema.safeParseAsync(value);
    return answer.success ? { value: answer.data } : null;
  } catch {
    return null;
  }
}

/** By name, so that two copies of this package understand each other. */
function isUnknown(fault: unknown): boolean {
  return fault instanceof Error && fault.name === 'ToolOutcomeUnknown';
}

function codeOf(fault: unknown): string {
  if (!(fault instanceof Error) || fault.name !== 'ToolError') return HANDLER_FAILED;
  const { code } = fault as { code?: unknown };
  return typeof code === 'string' ? code : HANDLER_FAILED;
}

/** A fault of the exchange itself, or one that says that it was caused by such. */
function isBrokenTransport(fault: unknown, depth = 0): boolean {
  if (typeof fault !== 'object' || fault === null || depth > 5) return false;
  const { code, name, cause } = fault as { code?: unknown; name?: unknown; cause?: unknown };
  if (name === 'AbortError' || name === 'TimeoutError') return true;
  return (typeof code === 'string' && BROKEN_TRANSPORT.test(code)) || isBrokenTransport(cause, depth + 1);
}
