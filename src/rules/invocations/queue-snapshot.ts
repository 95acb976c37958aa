/**
 * A queue as it goes through continue-as-new. Invariant: what is read is what was written, or is refused; nothing runs at that moment,
 * and what the queue waited to hear then is asked again.
 */
import { Fields, type Dict } from '../fields';
import { isJsonObject, isRunId, type JsonObject } from '../recovery';
import { isCallId } from './names';
import {
  LEFT_STATUSES,
  compareCalls,
  type QueueReport,
  type QueueState,
  type QueueWorker,
  type WaitingCall,
} from './queue-state';

export const QUEUE_SCHEMA_VERSION = 'countersign.tool_queue.v1';

export function queueToRecord(state: QueueState): Dict {
  if (state.running.length > 0) throw new Error('a queue is handed over only while nothing runs');
  return {
    schema_version: QUEUE_SCHEMA_VERSION,
    born_at: state.bornAt,
    ever_registered: state.everRegistered,
    hold: state.hold === null ? null : { limit: state.hold.limit, until: state.hold.until },
    hold_ms: state.holdMs,
    workers: state.workers.map(workerToRecord),
    waiting: state.waiting.map(waitingToRecord),
    left: state.left.map(reportToRecord),
    withdrawn: state.withdrawn.map(({ callId, replyTo }) => ({ call_id: callId, reply_to: replyTo })),
  };
}

export function queueFromRecord(value: unknown): QueueState {
  const at = new Fields(value, 'queue');
  at.oneOf('schema_version', [QUEUE_SCHEMA_VERSION]);
  const state: QueueState = {
    bornAt: at.count('born_at'),
    everRegistered: at.flag('ever_registered'),
    draining: false,
    asking: false,
    hold: at.nullable('hold', (field) => {
      const hold = new Fields(at.raw(field), 'queue.hold');
      const read = { limit: hold.count('limit'), until: hold.count('until') };
      hold.end();
      return read;
    }),
    holdMs: at.count('hold_ms'),
    workers: at.list('workers').map((one, index) => workerFromRecord(one, `queue.workers[${index}]`)),
    waiting: at.list('waiting').map((one, index) => waitingFromRecord(one, `queue.waiting[${index}]`)),
    running: [],
    left: at.list('left').map((one, index) => reportFromRecord(one, `queue.left[${index}]`)),
    withdrawn: at.list('withdrawn').map((one, index) => {
      const call = new Fields(one, `queue.withdrawn[${index}]`);
      const read = { callId: callAt(call), replyTo: textAt(call, 'reply_to') };
      call.end();
      return read;
    }),
  };
  at.end();
  const { waiting } = state;
  if (waiting.some((call, index) => index > 0 && compareCalls(waiting[index - 1] as WaitingCall, call) >= 0)) {
    at.refuse('must be in the order of their first enqueue, each once', 'waiting');
  }
  return state;
}

function workerToRecord({ identity, instance, slots, descriptorHash }: QueueWorker): Dict {
  return { identity, instance, slots, descriptor_hash: descriptorHash };
}

function workerFromRecord(value: unknown, path: string): QueueWorker {
  const at = new Fields(value, path);
  const worker = {
    identity: textAt(at, 'identity'),
    instance: textAt(at, 'instance'),
    slots: at.count('slots'),
    descriptorHash: textAt(at, 'descriptor_hash'),
  };
  at.end();
  return worker;
}

function waitingToRecord(call: WaitingCall): Dict {
  return {
    call_id: call.callId,
    run_id: call.runId,
    request: call.request,
    reply_to: call.replyTo,
    sequence: call.sequence,
    wait_ms: call.waitMs,
    deadline_at: call.deadlineAt,
    bound: call.bound,
    resent: call.resent,
    carries: call.carries,
    until: call.until,
    attempts: call.attempts,
    losses: call.losses,
    worker: call.worker,
    taken_at: call.takenAt,
  };
}

function waitingFromRecord(value: unknown, path: string): WaitingCall {
  const at = new Fields(value, path);
  const call = {
    callId: callAt(at),
    runId: runAt(at),
    request: at.count('request'),
    replyTo: textAt(at, 'reply_to'),
    sequence: at.count('sequence'),
    waitMs: at.count('wait_ms'),
    deadlineAt: at.count('deadline_at'),
    bound: at.count('bound'),
    resent: at.flag('resent'),
    carries: objectAt(at, 'carries'),
    until: at.count('until'),
    attempts: at.count('attempts'),
    losses: at.count('losses'),
    worker: at.nullable('worker', (field) => textAt(at, field)),
    takenAt: at.nullable('taken_at', (field) => at.count(field)),
  };
  at.end();
  return call;
}

function reportToRecord(report: QueueReport): Dict {
  return {
    call_id: report.callId,
    run_id: report.runId,
    request: report.request,
    reply_to: report.replyTo,
    status: report.status,
    code: report.code,
    worker: report.worker,
    attempts: report.attempts,
    queued_at: report.queuedAt,
    dispatched_at: report.dispatchedAt,
    completed_at: report.completedAt,
  };
}

function reportFromRecord(value: unknown, path: string): QueueReport {
  const at = new Fields(value, path);
  const report = {
    callId: callAt(at),
    runId: runAt(at),
    request: at.count('request'),
    replyTo: textAt(at, 'reply_to'),
    status: at.oneOf('status', LEFT_STATUSES),
    code: at.nullable('code', (field) => textAt(at, field)),
    worker: at.nullable('worker', (field) => textAt(at, field)),
    attempts: at.count('attempts'),
    queuedAt: at.count('queued_at'),
    dispatchedAt: at.nullable('dispatched_at', (field) => at.count(field)),
    completedAt: at.count('completed_at'),
  };
  at.end();
  return report;
}

function callAt(at: Fields): string {
  return at.text('call_id', 'a call id', isCallId);
}

function runAt(at: Fields): string {
  return at.text('run_id', 'a run id', isRunId);
}

function textAt(at: Fields, field: string): string {
  return at.text(field, 'a text', () => true);
}

function objectAt(at: Fields, field: string): JsonObject {
  const value = at.raw(field);
  return isJsonObject(value) ? value : at.refuse('must be an object', field);
}
