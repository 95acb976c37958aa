/**
 * Slots and epochs of one run, read and checked against each other. Invariant: what is kept grows with the effects and
 * attempts of the run, never with its chain.
 *
 * Sound, because slots are taken one after the other by put-if-absent and every entry is durable before the next step:
 * - attempts and epochs are numbered from 1 without a gap; nothing is begun in an earlier epoch than any attempt before it
 *   (closing may go on late: a fenced driver does no harm by it);
 * - a slot's epoch and head were there before the slot; a `begun` one stands under a `dispatching` head that has the effect
 *   pending, and only epoch 1 begins attempt 1 (a takeover closes it first);
 * - an end belongs to a begun slot and has its owner, so no attempt ever has a second owner.
 * Not claimed: that an owner, a time or a deadline is true, or that a last slot without any trace in a witness still exists.
 */
import { attemptName, parseAttemptName, type SendEnd, type Slot, type SlotRecord } from '../rules/sends/slot';
import { endFromBytes, endToText, slotFromBytes, slotToText } from '../rules/sends/slot';
import { epochFromBytes, epochName, epochToText } from '../rules/sends/epoch';
import type { EffectRecord, RecoveryCheckpoint } from '../rules/recovery';
import { Findings } from './findings';
import { joined, readRecord, type JournalView } from './view';

/** Slots by idempotency key. */
export type SlotsByKey = ReadonlyMap<string, readonly Slot[]>;

const SLOT_FORMAT = { read: slotFromBytes, text: slotToText };
const END_FORMAT = { read: endFromBytes, text: endToText };
const EPOCH_FORMAT = { read: epochFromBytes, text: epochToText };

/** The number of epochs; they are read after the slots, so that a slot of a running plan finds its epoch. */
export async function readEpochs(view: JournalView, findings: Findings, folder: string): Promise<number> {
  const entries = await view.list(folder);
  const names = (entries ?? []).map((entry) => entry.name).sort();
  const byName = new Map((entries ?? []).map((entry) => [entry.name, entry]));
  for (const [index, name] of names.entries()) {
    const entry = byName.get(name);
    if (entry === undefined || name !== epochName(index + 1)) {
      findings.add('epoch_invalid', joined(folder, name), 'name');
      continue;
    }
    const record = await readRecord({ view, findings }, 'epoch_invalid', folder, entry, EPOCH_FORMAT);
    if (record !== null && record.epoch !== index + 1) findings.add('epoch_invalid', joined(folder, name), 'epoch');
  }
  return names.length;
}

export async function readSlots(
  view: JournalView,
  findings: Findings,
  folder: string,
  effects: readonly EffectRecord[] | null,
): Promise<Map<string, readonly Slot[]>> {
  const slots = new Map<string, readonly Slot[]>();
  const known = new Set(effects?.map((effect) => effect.idempotencyKey));
  for (const { name, kind } of (await view.list(folder)) ?? []) {
    const path = joined(folder, name);
    if (kind !== 'directory') findings.add('entry_unexpected', path);
    else if (effects !== null && !known.has(name)) findings.add('slot_unknown_effect', path);
    else slots.set(name, await readEffectSlots(view, findings, path));
  }
  return slots;
}

/** Reads the slots of one effect; what looks wrong is read twice, for a driver may be writing at this very moment. */
export async function readEffectSlots(view: JournalView, findings: Findings, folder: string): Promise<readonly Slot[]> {
  const first = new Findings(findings.strict);
  const slots = await readOnce(view, first, folder);
  return first.total === 0 ? slots : readOnce(view, findings, folder);
}

async function readOnce(view: JournalView, findings: Findings, folder: string): Promise<readonly Slot[]> {
  const at = { view, findings };
  const records = new Map<number, SlotRecord>();
  const ends = new Map<number, SendEnd>();
  const listed = [...((await view.list(folder)) ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of listed) {
    const place = parseAttemptName(entry.name);
    if (place === null) findings.add('entry_unexpected', joined(folder, entry.name));
    else if (place.end) keep(ends, place.attempt, await readRecord(at, 'end_invalid', folder, entry, END_FORMAT));
    else keep(records, place.attempt, await readRecord(at, 'slot_invalid', folder, entry, SLOT_FORMAT));
  }
  const slots: Slot[] = [];
  let epoch = 0;
  for (const [index, [attempt, record]] of [...records].entries()) {
    const path = joined(folder, attemptName(attempt));
    if (attempt !== index + 1) findings.add('slot_invalid', path, 'a gap before it');
    if (record.state === 'begun' && record.epoch < epoch) {
      findings.add('slot_out_of_turn', path, 'begun in an earlier epoch than a slot before it');
    }
    if (attempt === 1 && record.state === 'begun' && record.epoch > 1) {
      findings.add('slot_out_of_turn', path, 'begun by a takeover without closing it');
    }
    epoch = Math.max(epoch, record.epoch);
    slots.push({ attempt, record, end: ends.get(attempt) ?? null });
  }
  for (const [attempt, end] of ends) {
    const record = records.get(attempt);
    const fault =
      record === undefined ? 'slot' : record.state === 'closed' ? 'state' : record.owner === end.owner ? null : 'owner';
    if (fault !== null) findings.add('end_invalid', joined(folder, `${attemptName(attempt)}.end`), fault);
  }
  return slots;
}

function keep<T>(records: Map<number, T>, attempt: number, record: T | null): void {
  if (record !== null) records.set(attempt, record);
}

/** Checks that every slot's epoch and head exist: fed with each checkpoint of each lineage, then asked what is left. */
export class SlotHeads {
  private readonly waiting = new Map<string, { readonly key: string; readonly slot: Slot; readonly path: string }[]>();

  constructor(
    private readonly findings: Findings,
    folder: string,
    slots: SlotsByKey,
    epochs: number,
  ) {
    for (const [key, ofKey] of slots) {
      for (const slot of ofKey) {
        const path = `${folder}/${key}/${attemptName(slot.attempt)}`;
        if (slot.record.epoch < 1 || slot.record.epoch > epochs) findings.add('slot_unknown_epoch', path);
        const { lineage, sequence } = slot.record.head;
        const place = `${lineage}/${sequence}`;
        this.waiting.set(place, [...(this.waiting.get(place) ?? []), { key, slot, path }]);
      }
    }
  }

  meet(lineage: number, checkpoint: RecoveryCheckpoint): void {
    const place = `${lineage}/${checkpoint.sequence}`;
    const here = this.waiting.get(place);
    if (here === undefined) return;
    this.waiting.delete(place);
    for (const { key, slot, path } of here) {
      const { digest, sequence } = slot.record.head;
      if (digest !== checkpoint.checkpointDigest) {
        const divergence = { sequence, field: 'head.digest', expected: checkpoint.checkpointDigest, actual: digest };
        this.findings.add('slot_unknown_head', path, null, divergence);
      } else if (slot.record.state === 'begun') {
        const effect = checkpoint.effects.find((item) => item.idempotencyKey === key);
        if (checkpoint.phase !== 'dispatching') this.findings.add('slot_out_of_turn', path, 'phase of its head');
        else if (effect?.state !== 'pending') this.findings.add('slot_out_of_turn', path, 'effect not pending');
      }
    }
  }

  /** `unreadable` lineages cannot be asked, for instance retired ones. */
  finish(unreadable: ReadonlySet<number>): void {
    for (const here of this.waiting.values()) {
      for (const { slot, path } of here) {
        if (!unreadable.has(slot.record.head.lineage)) this.findings.add('slot_unknown_head', path);
      }
    }
  }
}
