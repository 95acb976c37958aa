/**
 * What things of a tool session are called. Invariant: every name is derived from what the thing is, never drawn: the same place in
 * a session is the same call for ever, two places never share a name, and each name leads back to what it names.
 */
import type { SessionLimit } from './vocabulary';
import { deriveCallRunId } from '../calls/identity';
import { deriveRunId } from '../plans/identity';
import { parseGovernedId, isGovernedId, sha256Hex } from '../recovery';
import { Refusal } from '../refusal';

/** One tool call by its place. Turn and round count from 1; the index from 0, in the order in which the model asked. */
export interface CallPlace {
  readonly session: string;
  readonly agentVersion: string;
  readonly turn: number;
  readonly round: number;
  readonly index: number;
}

/** A tool in exactly one version; null is the one without a version. */
export interface Tool {
  readonly tool: string;
  readonly version: string | null;
}

/** The version that a tool without one has in names of queues. */
export const DEFAULT_VERSION = 'default';

const TOOLS = 'tool:tools.countersign.local/';
const SESSION_WORKFLOW = 'countersign-session/';
const QUEUE_WORKFLOW = 'countersign-queue/';
const TASK_QUEUE = 'countersign-tool/';
/** The origin of every call of a session. */
export const CALLS_ORIGIN = 'countersign.session';
const LONGEST_WIRE_ID = 64;

const SESSION_NAME = /^[A-Za-z0-9._-]{1,64}$/;
const TOOL_NAME = /^[a-z][a-z0-9-]{0,63}$/;
const RULE_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/;
const ASKED_TOOL = /^[A-Za-z0-9_.-]{1,128}$/;
const PLACE =
  /^([A-Za-z0-9._-]{1,64}):([A-Za-z0-9._-]{1,64}):([1-9][0-9]{0,15}):([1-9][0-9]{0,15}):(0|[1-9][0-9]{0,15})$/;

/** Of a session or of an agent's version. It has no colon, so a place is read from a call id in one way only. */
export function isSessionName(value: unknown): value is string {
  return typeof value === 'string' && SESSION_NAME.test(value);
}

export function isToolName(value: unknown): value is string {
  return typeof value === 'string' && TOOL_NAME.test(value);
}

/** A model may ask for a tool by any name. One that is no plain word is not written down, for it could be content. */
export function isAskedTool(value: unknown): value is string {
  return typeof value === 'string' && ASKED_TOOL.test(value);
}

/** Of a policy's rule. */
export function isRuleName(value: unknown): value is string {
  return typeof value === 'string' && RULE_NAME.test(value);
}

/** As in `1.0.0`. */
export function isToolVersion(value: unknown): value is string {
  return typeof value === 'string' && isGovernedId(`${TOOLS}x@${value}`);
}

export function callIdOf({ session, agentVersion, turn, round, index }: CallPlace): string {
  const id = `${session}:${agentVersion}:${turn}:${round}:${index}`;
  if (isCallId(id)) return id;
  throw refused('call_id', 'needs names of [A-Za-z0-9._-], a turn and a round from 1 and an index from 0');
}

export function isCallId(value: unknown): value is string {
  return typeof value === 'string' && placeOf(value) !== null;
}

/** The place that a call id names. */
export function callPlace(callId: string): CallPlace {
  return placeOf(callId) ?? refuse('call_id', 'is not <session>:<agent version>:<turn>:<round>:<index>');
}

/** The same call under the name that a model's provider is given: providers take 64 characters at most. */
export function wireIdOf(callId: string): string {
  return callId.length <= LONGEST_WIRE_ID ? callId : `call_${sha256Hex(callId).slice(0, 32)}`;
}

/** `tool@version`: the name of the tool's queue. */
export function queueNameOf({ tool, version }: Tool): string {
  if (!isToolName(tool)) return refuse('tool', 'must be a lowercase name of up to 64 letters, digits and hyphens');
  if (version !== null && !isToolVersion(version)) return refuse('version', 'must be three numbers such as 1.0.0');
  return `${tool}@${version ?? DEFAULT_VERSION}`;
}

export function toolOfQueue(queue: string): Tool {
  return (
    readQueue(queue) ?? refuse('queue', 'is not <tool>@<version>, where a tool without a version is <tool>@default')
  );
}

/** The governed id under which plans name the tool. */
export function toolIdOf(tool: Tool): string {
  const queue = queueNameOf(tool);
  return `${TOOLS}${tool.version === null ? tool.tool : queue}`;
}

/** The tool of a governed id; null for an id that is not of a session's tool. */
export function toolOfId(toolId: string): Tool | null {
  if (!isGovernedId(toolId, 'tool') || !toolId.startsWith(TOOLS)) return null;
  const { local, version } = parseGovernedId(toolId);
  return { tool: local, version };
}

export function sessionWorkflowId(session: string): string {
  if (!isSessionName(session)) return refuse('session', 'must be 1 to 64 characters of [A-Za-z0-9._-]');
  return `${SESSION_WORKFLOW}${session}`;
}

/** The session that a Temporal workflow carries; null for any other workflow. */
export function sessionOfWorkflow(workflowId: string): string | null {
  const session = after(SESSION_WORKFLOW, workflowId);
  return isSessionName(session) ? session : null;
}

/** The workflow of the queue of a governed tool; null for a tool that no session has. */
export function queueWorkflowId(toolId: string): string | null {
  const tool = toolOfId(toolId);
  return tool === null ? null : `${QUEUE_WORKFLOW}${queueNameOf(tool)}`;
}

/** The tool whose queue a Temporal workflow is; null for any other workflow. */
export function toolOfQueueWorkflow(workflowId: string): Tool | null {
  const queue = after(QUEUE_WORKFLOW, workflowId);
  return queue === null ? null : readQueue(queue);
}

/** The Temporal task queue that the tool's workers poll. */
export function toolTaskQueue(tool: Tool): string {
  return `${TASK_QUEUE}${queueNameOf(tool)}`;
}

/** The run of a session itself: the folder of its events in the journal. */
export function sessionRunId(session: string): string {
  return deriveRunId(sessionWorkflowId(session), 'session');
}

/** The run of one call: a plan with one effect. */
export function callRunId(callId: string, tool: Tool): string {
  const { session } = callPlace(callId);
  return deriveCallRunId({
    origin: CALLS_ORIGIN,
    workflowId: sessionWorkflowId(session),
    effect: queueNameOf(tool),
    id: callId,
  });
}

/** What stands in the place of a tool where people are asked about a limit of a session; no worker has it, and nothing is ever sent. */
export const LIMIT_TOOL: Tool = { tool: 'session-limit', version: null };

/** The run of the question whether a session may go on behind a limit; `question` counts from 1. */
export function limitRunId(session: string, limit: SessionLimit, question: number): string {
  const workflowId = sessionWorkflowId(session);
  return deriveCallRunId({ origin: CALLS_ORIGIN, workflowId, effect: 'limit', id: limitEffectId(limit, question) });
}

/** The one effect of its plan. */
export function limitEffectId(limit: SessionLimit, question: number): string {
  return `${limit}/${question}`;
}

function placeOf(callId: string): CallPlace | null {
  const match = PLACE.exec(callId);
  if (match === null) return null;
  const [, session, agentVersion, ...numbers] = match as unknown as [string, string, string, string, string, string];
  const [turn, round, index] = numbers.map(Number) as [number, number, number];
  if (![turn, round, index].every((number) => Number.isSafeInteger(number))) return null;
  return { session, agentVersion, turn, round, index };
}

function readQueue(queue: string): Tool | null {
  const [tool, version, ...rest] = queue.split('@');
  if (!isToolName(tool) || version === undefined || rest.length > 0) return null;
  if (version === DEFAULT_VERSION) return { tool, version: null };
  return isToolVersion(version) ? { tool, version } : null;
}

function after(prefix: string, text: string): string | null {
  return text.startsWith(prefix) ? text.slice(prefix.length) : null;
}

function refuse(field: string, reason: string): never {
  throw refused(field, reason);
}

function refused(field: string, reason: string): Refusal {
  return new Refusal('invalid_arguments', reason, field);
}
