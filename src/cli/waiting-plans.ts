/** The plans of a namespace that wait for a person, as a command lists them. Invariant: the list only names them; who decides looks at one. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { carriedPlans, type CarriedPlan } from './carried-plans';
import { counted, table, type Answer } from './output';
import { connect } from './service';

export interface ListOptions {
  readonly limit: number;
}

export function withLimit(command: Command): Command {
  const whole = (text: string): number => {
    if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
    throw new InvalidArgumentError('it must be a whole number from 1.');
  };
  return command.addOption(new Option('--limit <count>', 'look at so many at most').argParser(whole).default(1_000));
}

export async function listWaiting({ limit }: ListOptions, wanted: (plan: CarriedPlan) => boolean): Promise<Answer> {
  const service = await connect({ taskQueue: '' });
  try {
    const { namespace } = service.client.options;
    const { plans, more } = await carriedPlans(service, { limit, staleAfterMs: 60_000 });
    const waiting = plans.filter((plan) => plan.state === 'parked' && wanted(plan));
    const shown = waiting.map(({ runId, reason, since, committed, asks }) => ({
      runId,
      reason,
      since,
      committed,
      asks,
    }));
    const rows = shown.map((plan) => [
      plan.runId,
      plan.reason ?? '',
      plan.since ?? '',
      plan.committed ?? '',
      plan.asks ?? '',
    ]);
    const lines = [`namespace ${namespace}: ${counted(shown.length, 'plan')}`, ...table(rows)];
    if (more) lines.push(`not all plans were looked at; "--limit" is ${limit}`);
    return { data: { namespace, more, plans: shown }, lines };
  } finally {
    await service.close();
  }
}
