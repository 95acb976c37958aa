/**
 * Properties, with processes that are killed (SIGKILL) at every boundary between two system calls:
 * - of an append: the journal loads as before or with the whole checkpoint, and a repeat of the append succeeds
 * - of a retirement: the journal loads as the whole lineage or as the record, and a repeat leaves only the record
 */
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CheckpointJournal } from '../../../src/adapters/stores';
import { PUBLISH_STEPS } from '../../../src/adapters/stores/publish-file';
import { JournalRetentionPolicy, JournalRetirementPlan, RecoveryCheckpoint } from '../../../src/rules/recovery';
import { Child } from './child-process';
import { type Action } from './journal-child';
import { FINISHED, lineage } from './lineages';
import { workFolder } from './work-folder';

const NOW = 4_000_000_000n;
const STEPS = ['loaded', ...PUBLISH_STEPS];
const visibleAt = (step: string): boolean => STEPS.indexOf(step) >= STEPS.indexOf('linked');
const isCheckpoint = (name: string): boolean => name.startsWith('checkpoint-');

test.each(STEPS)('an append killed when "%s"', async (step) => {
  const folder = path.join(workFolder(), 'journal');
  const all = lineage('killed', FINISHED, 40);
  const [first, second, third] = all as [RecoveryCheckpoint, RecoveryCheckpoint, RecoveryCheckpoint];
  const journal = new CheckpointJournal(folder);
  await journal.append(first);
  const child = await Child.start<Action>('journal-child.ts', [folder, 'kill', step]);
  const appended = child.ask({ act: 'append', checkpoints: [RecoveryCheckpoint.toJson(second)] });
  expect(await appended).toEqual({ failed: 'ended' });
  expect(await child.ended).toBe('SIGKILL');

  expect(await journal.load()).toEqual(visibleAt(step) ? [first, second] : [first]);
  expect(await journal.append(second)).toBe(visibleAt(step) ? 'identical' : 'created');
  expect(await journal.append(third)).toBe('created');
  expect(await new CheckpointJournal(folder).load()).toEqual(all);
  expect(fs.readdirSync(folder).filter(isCheckpoint)).toHaveLength(3);
});

test.each([
  ...PUBLISH_STEPS.map((step) => [step, 0] as const),
  ['cleaned', 0],
  ['cleaned', 1],
  ['cleaned', 2],
] as const)('a retirement killed when "%s" (%i)', async (step, passes) => {
  const folder = path.join(workFolder(), 'journal');
  const all = lineage('killed', FINISHED);
  const journal = new CheckpointJournal(folder);
  for (const checkpoint of all) await journal.append(checkpoint);
  const policy = JournalRetentionPolicy.create({ minimumAgeSeconds: 0n });
  const plan = await journal.planRetirement({ policy, now: NOW });
  if (plan === null) throw new Error('the journal should be ready to retire');
  const child = await Child.start<Action>('journal-child.ts', [folder, 'kill', step, String(passes)]);
  expect(await child.ask({ act: 'retire', now: String(NOW) })).toEqual({ failed: 'ended' });

  const retired = step === 'cleaned' || visibleAt(step);
  expect(await journal.load()).toEqual(retired ? plan.record : all);
  const confirmation = JournalRetirementPlan.confirmationToken(plan);
  expect(await journal.retire({ plan, confirmation, now: NOW })).toEqual(plan.record);
  expect(await journal.load()).toEqual(plan.record);
  expect(fs.readdirSync(folder).filter(isCheckpoint)).toEqual([]);
});
