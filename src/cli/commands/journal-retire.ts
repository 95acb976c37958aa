/**
 * `journal retire`: shows what may be retired and, confirmed word for word, retires exactly that. Invariant: without the
 * confirmation of this very plan nothing is deleted; what changed since it was shown is refused.
 */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { fileStore } from '../../adapters/stores';
import { isFolderAddress } from '../../adapters/stores/open-store';
import { Journal } from '../../activities/journal';
import {
  LEAST_AGE_SECONDS,
  confirmationOf,
  isRetirable,
  planRetirement,
  retire,
  type RetentionRule,
  type Retirable,
  type Retirement,
} from '../../retire-runs';
import { isRunId, JournalRetirementPlan } from '../../rules/recovery';
import { Refusal } from '../../rules/refusal';
import type { Act, Context } from '../command';
import { CliError } from '../failure';
import { counted, table, type Answer } from '../output';
import { namedRun } from '../plan-file';
import { journalAddress, withOptions, type Settings } from '../settings';

interface RetireOptions extends Pick<Settings, 'journal'> {
  readonly minimumAge: bigint;
  readonly limit: number;
  readonly confirm?: string;
}

export function addRetire(journal: Command, act: Act): void {
  const command = journal
    .command('retire')
    .description('show which finished runs may give up their checkpoints for one record; with --confirm, do it')
    .argument('[run]', 'a run id, or the file of its draft or plan; default: every run of the journal')
    .addOption(
      new Option('--minimum-age <age>', 'since the last checkpoint, as in 90d or 48h; at least 1d')
        .argParser(ageOf)
        .makeOptionMandatory(),
    )
    .option('--limit <count>', 'look at so many runs that may be retired, at most', whole, 1_000)
    .option('--confirm <token>', 'what the command without it printed');
  withOptions(command, 'journal').action(act('journal retire', retireRuns));
}

const SECONDS = { s: 1n, h: 3_600n, d: 86_400n } as const;

function ageOf(text: string): bigint {
  const [, digits, unit = 's'] = /^([0-9]{1,9})([shd])?$/.exec(text) ?? [];
  if (digits === undefined) throw new InvalidArgumentError('it is written as 90d, 48h or 86400s.');
  const age = BigInt(digits) * SECONDS[unit as keyof typeof SECONDS];
  if (age < LEAST_AGE_SECONDS) throw new InvalidArgumentError('it must be at least 1d.');
  return age;
}

function whole(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('it must be a whole number.');
}

async function retireRuns(context: Context, run: string | undefined, options: RetireOptions): Promise<Answer> {
  const root = retirableFolder(options);
  const now = BigInt(Math.floor(Date.now() / 1_000));
  const rule = { minimumAgeSeconds: options.minimumAge, plannedAt: plannedAt(options.confirm) ?? now };
  const looked = await lookThrough(context, root, run, rule, options.limit);
  const ready = looked.filter(isRetirable);
  const token = confirmationOf(ready, rule);
  const counts = countsOf(looked);
  const shown = { counts, runs: ready.map(shownOf) };
  if (options.confirm === undefined) {
    const next =
      ready.length === 0 ? 'nothing to retire' : `to retire ${counted(ready.length, 'run')}: --confirm ${token}`;
    const lines = [summary(counts), ...table(ready.map(rowOf)), next];
    return { data: { ...shown, dryRun: true, confirm: ready.length === 0 ? null : token }, lines };
  }
  if (options.confirm !== token || ready.length === 0) {
    const reason = 'this is not the confirmation of what would be retired now; look again without --confirm';
    throw new CliError('invalid_argument', reason, 'confirm');
  }
  for (const [index, one] of ready.entries()) {
    await retire(root, one, now);
    context.output.say(`run ${one.runId} retired (${index + 1} of ${ready.length})`);
  }
  return {
    data: { ...shown, dryRun: false },
    lines: [`${counted(ready.length, 'run')} retired; each verifies as before`],
  };
}

/** Elsewhere nobody who reaches the journal may delete in it, and the contract's record speaks of a folder. */
function retirableFolder(options: Pick<Settings, 'journal'>): string {
  const address = journalAddress(options);
  if (isFolderAddress(address)) return address;
  const reason =
    'only a journal in a folder is retired, for in a database or bucket nobody may delete; "journal copy" it into a folder, and retire that copy';
  throw new CliError('invalid_argument', reason, 'journal');
}

/** Bounded by what it finds, and says now and then how far it is. */
async function lookThrough(
  { output, interrupted }: Context,
  root: string,
  run: string | undefined,
  rule: RetentionRule,
  limit: number,
): Promise<readonly Retirement[]> {
  if (run !== undefined) return [await planRetirement(root, namedRun(run).runId, rule)];
  const store = fileStore(root);
  await new Journal(store).id();
  const ids = (await store.list('')).map((name) => name.replace(/\/$/, '')).filter(isRunId);
  const looked: Retirement[] = [];
  let ready = 0;
  for (const [index, runId] of ids.entries()) {
    if (ready >= limit || interrupted.aborted) break;
    const one = await planRetirement(root, runId, rule).catch(unknownAsInvalid(runId));
    looked.push(one);
    if (isRetirable(one)) ready += 1;
    if ((index + 1) % 1_000 === 0) output.say(`${index + 1} of ${ids.length} runs looked at, ${ready} may be retired`);
  }
  return looked;
}

/** A folder of a run without a plan is for "verify" to speak of. */
function unknownAsInvalid(runId: string): (fault: unknown) => Retirement {
  return (fault) => {
    if (fault instanceof Refusal) return { runId, state: 'invalid', phase: null };
    throw fault;
  };
}

const STATES = ['retirable', 'leftover', 'retired', 'young', 'open', 'aborted', 'invalid', 'without_chain'] as const;
type Counts = Readonly<Record<Retirement['state'], number>>;

function countsOf(looked: readonly Retirement[]): Counts {
  return Object.fromEntries(
    STATES.map((state) => [state, looked.filter((one) => one.state === state).length]),
  ) as Counts;
}

const SAYS: Record<Retirement['state'], string> = {
  retirable: 'may be retired',
  leftover: 'retired, with files left to delete',
  retired: 'retired already',
  young: 'too young',
  open: 'not over',
  aborted: 'aborted, which the contract never retires',
  without_chain: 'launches, checks or sessions, which have no checkpoints to retire',
  invalid: 'not verified or not justified (see "countersign verify")',
};

function summary(counts: Counts): string {
  const parts = STATES.filter((state) => counts[state] > 0).map((state) => `${counts[state]} ${SAYS[state]}`);
  return parts.length === 0 ? 'no runs' : parts.join(', ');
}

function shownOf(one: Retirable): object {
  if (one.state === 'leftover') return { runId: one.runId, state: one.state };
  return { runId: one.runId, state: one.state, plan: JournalRetirementPlan.toDict(one.plan) };
}

function rowOf(one: Retirable): readonly string[] {
  if (one.state === 'leftover') return [one.runId, SAYS.leftover, ''];
  const { record } = one.plan;
  return [
    one.runId,
    `${record.checkpointCount} checkpoints, ${record.effectCount} effects`,
    record.finalCheckpointDigest,
  ];
}

function plannedAt(token: string | undefined): bigint | null {
  const seconds = /^([0-9]{1,15})\/confirm:/.exec(token ?? '')?.[1];
  return seconds === undefined ? null : BigInt(seconds);
}
