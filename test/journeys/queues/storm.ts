/**
 * Many calls through one queue while its workers are killed one after the other, the workers of workflows and the server once each, and
 * the queue continues as new again and again. What it answers is what a test holds against the rules.
 */
import { DRIVE_ACTIVITY } from '../../../src/activities/contract';
import type { HistoryJson } from '../../../src/testing/history-json';
import type { Child } from '../../../scripts/kill-matrix/child';
import type { Enqueue, QueueStatus } from '../../../src/workflows/queue-messages';
import type { CallEnd } from './caller-workflows';
import type { QueueStand } from './stand';

export interface StormSize {
  readonly calls: number;
  readonly workers: number;
  readonly slots: number;
  readonly killEveryMs: number;
  readonly sessions: number;
  /** Events after which the queue continues as new, come what may. */
  readonly renewAnyhow: number;
  /** What one call takes. */
  readonly ms: number;
}

export interface StormReport {
  readonly seconds: number;
  readonly kills: number;
  readonly renewals: number;
  readonly ends: readonly CallEnd[];
  /** Calls whose effect happened, and how often a handler was begun. */
  readonly done: number;
  readonly begun: number;
  /** Most executions at once in one worker, and most calls that waited at once. */
  readonly mostInWorker: number;
  readonly mostWaiting: number;
  /** Calls that were handed out while an earlier one waited. */
  readonly overtaken: readonly string[];
  readonly eventsPerCall: number;
  readonly left: { readonly waiting: number; readonly running: number };
  readonly unknown: number;
}

export const BOUND = 256;

export async function storm(stand: QueueStand, tool: string, size: StormSize): Promise<StormReport> {
  const orders = [{ tool, slots: size.slots, lookup: 'kept' as const, deadlineMs: 3_000, settleMs: 200 }];
  await stand.openQueue(tool, { renew_when_idle: Math.floor(size.renewAnyhow / 2), renew_anyhow: size.renewAnyhow });
  let workflows = await stand.workflows();
  const workers: Child[] = [];
  for (let count = 0; count < size.workers; count += 1) workers.push(await stand.tools(orders));
  const each = Math.ceil(size.calls / size.sessions);
  const options = {
    ...{ at_once: Math.floor(BOUND / size.sessions), wait_ms: 180_000, lease_ms: 3_000, bound: BOUND },
    ...{ carry: true, patience_ms: 30_000 },
  };
  const errands = (part: number) =>
    Array.from({ length: Math.min(each, size.calls - part * each) }, (_, n) => ({ n: part * each + n, ms: size.ms }));
  const began = performance.now();
  const sessions = [];
  for (let part = 0; part < size.sessions; part += 1) sessions.push(await stand.caller(tool, errands(part), options));
  const settled = { all: false };
  let kills = 0;
  const killing = (async () => {
    for (let turn = 0; !settled.all; turn = (turn + 1) % size.workers) {
      await new Promise((resolve) => setTimeout(resolve, size.killEveryMs));
      if (settled.all) return;
      await workers[turn]?.kill();
      kills += 1;
      workers[turn] = await stand.tools(orders);
    }
  })();
  const progress = async (share: number): Promise<void> => {
    while (stand.executions(tool).length < share * size.calls) await new Promise((resolve) => setTimeout(resolve, 200));
  };
  await progress(0.25);
  await workflows.kill();
  workflows = await stand.workflows();
  await progress(0.5);
  await stand.restartServer();
  const handles = sessions.map(({ workflowId }) => stand.client.workflow.getHandle(workflowId));
  const ends = (await Promise.all(handles.map((handle) => stand.ends(handle)))).flat();
  settled.all = true;
  const seconds = (performance.now() - began) / 1_000;
  await killing;
  const status = await settledStatus(stand, tool);
  const histories = await stand.histories(stand.queue(tool).workflowId);
  await Promise.all([...workers, workflows].map((child) => child.kill()));
  const begun = stand.executions(tool);
  return {
    ...{ seconds, kills, renewals: histories.length - 1, ends, ...walk(histories) },
    done: new Set(stand.executions(tool).map(({ call }) => call)).size,
    begun: begun.length,
    mostInWorker: mostInOneWorker(stand, tool),
    eventsPerCall: histories.reduce((sum, { events }) => sum + events.length, 0) / size.calls,
    left: { waiting: status.waiting.length, running: status.running.length },
    unknown: ends.filter((end) => end.status === 'unknown').length,
  };
}

/** Sessions hear of an end from the worker itself, the queue once the execution is over: at the latest when a lease has run out. */
async function settledStatus(stand: QueueStand, tool: string): Promise<QueueStatus> {
  for (let left = 300; ; left -= 1) {
    const status = await stand.status(tool);
    if ((status.waiting.length === 0 && status.running.length === 0) || left === 0) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** A call whose execution never ended was cut off by its worker's death, and holds a place until then only. */
function mostInOneWorker(stand: QueueStand, tool: string): number {
  const ended = new Set(stand.executions(tool, 'end').map(({ call, by }) => `${call} ${by}`));
  const all = [...stand.executions(tool), ...stand.executions(tool, 'end')].filter(({ call, by }) =>
    ended.has(`${call} ${by}`),
  );
  all.sort((a, b) => a.ms - b.ms || (a.at === b.at ? 0 : a.at === 'end' ? -1 : 1));
  const running = new Map<string, number>();
  let most = 0;
  for (const { at, by } of all) {
    const now = (running.get(by) ?? 0) + (at === 'start' ? 1 : -1);
    running.set(by, now);
    most = Math.max(most, now);
  }
  return most;
}

/** The queue's own story, event by event: who waited when somebody was handed out for the first time. */
function walk(histories: readonly HistoryJson[]): Pick<StormReport, 'mostWaiting' | 'overtaken'> {
  const waiting = new Map<string, Enqueue>();
  const seen = new Set<string>();
  const overtaken: string[] = [];
  let mostWaiting = 0;
  for (const event of histories.flatMap(({ events }) => events)) {
    const signal = event['workflowExecutionSignaledEventAttributes'] as Signal | undefined;
    if (signal?.signalName === 'enqueue') {
      const message = decoded<Enqueue>(signal.input);
      if (!seen.has(message.call_id)) waiting.set(message.call_id, message);
      seen.add(message.call_id);
      mostWaiting = Math.max(mostWaiting, waiting.size);
    }
    const scheduled = event['activityTaskScheduledEventAttributes'] as Scheduled | undefined;
    if (scheduled?.activityType.name !== DRIVE_ACTIVITY) continue;
    const { call_id: call } = decoded<{ call_id: string }>(scheduled.input);
    const own = waiting.get(call);
    if (own === undefined) continue;
    waiting.delete(call);
    if ([...waiting.values()].some((other) => isBefore(other, own))) overtaken.push(call);
  }
  return { mostWaiting, overtaken };
}

interface Signal {
  readonly signalName: string;
  readonly input: Wire;
}
interface Scheduled {
  readonly activityType: { readonly name: string };
  readonly input: Wire;
}
interface Wire {
  readonly payloads: readonly { readonly data: string }[];
}

function decoded<T>({ payloads }: Wire): T {
  return JSON.parse(Buffer.from(payloads[0]?.data ?? '', 'base64').toString('utf8')) as T;
}

function isBefore(a: Enqueue, b: Enqueue): boolean {
  const at = ({ deadline_at, queue_wait_ms }: Enqueue): number => deadline_at - queue_wait_ms;
  return (
    at(a) - at(b) < 0 ||
    (at(a) === at(b) && (a.sequence < b.sequence || (a.sequence === b.sequence && a.call_id < b.call_id)))
  );
}
