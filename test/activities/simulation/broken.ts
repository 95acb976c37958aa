/** Engines with one promise broken each, for showing that the invariants notice. */
import type { Engine } from '../../../src/activities/engine';
import type { Entry, Owed } from '../../../src/activities/entries';
import { Journal, type Extension } from '../../../src/activities/journal';
import type { ReceiptFiles } from '../../../src/activities/receipt-files';
import type { Reviewers, Store } from '../../../src/ports';
import type { Slot } from '../../../src/rules/sends/slot';
import type { Variant } from './world';

class ClosesNothing extends Journal {
  override takeSlot(...given: Parameters<Journal['takeSlot']>): Promise<boolean> {
    return given[3].state === 'closed' ? Promise.resolve(true) : super.takeSlot(...given);
  }
}

class SharesSlots extends Journal {
  override async takeSlot(...given: Parameters<Journal['takeSlot']>): Promise<boolean> {
    await super.takeSlot(...given);
    return true;
  }

  override async append(...given: Parameters<Journal['append']>): ReturnType<Journal['append']> {
    return { ...(await super.append(...given)), slot: given[2] !== null };
  }
}

/** Its first slot does not come after the checkpoint, but beside it. */
class TakesSlotsUnseen extends Journal {
  override async append(
    extension: Extension,
    owed: readonly Owed[],
    slot: Entry | null,
  ): ReturnType<Journal['append']> {
    if (slot !== null) await this.writeOwed([{ entry: slot, taken: () => new Error('taken') }]).catch(() => undefined);
    return { ...(await super.append(extension, owed)), slot: slot !== null };
  }
}

class ForgetsOpenSlots extends Journal {
  override async slots(runId: string, key: string): Promise<readonly Slot[]> {
    const slots = await super.slots(runId, key);
    return slots.map((slot) =>
      slot.record.state === 'begun' && slot.end === null
        ? { ...slot, record: { ...slot.record, state: 'closed' as const } }
        : slot,
    );
  }
}

class HurriesQuiet extends Journal {
  override async slots(runId: string, key: string): Promise<readonly Slot[]> {
    const slots = await super.slots(runId, key);
    return slots.map((slot) => ({ ...slot, record: { ...slot.record, deadlineMs: 0, settleMs: 0 } }));
  }
}

type AppendedWith = [owed?: readonly Owed[], slot?: Entry | null];

class WritesNoWitness extends Journal {
  override append(extension: Extension, ...more: AppendedWith): ReturnType<Journal['append']> {
    return super.append({ ...extension, witness: null }, ...more);
  }
}

/** Says that an entry is there before it is: what a store does that answers before its fsync. */
function answersTooEarly(store: Store): Store {
  return {
    scope: store.scope,
    read: (path) => store.read(path),
    list: (prefix, after) => store.list(prefix, after),
    create: async (path, bytes) => {
      if (!/\/sends\/[^/]+\/[0-9]{4}$/.test(path)) return store.create(path, bytes);
      store.create(path, bytes).catch(() => undefined);
      return 'created';
    },
  };
}

const changed = (change: Partial<Engine>): Variant => ({ engine: (engine) => ({ ...engine, ...change }) });

export const BROKEN_ENGINES: Readonly<Record<string, Variant>> = {
  'closes no slot in a takeover': { journal: (store) => new ClosesNothing(store) },
  'sends under a slot that another took': { journal: (store) => new SharesSlots(store) },
  'takes a slot before the checkpoint that allows it': { journal: (store) => new TakesSlotsUnseen(store) },
  'takes an open send for one that never began': { journal: (store) => new ForgetsOpenSlots(store) },
  'appends without a witness': { journal: (store) => new WritesNoWitness(store) },
  'believes that its slot is durable before it is': { journal: (store) => new Journal(answersTooEarly(store)) },
  'keeps no deadline of its own': changed({ monotonic: () => 0 }),
  'does not wait for a send to become quiet': { journal: (store) => new HurriesQuiet(store) },
  'takes a hint for the truth': {
    definition: (definition) => ({
      ...definition,
      sink: {
        ...definition.sink,
        lookup: definition.sink.lookup === 'hint' ? 'authoritative' : definition.sink.lookup,
      },
    }),
  },
  'takes a sink for one that enforces its keys': {
    definition: (definition) => ({ ...definition, sink: { ...definition.sink, enforcesKey: 'always' } }),
  },
};

/** The same for a plan that people decide about. */
export const BROKEN_WITH_PEOPLE: Readonly<Record<string, Variant>> = {
  'asks nobody': { engine: (engine) => ({ ...engine, policy: null }) },
  'asks one of two': { engine: (engine) => ({ ...engine, policy: () => ({ approvals: 1 }) }) },
  'knows of no revocation': {
    engine: (engine) => ({ ...engine, reviewers: engine.reviewers && withoutRevocations(engine.reviewers) }),
  },
  'takes an approval that has expired': { journal: (store) => new LastsForEver(store) },
  'forgets what was rejected': { journal: (store) => new ForgetsRejections(store) },
};

function withoutRevocations(reviewers: Reviewers): Reviewers {
  return {
    load: async (kid) => {
      const known = await reviewers.load(kid);
      return { ...known, keys: known.keys.map((key) => ({ ...key, revoked: false })) };
    },
  };
}

/** Reads every approval record as one that has just been made. */
class LastsForEver extends Journal {
  override receipts(runId: string): ReceiptFiles {
    const files = super.receipts(runId);
    const approval = files.approval.bind(files);
    files.approval = async (digest) => {
      const record = await approval(digest);
      return record === null ? null : { ...record, expiresAt: Number.MAX_SAFE_INTEGER };
    };
    return files;
  }
}

class ForgetsRejections extends Journal {
  override receipts(runId: string): ReceiptFiles {
    const files = super.receipts(runId);
    const decisions = files.decisions.bind(files);
    files.decisions = async () => {
      const all = await decisions();
      return all.filter(({ claims }) => !(claims.kind === 'approval' && claims.decision === 'reject'));
    };
    return files;
  }
}
