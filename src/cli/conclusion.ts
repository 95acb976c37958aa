/**
 * How following a plan ended, as the answer of the command that followed it. Invariant: a parked plan is told with what to do,
 * and an end by Ctrl-C with how to look again.
 */
import type { ParkReason } from '../activities/contract';
import type { PlanHandle, PlanOutcome } from '../client';
import { ADVICE } from './advice';
import { CLI_EXITS, OUTCOME_EXITS, PARKED_EXITS } from './exit-codes';
import type { Followed } from './follow';
import type { Answer } from './output';

export function answerOf(handle: PlanHandle, followed: Followed): Answer {
  const { runId, workflowId } = handle;
  switch (followed.end) {
    case 'result':
      return concluded(followed.outcome);
    case 'parked':
      return {
        data: followed.status,
        lines: [`waiting for a person: ${ADVICE[followed.reason]}`, `it goes on as ${workflowId}`],
        failure: parked(followed.reason, followed.status.message),
      };
    case 'interrupted': {
      const message = `the plan goes on without you; follow it with: countersign inspect ${runId}`;
      const failure = { code: 'interrupted', message, field: null, exit: CLI_EXITS.interrupted };
      return { data: { run_id: runId, workflow_id: workflowId }, failure };
    }
  }
}

function parked(reason: ParkReason, message: string | null): NonNullable<Answer['failure']> {
  const why = (message ?? 'a person must decide').replace(`${reason}: `, '');
  return { code: reason, message: `${why}; ${ADVICE[reason]}`, field: null, exit: PARKED_EXITS[reason] };
}

function concluded(outcome: PlanOutcome): Answer {
  const committed = outcome.effects.filter((effect) => effect.state === 'committed').length;
  const head = outcome.head === null ? 'no checkpoint' : `head ${outcome.head.sequence} ${outcome.head.digest}`;
  const lines = [
    `${outcome.status}${outcome.replayed ? ' before this command, so nothing was sent for it' : ''}: ` +
      `${committed} of ${outcome.effects.length} effects committed`,
    head,
  ];
  const exit = OUTCOME_EXITS[outcome.status];
  if (outcome.status !== 'cancelled') return { data: outcome, lines, exit };
  const failure = { code: 'plan_cancelled', message: 'the plan was cancelled', field: null, exit };
  return { data: outcome, lines, failure };
}
