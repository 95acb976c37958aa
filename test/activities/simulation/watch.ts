/**
 * The invariants, checked at the very moment at which each could break. Everything here looks at the truth, never at what
 * the engine believes.
 */
import type { SinkItem } from '../../../src/ports';
import { RecoveryCheckpoint } from '../../../src/rules/recovery';
import { slotFromBytes } from '../../../src/rules/sends/slot';
import { witnessFromBytes } from '../../../src/rules/sends/witness';
import type { People } from './people';
import type { Process, Scheduler } from './scheduler';
import { DEADLINE_MS, SETTLE_MS, type SimulatedSink, type SinkKind, type SinkWatcher, type Write } from './sink';
import type { MemoryStore } from './store';

export interface TakenSlot {
  readonly process: Process;
  readonly at: number;
  readonly path: string;
  used: boolean;
}

const QUIET_MS = DEADLINE_MS + SETTLE_MS;
const SLOT = /\/sends\/(idem_[0-9a-f]+)\/[0-9]{4}$/;
const CHECKPOINT = /\/lineage-[0-9]{4}\/checkpoint-/;

export class Watch implements SinkWatcher {
  readonly violations: string[] = [];
  readonly taken = new Map<string, TakenSlot[]>();
  lookUpFailures = 0;
  refusals = 0;
  sends = 0;
  takeovers = 0;
  excused = 0;
  head: RecoveryCheckpoint | null = null;
  /** Approvals that the chain recorded, and lineages that were opened. */
  approvals = 0;
  reopened = 0;
  /** Where people decide: what they have said, and when. */
  people: People | null = null;
  private readonly sinks = new Map<string, SimulatedSink>();
  /** Keys that a closed chain calls not sent. */
  private readonly sealed = new Set<string>();

  constructor(
    private readonly scheduler: Scheduler,
    private readonly store: MemoryStore,
    private readonly ordered: boolean,
  ) {}

  /** Which sink holds a key. */
  assign(key: string, sink: SimulatedSink): void {
    this.sinks.set(key, sink);
  }

  violated(what: string): void {
    this.violations.push(`${what} (at ${this.scheduler.time})`);
  }

  lookUpFailed(): void {
    this.lookUpFailures += 1;
  }

  refused(): void {
    this.refusals += 1;
  }

  created(process: Process, path: string, bytes: Uint8Array): void {
    const slot = SLOT.exec(path);
    if (slot !== null && slotFromBytes(bytes).state === 'begun') {
      const key = slot[1] as string;
      const list = this.taken.get(key) ?? [];
      list.push({ process, at: this.scheduler.time, path, used: false });
      this.taken.set(key, list);
    }
    if (path.includes('/epochs/') && !path.endsWith('000001')) this.takeovers += 1;
    if (path.includes('/lineages/')) this.reopened += 1;
    if (path.includes('/receipts/') && !path.includes('/approval-')) this.people?.stored(bytes, this.scheduler.time);
    if (CHECKPOINT.test(path)) this.appended(RecoveryCheckpoint.fromJson(bytes));
  }

  /** A send is handed to a sink: it must be the one send of a slot that this very process took, in time, and alone. */
  sending(process: Process, _kind: SinkKind, item: SinkItem): void {
    this.sends += 1;
    const key = item.idempotencyKey;
    const sink = this.sinks.get(key) as SimulatedSink;
    const slots = this.taken.get(key) ?? [];
    const own = slots.filter((slot) => slot.process === process && !slot.used).at(-1);
    if (own === undefined) return this.violated(`${process.name} sends without a slot of its own`);
    own.used = true;
    if (!this.store.entries.has(own.path)) this.violated(`${process.name} sends under a slot that is not in the store`);
    if (this.scheduler.time > own.at + DEADLINE_MS) this.violated(`${process.name} sends after its deadline`);
    if (this.head !== null && (this.head.phase === 'completed' || this.head.phase === 'aborted'))
      this.violated(`${process.name} sends for a closed chain`);
    const forbidden = this.people?.forbids(this.store, own.path, process) ?? null;
    if (forbidden !== null) this.violated(`${process.name} sends ${forbidden}`);
    if (this.ordered && [...this.sinks].slice(0, this.ordinal(key)).some(([earlier, one]) => !one.writes.has(earlier)))
      this.violated(`${process.name} sends an effect before an earlier one is done`);
    if (sink.enforces) return;
    const others = slots.filter((slot) => slot !== own && !this.hasEnd(slot));
    if (!sink.sees && others.length > 0) this.violated(`${process.name} sends although an earlier outcome is unknown`);
    if (others.some((slot) => this.scheduler.time < slot.at + QUIET_MS))
      this.violated(`${process.name} sends while an earlier send may still land`);
  }

  written(kind: SinkKind, key: string, writes: readonly Write[]): void {
    const last = writes.at(-1) as Write;
    if (this.isLate(key, last)) {
      if (!last.delayed) this.violated(`a ${kind} write landed late although nobody stopped its sender`);
    } else if (this.sealed.has(key)) this.violated(`a ${kind} effect that a closed chain calls not sent was written`);
    if (writes.length === 1) return;
    if (writes.some((write) => this.isLate(key, write))) this.excused += 1;
    else this.violated(`${writes.length} writes under one key at the ${kind} sink`);
  }

  /** The stated exception and nothing more: stopped between the last check and the request, past deadline + settle time. */
  private isLate(key: string, write: Write): boolean {
    const slot = (this.taken.get(key) ?? []).filter((taken) => taken.process === write.process).at(-1);
    return slot !== undefined && write.at > slot.at + QUIET_MS;
  }

  /** Sinks are assigned in the order of the plan. */
  private ordinal(key: string): number {
    return [...this.sinks.keys()].indexOf(key);
  }

  /** A new checkpoint must say the truth about every sink at this moment. */
  private appended(checkpoint: RecoveryCheckpoint): void {
    this.head = checkpoint;
    if (checkpoint.phase === 'approval_recorded') this.approvals += 1;
    if (checkpoint.sequence === 0n) return;
    const found = this.observations(checkpoint);
    if (found === null) return this.violated(`checkpoint ${checkpoint.sequence} was appended without a witness`);
    for (const [ordinal, effect] of checkpoint.effects.entries()) {
      const key = effect.idempotencyKey;
      const sink = this.sinks.get(key) as SimulatedSink;
      const writes = sink.writes.get(key) ?? [];
      const observed = found[ordinal];
      const late = writes.some((write) => this.isLate(key, write));
      if (effect.state === 'committed' && writes.length === 0) this.violated('committed, but the sink never wrote it');
      if (observed?.state !== 'absent' || observed.proof === 'resend_safe' || late) continue;
      if (writes.length > 0) this.violated(`absent (${observed.proof}), but the ${sink.kind} sink holds it`);
      if (checkpoint.phase === 'aborted') this.sealed.add(key);
    }
  }

  private observations(checkpoint: RecoveryCheckpoint): ReturnType<typeof witnessFromBytes>['observations'] | null {
    const folder = `${checkpoint.runId}/witnesses/${checkpoint.checkpointDigest.slice('sha256:'.length)}`;
    const bytes = this.store.entries.get(`${folder}/${this.store.names(folder).at(-1)}`);
    return bytes === undefined ? null : witnessFromBytes(bytes).observations;
  }

  hasEnd({ path }: TakenSlot): boolean {
    return this.store.entries.has(`${path}.end`);
  }
}
