/**
 * A process that works on one checkpoint journal as its parent says.
 * Arguments: the folder, and optionally `kill` or `hold` with a step and how often that step is passed over before.
 * Held, it makes `<folder>.held` and waits for `<folder>.release`.
 */
import fs from 'node:fs';
import { CheckpointJournal } from '../../../src/adapters/stores';
import { JournalRetentionPolicy, JournalRetirementPlan, RecoveryCheckpoint } from '../../../src/rules/recovery';

export type Action =
  | { readonly act: 'append'; readonly checkpoints: readonly string[] }
  | { readonly act: 'load' }
  /** Loads until the journal is retired; every load must answer a lineage no shorter than the one before. */
  | { readonly act: 'watch' }
  /** Plans and retires at `now` (seconds, as text), again and again until it is retired. */
  | { readonly act: 'retire'; readonly now: string };

const [directory, mode, at, passes] = process.argv.slice(2) as [string, string?, string?, string?];
let left = Number(passes ?? 0);

const journal = new CheckpointJournal(directory, {
  onStep: (step) => {
    if (step !== at || left-- > 0) return;
    if (mode === 'kill') process.kill(process.pid, 'SIGKILL');
    fs.writeFileSync(`${directory}.held`, '');
    while (!fs.existsSync(`${directory}.release`)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  },
});

async function perform(action: Action): Promise<unknown> {
  switch (action.act) {
    case 'append': {
      const outcomes: string[] = [];
      for (const text of action.checkpoints) {
        outcomes.push(await settle(() => journal.append(RecoveryCheckpoint.fromJson(text))));
      }
      return outcomes;
    }
    case 'load': {
      const content = await journal.load();
      return isLineage(content) ? content.length : 'retired';
    }
    case 'watch': {
      let longest = 0;
      for (let loads = 1; ; loads += 1) {
        const content = await journal.load();
        if (!isLineage(content)) return { loads, longest };
        if (content.length < longest) throw new Error(`the lineage shrank from ${longest} to ${content.length}`);
        longest = content.length;
        await leaveTheOthersTime();
      }
    }
    case 'retire': {
      const now = BigInt(action.now);
      const policy = JournalRetentionPolicy.create({ minimumAgeSeconds: 0n });
      for (;;) {
        const plan = await journal.planRetirement({ policy, now });
        if (plan !== null) {
          const confirmation = JournalRetirementPlan.confirmationToken(plan);
          return (await journal.retire({ plan, confirmation, now })).recordDigest;
        }
        const content = await journal.load();
        if (!isLineage(content)) return content.recordDigest;
        await leaveTheOthersTime();
      }
    }
  }
}

/** Two of these loops on each core would leave the appends none. */
const leaveTheOthersTime = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

function isLineage<T>(content: readonly T[] | object): content is readonly T[] {
  return Array.isArray(content);
}

async function settle(step: () => Promise<string>): Promise<string> {
  try {
    return await step();
  } catch (error) {
    return String((error as Error).message);
  }
}

process.on('message', (action: Action) => {
  perform(action).then(
    (value) => process.send?.({ value }),
    (error: { code?: string; message: string }) =>
      process.send?.({ code: error.code ?? error.message, message: error.message }),
  );
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
