/** `ls`: the plans that a namespace carries, and which of them need somebody. Invariant: asks Temporal only; changes nothing. */
import { InvalidArgumentError, Option } from 'commander';
import { CARRIED_STATES, carriedPlans, type CarriedPlan, type CarriedState } from '../carried-plans';
import { counted, table, type Answer } from '../output';
import type { Context, Register } from '../command';
import { connect } from '../service';

interface LsOptions {
  readonly only?: CarriedState;
  readonly staleAfter: number;
  readonly limit: number;
}

export const lsCommand: Register = (program, act) => {
  program
    .command('ls')
    .description('list the plans that run in a namespace: which are parked, why and for how long; which are stale')
    .addOption(new Option('--only <state>', 'only these').choices(CARRIED_STATES))
    .addOption(
      new Option('--stale-after <seconds>', 'how long a task may wait for a worker').argParser(whole).default(60),
    )
    .addOption(new Option('--limit <count>', 'look at so many at most').argParser(whole).default(1_000))
    .action(act('ls', list));
};

function whole(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('it must be a whole number.');
}

async function list(_context: Context, options: LsOptions): Promise<Answer> {
  const service = await connect({ taskQueue: '' });
  try {
    const { namespace } = service.client.options;
    const { limit, staleAfter, only } = options;
    const { plans, more } = await carriedPlans(service, { limit, staleAfterMs: staleAfter * 1_000 });
    const counts = Object.fromEntries(
      CARRIED_STATES.map((state) => [state, plans.filter((plan) => plan.state === state).length]),
    );
    const shown = only === undefined ? plans : plans.filter(({ state }) => state === only);
    const all = CARRIED_STATES.map((state) => `${counts[state]} ${state}`).join(', ');
    const lines = [`namespace ${namespace}: ${counted(plans.length, 'plan')}: ${all}`, ...table(shown.map(row))];
    if (more) lines.push(`there are more; "--limit" is ${limit}`);
    return { data: { namespace, ...counts, more, plans: shown }, lines };
  } finally {
    await service.close();
  }
}

function row({ state, ageMs, reason, committed, runId, asks }: CarriedPlan): readonly string[] {
  return [state, age(ageMs), reason ?? '', committed ?? '', runId, asks ?? ''];
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

function age(ms: number): string {
  const [unit, size] = UNITS.find(([, one]) => ms >= one) ?? UNITS[3];
  return `${Math.floor(ms / size)} ${unit}`;
}
