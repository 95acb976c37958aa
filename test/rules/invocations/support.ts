/** Sessions, calls and queues for tests; the same in each run. */
import { callIdOf, callRunId, sessionWorkflowId, type Tool } from '../../../src/rules/invocations/names';
import {
  openQueue,
  type QueueEffect,
  type QueueEvent,
  type QueueReport,
  type QueueRequest,
  type QueueState,
  type QueueWorker,
} from '../../../src/rules/invocations/queue-state';
import { stepQueue } from '../../../src/rules/invocations/queue';
import { sha256Digest } from '../../../src/rules/recovery';

export const CHARGE: Tool = { tool: 'charge', version: '1.0.0' };
export const T0 = 1_000_000;
export const digest = (text: string): string => sha256Digest(text);

export const callId = (index: number, round = 1, session = 's1', turn = 1): string =>
  callIdOf({ session, agentVersion: 'v1', turn, round, index });

/** Call `index` of a session, first enqueued at `queuedAt`. */
export function request(
  index: number,
  more: Partial<QueueRequest> & { session?: string; queuedAt?: number } = {},
): QueueRequest {
  const { session = 's1', queuedAt = T0, ...fields } = more;
  const id = callId(index, 1, session);
  const waitMs = fields.waitMs ?? 10_000;
  return {
    callId: id,
    runId: callRunId(id, CHARGE),
    request: 1,
    replyTo: sessionWorkflowId(session),
    sequence: index,
    waitMs,
    deadlineAt: queuedAt + waitMs,
    bound: 256,
    resent: false,
    carries: { plan: `plan of ${id}` },
    ...fields,
  };
}

export const worker = (name: string, slots = 4, instance = `${name}-1`): QueueWorker => ({
  identity: name,
  instance,
  slots,
  descriptorHash: digest('descriptor'),
});

/** A queue that is told things one after the other; keeps the effects. */
export class Told {
  state: QueueState;
  readonly effects: QueueEffect[] = [];

  constructor(public now = T0) {
    this.state = openQueue(now);
  }

  /** The effects of this event alone. */
  tell(event: QueueEvent, now = this.now): readonly QueueEffect[] {
    this.now = now;
    const step = stepQueue(this.state, event, now);
    this.state = step.state;
    this.effects.push(...step.effects);
    return step.effects;
  }

  enqueue(call: QueueRequest, now = this.now): readonly QueueEffect[] {
    return this.tell({ type: 'enqueue', call }, now);
  }

  start(name: string, slots = 4, now = this.now): readonly QueueEffect[] {
    return this.tell({ type: 'worker_started', worker: worker(name, slots) }, now);
  }

  settle(index: number, now = this.now): readonly QueueEffect[] {
    return this.tell({ type: 'ended', callId: callId(index), worker: 'w', takenAt: now, end: 'settled' }, now);
  }

  get waiting(): readonly string[] {
    return this.state.waiting.map((call) => call.callId);
  }

  get running(): readonly string[] {
    return this.state.running.map((call) => call.callId);
  }
}

export const reports = (effects: readonly QueueEffect[]): readonly QueueReport[] =>
  effects.flatMap((effect) => (effect.does === 'report' ? [effect.report] : []));
export const dispatched = (effects: readonly QueueEffect[]): readonly string[] =>
  effects.flatMap((effect) => (effect.does === 'dispatch' ? [effect.call.callId] : []));
export const outcomes = (effects: readonly QueueEffect[]): readonly (readonly [string, string | null])[] =>
  reports(effects).map(({ status, code }) => [status, code] as const);
