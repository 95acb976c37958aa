/** The plans of a namespace that wait for a person, as a command lists them. Invariant: the list only names them; who decides looks at one. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { carriedPlan } from '../plan-of-execution';
import { callOfPlan, type CallOfPlan } from '../rules/invocations/call-of-plan';
import { carriedPlans, type CarriedPlan } from './carried-plans';
import { counted, table, type Answer } from './output';
import { connect, type Service } from './service';

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
    const shown: WaitingPlan[] = [];
    for (let at = 0; at < waiting.length; at += AT_ONCE) {
      shown.push(...(await Promise.all(waiting.slice(at, at + AT_ONCE).map((plan) => waitingPlan(service, plan)))));
    }
    const rows = shown.map(({ runId, reason, since, committed, asks, workflowId, call, tools }) => [
      runId,
      reason ?? '',
      since ?? '',
      committed ?? '',
      call === null ? [workflowId ?? '', ...tools].join(' ') : `${call.queue} ${call.callId}`,
      asks ?? '',
    ]);
    const lines = [`namespace ${namespace}: ${counted(shown.length, 'plan')}`, ...table(rows)];
    if (more) lines.push(`not all plans were looked at; "--limit" is ${limit}`);
    return { data: { namespace, more, plans: shown }, lines };
  } finally {
    await service.close();
  }
}

/** Plans whose history is asked for at once. */
const AT_ONCE = 16;

interface WaitingPlan extends Pick<CarriedPlan, 'runId' | 'reason' | 'since' | 'committed' | 'asks'> {
  /** Null, as the rest, where the plan cannot be read here. */
  readonly workflowId: string | null;
  /** The call of a session that it is. */
  readonly call: CallOfPlan | null;
  readonly tools: readonly string[];
}

async function waitingPlan({ client, soon }: Service, listed: CarriedPlan): Promise<WaitingPlan> {
  const { runId, reason, since, committed, asks } = listed;
  const same = { runId, reason, since, committed, asks };
  try {
    const { plan, callId } = await soon(() => carriedPlan(client, listed.workflowId));
    const tools = [...new Set(plan.effects.map(({ toolId }) => toolId))];
    return { ...same, workflowId: plan.workflowId, call: callOfPlan(plan, callId), tools };
  } catch {
    return { ...same, workflowId: null, call: null, tools: [] };
  }
}
