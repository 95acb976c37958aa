/**
 * The calls of one answer of the model, side by side. Invariant: each goes by itself, so none holds up another; a report is heard only of
 * the last request of its call, and only the first word of it.
 */
import type { LogPlace, PreparedCall } from '../activities/session-contract';
import type { CallReport } from './queue-messages';
import type { CallStatus } from './session-messages';
import { QueueDoor } from './session-queue';
import { ToolCall, type CallHost } from './tool-call';

type Host = Pick<CallHost, 'journalId' | 'say' | 'fail'> & {
  /** A call has come to another state. */
  changed(): void;
};

export class SessionCalls {
  private calls: readonly ToolCall[] = [];
  /** Of the answers whose calls were carried here, the last. */
  private last: LogPlace = { turn: 0, round: 0 };

  constructor(private readonly host: Host) {}

  hear(report: CallReport): void {
    const call = this.calls.find(({ callId }) => callId === report.call_id);
    if (call !== undefined && report.request === call.request) call.report ??= report;
  }

  cancel(): void {
    for (const call of this.calls) call.cancel();
  }

  /** For whom those wait that are not over; null when all are. */
  get waitFor(): 'people' | 'workers' | null {
    const open = this.calls.filter((call) => !call.isOver);
    if (open.length === 0) return null;
    return open.every((call) => call.waitsForPeople) ? 'people' : 'workers';
  }

  get statuses(): readonly CallStatus[] {
    return this.calls.map((call) => call.status());
  }

  hasCarried({ turn, round }: LogPlace): boolean {
    return this.last.turn > turn || (this.last.turn === turn && this.last.round >= round);
  }

  /** `over`: none of them is to be begun any more. */
  async carry(place: LogPlace, prepared: readonly PreparedCall[], over: boolean): Promise<void> {
    const { host } = this;
    const queues = new QueueDoor();
    const whole: CallHost = {
      ...{ journalId: host.journalId, say: host.say, fail: host.fail },
      enqueue: (call) => queues.enqueue(call),
      withdraw: (call) => queues.withdraw(call),
      untaken: (call) => queues.untaken(call),
    };
    this.calls = prepared.map((call) => new ToolCall(call, whole));
    this.last = place;
    if (over) this.cancel();
    host.changed();
    await Promise.all(
      this.calls.map(async (call) => {
        await call.run();
        host.changed();
      }),
    );
    this.calls = [];
  }
}
