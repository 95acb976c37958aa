/**
 * Simulated sinks. Invariant: each keeps exactly what it declares: a write is visible by deadline + settle time at the latest,
 * an authoritative look-up is right, and a sink that enforces keys writes once a key; everything else may go wrong.
 */
import type { DispatchOutcome, EffectDefinition, SinkAnswer, SinkItem } from '../../../src/ports';
import { NO_ANSWER, type Fault, type Process, type Scheduler, type Step } from './scheduler';

export const SINK_KINDS = ['authoritative', 'enforcing', 'enforcing_unseen', 'blind', 'hint'] as const;
export type SinkKind = (typeof SINK_KINDS)[number];

export const DEADLINE_MS = 1_000;
export const SETTLE_MS = 2_000;

const DECLARED = {
  authoritative: { lookup: 'authoritative', enforcesKey: 'no' },
  enforcing: { lookup: 'authoritative', enforcesKey: 'always' },
  enforcing_unseen: { lookup: 'none', enforcesKey: 'always' },
  blind: { lookup: 'none', enforcesKey: 'no' },
  hint: { lookup: 'hint', enforcesKey: 'no' },
} as const;

export interface Write {
  readonly process: Process;
  readonly at: number;
  /** The sender was stopped after the engine's last check and before its request had left. */
  readonly delayed: boolean;
}

/** Who wants to know: called when the engine hands over a send, and when a write becomes visible. */
export interface SinkWatcher {
  sending(process: Process, kind: SinkKind, item: SinkItem): void;
  written(kind: SinkKind, key: string, writes: readonly Write[]): void;
  lookUpFailed(): void;
  refused(): void;
}

export class SimulatedSink {
  readonly writes = new Map<string, Write[]>();
  /** Sends that the sink is still working on, by key. */
  readonly inFlight = new Map<string, number>();

  constructor(
    readonly kind: SinkKind,
    private readonly scheduler: Scheduler,
    private readonly watcher: SinkWatcher,
  ) {}

  get enforces(): boolean {
    return DECLARED[this.kind].enforcesKey === 'always';
  }

  get sees(): boolean {
    return DECLARED[this.kind].lookup === 'authoritative';
  }

  /** The sink as one process knows it. */
  definition(process: Process): EffectDefinition {
    return {
      toolId: toolId(this.kind),
      maxAttempts: 50,
      sink: {
        kind: 'local_tool',
        ...DECLARED[this.kind],
        deadlineMs: DEADLINE_MS,
        settleMs: SETTLE_MS,
        maxInFlight: 2,
        observe: (items) =>
          this.scheduler.step(process, 'look_up', (fault) => items.map((item) => this.answer(item, fault))),
        dispatch: (item, { deadlineMs }) => {
          const last = this.scheduler.time + deadlineMs + SETTLE_MS;
          this.watcher.sending(process, this.kind, item);
          return this.scheduler.step(process, 'dispatch', (fault, step) => this.receive(item, fault, step, last));
        },
      },
    };
  }

  private answer(item: SinkItem, fault: Fault): SinkAnswer {
    const key = item.idempotencyKey;
    if (fault !== null && this.kind !== 'hint') {
      this.watcher.lookUpFailed();
      throw new Error('the look-up failed');
    }
    // A hint may miss what is there; that is all that can be wrong with it.
    if (this.writes.has(key) && fault === null) {
      return { state: 'committed', operationDigest: item.operationDigest, externalId: externalId(key) };
    }
    return this.sees && (this.inFlight.get(key) ?? 0) > 0 && key.charCodeAt(5) % 2 === 0
      ? { state: 'in_flight', retryAfterMs: 300 }
      : { state: 'absent' };
  }

  private receive(item: SinkItem, fault: Fault, step: Step, last: number): DispatchOutcome | typeof NO_ANSWER {
    const key = item.idempotencyKey;
    const accepted = { outcome: 'accepted', externalId: externalId(key), result: { row: 1 } } as const;
    if (this.enforces && this.writes.has(key)) return accepted;
    if (this.enforces && (this.inFlight.get(key) ?? 0) > 0) throw new Error('409: still working on this key');
    const write = (): void => this.write(key, step);
    const trouble = fault === null ? 0 : 1 + (fault % 8);
    switch (trouble) {
      case 1: // The reply is lost.
        write();
        throw new Error('connection reset');
      case 2: // The request is lost.
        throw new Error('connection reset');
      case 3:
        if (this.writes.has(key)) throw new Error('connection reset');
        this.watcher.refused();
        return { outcome: 'refused', code: 'invalid' };
      case 4:
        return { outcome: 'not_sent', retryAfterMs: 700 };
      case 5:
        return { outcome: 'not_sent' };
      case 6:
      case 7:
      case 8: {
        // The sink goes on although nobody waits any more: up to the last moment that it declares.
        const share = trouble === 7 ? 1 : ((fault ?? 0) % 11) / 11;
        this.inFlight.set(key, (this.inFlight.get(key) ?? 0) + 1);
        this.scheduler.after(null, Math.max(0, last - this.scheduler.time) * share, () => {
          this.inFlight.set(key, (this.inFlight.get(key) ?? 1) - 1);
          if (!this.enforces || !this.writes.has(key)) write();
        });
        return NO_ANSWER;
      }
      default:
        write();
        return accepted;
    }
  }

  private write(key: string, step: Step): void {
    const writes = this.writes.get(key) ?? [];
    writes.push({ process: step.process, at: this.scheduler.time, delayed: step.delayed });
    this.writes.set(key, writes);
    this.watcher.written(this.kind, key, writes);
  }
}

export function toolId(kind: SinkKind): string {
  return `tool:example.org/${kind.replace('_', '-')}@1.0.0`;
}

function externalId(key: string): string {
  return `row-${key.slice(5, 13)}`;
}
