/**
 * What the Temporal Web UI shows of a plan. Invariant: ids, counts and codes only; a summary fits in 200 bytes.
 */
import { setCurrentDetails, upsertMemo } from '@temporalio/workflow';
import type { PlanStatus } from './messages';

const MOST_ROWS = 40;

export function driveSummary(status: PlanStatus): string {
  const left = status.effects.filter((effect) => effect.state !== 'committed').length;
  const verb = status.state === 'cancelling' ? 'stop' : status.state === 'following' ? 'follow' : 'drive';
  return `${verb}: ${left} of ${status.effects.length} effects not yet committed`;
}

export function tell(status: PlanStatus): void {
  setCurrentDetails(details(status));
}

/** Kept with the execution, so that a list of executions can be read without opening each. */
export function remember(status: PlanStatus): void {
  const committed = status.effects.filter((effect) => effect.state === 'committed').length;
  upsertMemo({
    countersign: {
      run_id: status.run_id,
      state: status.state,
      reason: status.reason,
      phase: status.phase,
      committed: `${committed}/${status.effects.length}`,
      head: status.head?.digest ?? null,
    },
  });
}

function details(status: PlanStatus): string {
  const rows = status.effects
    .slice(0, MOST_ROWS)
    .map((effect) => `| ${effect.ordinal} | \`${effect.tool_id}\` | ${effect.state} | ${effect.doubt ?? ''} |`);
  const rest = status.effects.length - rows.length;
  return [
    `**${status.state}**${status.reason === null ? '' : ` (${status.reason})`}, run \`${status.run_id}\``,
    ...(status.message === null ? [] : ['', status.message]),
    '',
    '| # | tool | state | doubt |',
    '|-|-|-|-|',
    ...rows,
    ...(rest > 0 ? ['', `and ${rest} more`] : []),
    '',
    status.head === null ? 'no checkpoint yet' : `head ${status.head.sequence}: \`${status.head.digest}\``,
  ].join('\n');
}
