/**
 * Between the messages of a queue and its rules. Invariant: what anybody sends is read strictly before it counts; a call is let in only
 * when its plan is that call's, with this queue's tool.
 */
import { Fields, type Dict } from '../rules/fields';
import { callRunId, isCallId, toolIdOf, type Tool } from '../rules/invocations/names';
import {
  QUEUE_BOUND,
  queuedAt,
  type QueueEvent,
  type QueueReport,
  type QueueRequest,
  type RunningCall,
} from '../rules/invocations/queue-state';
import { planFromRecord } from '../rules/plans/plan';
import { isDigest, isRunId } from '../rules/recovery';
import type { DriveRequest, DriveResult } from '../activities/contract';
import type { AllowedWorkers } from '../activities/tool-contract';
import type { CallReport } from './queue-messages';

const LEASE_MS = 30_000;
const LONGEST_MS = 7 * 86_400_000;
const MOST_SLOTS = 10_000;
const LONGEST_NAME = 1_000;

/** What it takes to drive a call, beside its name. */
export interface Carried {
  readonly plan: Dict;
  readonly journal_id: string | null;
  readonly execution_ms: number;
  readonly lease_ms: number;
  readonly allow: AllowedWorkers | null;
}

export function requestOf(message: unknown, tool: Tool): QueueRequest {
  const at = new Fields(message, 'enqueue', 'invalid_arguments');
  const callId = at.text('call_id', 'a call id', isCallId);
  const runId = at.text('run_id', 'the run of the call', (text) => isRunId(text) && text === callRunId(callId, tool));
  const plan = at.raw('plan') as Dict;
  const { runId: planned, effects } = planFromRecord(plan);
  if (planned !== runId || effects.length !== 1 || effects[0]?.toolId !== toolIdOf(tool)) {
    at.refuse('must be the plan of this call, with one effect of this tool', 'plan');
  }
  const carries: Carried = {
    plan,
    journal_id: at.nullable('journal_id', (field) => at.text(field, 'the id of a journal', isName)),
    execution_ms: positive(at, 'execution_ms'),
    lease_ms: at.optional('lease_ms', (field) => positive(at, field), LEASE_MS),
    allow: at.optional('allow', (field) => allowedOf(at.raw(field)), null),
  };
  const request = {
    callId,
    runId,
    request: at.optional('request', (field) => positive(at, field), 1),
    replyTo: at.text('reply_to', 'the id of a workflow', isName),
    sequence: at.count('sequence'),
    waitMs: positive(at, 'queue_wait_ms'),
    deadlineAt: at.count('deadline_at'),
    bound: at.optional('bound', (field) => at.count(field), QUEUE_BOUND),
    resent: at.optional('resent', (field) => at.flag(field), false),
    carries: { ...carries } as unknown as Dict,
  };
  at.end();
  return request;
}

export function withdrawalOf(message: unknown): QueueEvent {
  const at = new Fields(message, 'withdraw', 'invalid_arguments');
  const callId = at.text('call_id', 'a call id', isCallId);
  const replyTo = at.text('reply_to', 'the id of a workflow', isName);
  at.end();
  return { type: 'withdraw', callId, replyTo };
}

export function presenceOf(message: unknown): QueueEvent {
  const at = new Fields(message, 'register', 'invalid_arguments');
  const identity = at.text('identity', 'the identity of a worker', isName);
  const instance = at.text('instance', 'a name of this run of the worker', isName);
  const slots = positive(at, 'slots', MOST_SLOTS);
  const descriptorHash = at.text('descriptor_hash', 'a sha256 digest', isDigest);
  const event = at.oneOf('event', ['started', 'stopped']);
  at.end();
  return event === 'stopped'
    ? { type: 'worker_stopped', identity, instance }
    : { type: 'worker_started', worker: { identity, instance, slots, descriptorHash } };
}

/** Asked from the first checkpoint on, since a queue keeps no chains: whoever hears the answer derives it. */
export function driveRequest(call: RunningCall): DriveRequest {
  const { plan, journal_id, allow } = carriedBy(call);
  return {
    run_id: call.runId,
    call_id: call.callId,
    lineage: 1,
    intent: 'drive',
    plan,
    journal_id,
    expected_head: null,
    epoch: null,
    // Whoever asks for a call anew knows of every driver that had it.
    reclaim: call.request > 1,
    waited: [],
    report: {
      ...{ workflow_id: call.replyTo, request: call.request },
      ...{ attempts: call.attempts + 1, queued_at: queuedAt(call) },
    },
    ...(allow === null ? {} : { allow }),
  };
}

export function carriedBy({ carries }: Pick<QueueRequest, 'carries'>): Carried {
  return carries as unknown as Carried;
}

export function reportMessage(report: QueueReport, result: DriveResult | null): CallReport {
  return {
    call_id: report.callId,
    run_id: report.runId,
    request: report.request,
    status: report.status,
    code: report.code,
    worker_identity: report.worker,
    attempts: report.attempts,
    queued_at: report.queuedAt,
    dispatched_at: report.dispatchedAt,
    completed_at: report.completedAt,
    head: result?.head ?? null,
    result,
  };
}

type Address = Pick<QueueRequest, 'callId' | 'runId' | 'request' | 'replyTo'>;

/** Of a request that was not let in. */
export function refusalMessage({ callId, runId, request }: Address, code: string, now: number): CallReport {
  return {
    ...{ call_id: callId, run_id: runId, request, status: 'failed', code, worker_identity: null, attempts: 0 },
    ...{ queued_at: now, dispatched_at: null, completed_at: now, head: null, result: null },
  };
}

/** Who is to hear that a request was turned down, where the message says as much. */
export function addressOf(message: unknown): Address | null {
  const { call_id: callId, reply_to: replyTo, run_id: runId, request } = (message ?? {}) as Record<string, unknown>;
  if (!isCallId(callId) || !isName(replyTo)) return null;
  return { callId, replyTo, runId: String(runId), request: Number.isSafeInteger(request) ? Number(request) : 1 };
}

function allowedOf(value: unknown): AllowedWorkers {
  const at = new Fields(value, 'enqueue.allow', 'invalid_arguments');
  const texts = (field: string): readonly string[] =>
    at.list(field).map((text) => (isName(text) ? text : at.refuse('must be a list of names', field)));
  const identities = at.optional('identities', texts, null);
  const hashes = at.optional('descriptor_hashes', texts, null);
  at.end();
  return {
    ...(identities === null ? {} : { identities }),
    ...(hashes === null ? {} : { descriptor_hashes: hashes }),
  };
}

function positive(at: Fields, field: string, most = LONGEST_MS): number {
  const number = at.count(field);
  if (number < 1 || number > most) at.refuse(`must be from 1 to ${most}`, field);
  return number;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LONGEST_NAME;
}
