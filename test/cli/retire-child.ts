/** Retires the lineage in a folder, and kills itself at a step: `linked`, or after so many deletions, as in `cleaned:2`. */
import { CheckpointJournal } from '../../src/adapters/stores';
import { JournalRetentionPolicy, JournalRetirementPlan } from '../../src/rules/recovery';

const [folder, kill] = process.argv.slice(2) as [string, string];
let cleaned = 0;
const journal = new CheckpointJournal(folder, {
  onStep: (step) => {
    if (step === 'cleaned') cleaned += 1;
    if (step === kill || (step === 'cleaned' && kill === `cleaned:${cleaned}`)) process.kill(process.pid, 'SIGKILL');
  },
});

async function main(): Promise<void> {
  const now = BigInt(Math.floor(Date.now() / 1_000));
  const plan = await journal.planRetirement({ policy: JournalRetentionPolicy.create({ minimumAgeSeconds: 1n }), now });
  if (plan === null) throw new Error('it may not be retired');
  await journal.retire({ plan, confirmation: JournalRetirementPlan.confirmationToken(plan), now });
}

void main().then(() => process.send?.({ value: 'retired' }, () => process.exit()));
