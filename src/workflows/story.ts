/**
 * What the Temporal Web UI shows of a plan. Invariant: ids, counts and codes only; a summary fits in 200 bytes.
 */
import { setCurrentDetails, upsertMemo } from '@temporalio/workflow';
import type { PlanAsks, PlanStatus } from './messages';

/** The workflow in which a plan is driven: what it shows of the plan, and whether people can answer there. */
export interface Host {
  readonly waitsForPeople: boolean;
  summary(status: PlanStatus): string;
  tell(status: PlanStatus): void;
  remember(status: PlanStatus): void;
}

/** The workflow that carries one plan shows all of it. */
export const CARRIER: Host = { waitsForPeople: true, summary: driveSummary, tell, remember };

/** An author's workflow shows nothing of ours but the summary of an activity, by the name of the effect. */
export function guestOf(effect: string): Host {
  const silent = (): void => undefined;
  const summary = (status: PlanStatus): string => `${effect.slice(0, 80)}: ${driveSummary(status)}`;
  return { waitsForPeople: false, summary, tell: silent, remember: silent };
}

const MOST_ROWS = 40;

function driveSummary(status: PlanStatus): string {
  const left = status.effects.filter((effect) => effect.state !== 'committed').length;
  const verb = status.state === 'cancelling' ? 'stop' : status.state === 'following' ? 'follow' : 'drive';
  return `${verb}: ${left} of ${status.effects.length} effects not yet committed`;
}

function tell(status: PlanStatus): void {
  setCurrentDetails(details(status));
}

/** Kept with the execution, so that a list of executions can be read without opening each. */
function remember(status: PlanStatus): void {
  const committed = status.effects.filter((effect) => effect.state === 'committed').length;
  upsertMemo({
    countersign: {
      run_id: status.run_id,
      state: status.state,
      reason: status.reason,
      parked_at: status.parked_at,
      ...(status.reason === 'activity_failed' ? { failing_since: Date.now() } : {}),
      phase: status.phase,
      committed: `${committed}/${status.effects.length}`,
      head: status.head?.digest ?? null,
      ...(status.asks === null ? {} : { asks: asksOf(status.asks) }),
    },
  });
}

/** In one line: the approvals that are wanted, or else the ways on; and what is there. */
function asksOf({ approvals, resolutions, have }: PlanAsks): string {
  const rules = approvals.map((rule) => `${rule.approvals} of ${rule.roles?.join(' or ') ?? 'any reviewer'}`);
  const wanted = rules.length > 0 ? `approval: ${rules.join(' and ')}` : `resolution: ${resolutions.join(', ')}`;
  return have.length === 0 ? wanted : `${wanted}; there: ${have.join(', ')}`;
}

function details(status: PlanStatus): string {
  const rows = status.effects.slice(0, MOST_ROWS).map(({ ordinal, tool_id: tool, state, doubt, proof }) => {
    return `| ${ordinal} | \`${tool}\` | ${state} | ${doubt ?? proof ?? (state === 'unknown' ? 'may have been sent' : '')} |`;
  });
  const { asks, observed_at: at } = status;
  const rest = status.effects.length - rows.length;
  return [
    `**${status.state}**${status.reason === null ? '' : ` (${status.reason})`}, run \`${status.run_id}\``,
    ...(status.message === null ? [] : ['', status.message]),
    ...(asks === null ? [] : ['', `asked for ${asksOf(asks)}`]),
    ...(at === null ? [] : ['', `sinks asked at ${new Date(at).toISOString()}`]),
    '',
    '| # | tool | state | why |',
    '|-|-|-|-|',
    ...rows,
    ...(rest > 0 ? ['', `and ${rest} more`] : []),
    '',
    status.head === null ? 'no checkpoint yet' : `head ${status.head.sequence}: \`${status.head.digest}\``,
  ].join('\n');
}
