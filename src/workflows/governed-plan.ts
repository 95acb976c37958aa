/**
 * `governedPlan`: a Temporal workflow that carries one plan from its first checkpoint to its last. Invariant: it ends only
 * when the chain does, so a closed execution has a closed journal; until then it waits, parks or follows.
 */
import {
  ApplicationFailure,
  CancelledFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  makeContinueAsNewFunc,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { RecoveryError } from '../rules/recovery';
import { Refusal, type RefusalCode } from '../rules/refusal';
import { ChainKeeper } from './chain-keeper';
import { approvalRejected } from './approval-rejected';
import { DriveLoop } from './drive-loop';
import {
  approvalsQuery,
  approveUpdate,
  cancelUpdate,
  lineageQuery,
  reobserveUpdate,
  resolveUpdate,
  statusQuery,
  takeTurnSignal,
  type EffectOutcome,
  type GovernedPlanInput,
  type PlanOutcome,
  type PlanStatus,
} from './messages';
import { CARRIER } from './story';

/** Messages that one run handles before it continues as new; histories stay small however often people ask. */
const MOST_MESSAGES = 500;

export async function governedPlan(input: GovernedPlanInput): Promise<PlanOutcome> {
  // One async function on the way of every plan: the SDK keeps a stack trace of each promise, so each costs.
  try {
    const chain = new ChainKeeper(input.plan, input.known ?? null, input.journal_id ?? null, input.call_id ?? null);
    const asked: Asked = { messages: 0, cancelled: null };
    const wantsRenewal = (): boolean =>
      (asked.messages >= MOST_MESSAGES || workflowInfo().continueAsNewSuggested) && allHandlersFinished();
    const loop = new DriveLoop(chain, input.task_queue, wantsRenewal, CARRIER, input.answers);
    if (input.parked !== undefined) loop.inherit(input.parked);
    chain.allow = input.allow ?? null;
    if (input.begun === true) chain.mayHaveBegun = true;
    if (input.preview === true) return await preview(loop);
    listen(loop, asked);
    const end = await loop.run();
    if (end.end === 'renew') return await renew(input, loop);
    loop.closed = true;
    if (!allHandlersFinished()) await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    if (end.end === 'permitted') return outcomeOf(loop, 'permitted');
    if (end.end === 'turned_down') throw ApplicationFailure.nonRetryable(end.refusal.message, end.refusal.code);
    loop.remembered();
    return concluded(loop, asked.cancelled === 'temporal');
  } catch (fault) {
    // Anything else than a Temporal failure would be retried for ever as a failed workflow task.
    if (fault instanceof Refusal) throw ApplicationFailure.nonRetryable(fault.message, fault.code);
    if (fault instanceof RecoveryError) throw ApplicationFailure.nonRetryable(fault.message, 'invalid_plan');
    throw fault;
  }
}

/** What people have asked of this run. */
interface Asked {
  messages: number;
  cancelled: 'update' | 'temporal' | null;
}

function listen(loop: DriveLoop, asked: Asked): void {
  const { chain } = loop;
  setHandler(statusQuery, () => loop.status(), { description: 'Where the plan stands, effect by effect.' });
  setHandler(
    lineageQuery,
    () => ({ run_id: chain.plan.runId, journal_id: chain.journalId, lineage: chain.lineage, digests: chain.digests }),
    { description: 'The digests of the checkpoint chain that this history proves.' },
  );
  setHandler(approvalsQuery, () => loop.answers.record, {
    description: 'What is asked of people, from whom, and what is there.',
  });
  const unmoved = (expectedHead?: string): void => {
    if (expectedHead === undefined || expectedHead === chain.expectedHead?.digest) return;
    const message = 'the plan has moved on from the head that was named; look at it again';
    throw ApplicationFailure.nonRetryable(message, 'stale_head' satisfies RefusalCode);
  };
  const answered = async (token: string): Promise<PlanStatus> => {
    const { answers } = loop;
    asked.messages += 1;
    const receipt = answers.keep(token);
    loop.wake();
    const rests = (): boolean => loop.state === 'parked' || loop.state === 'following';
    await condition(() => loop.closed || answers.isSettled(receipt) || (answers.wasOffered(receipt) && rests()));
    const refused = answers.refusal(receipt);
    if (refused !== null) throw ApplicationFailure.nonRetryable(refused.message, refused.code);
    return loop.status();
  };
  setHandler(approveUpdate, answered, {
    validator: (token) => loop.answers.check('approve', token, loop.reason),
    description: 'A signed approval, rejection or request.',
  });
  setHandler(resolveUpdate, answered, {
    validator: (token) => loop.answers.check('resolve', token, loop.reason),
    description: 'A signed resolution of what the plan is parked for.',
  });
  setHandler(takeTurnSignal, () => loop.reobserve(), { description: 'Drive the plan, whoever drove it last.' });
  setHandler(
    reobserveUpdate,
    async () => {
      asked.messages += 1;
      const before = loop.returned;
      loop.reobserve();
      await condition(() => loop.closed || loop.returned > before);
      return loop.status();
    },
    { validator: unmoved, description: 'Look at every sink again and go on from what is found.' },
  );
  setHandler(
    cancelUpdate,
    async () => {
      asked.cancelled ??= 'update';
      asked.messages += 1;
      loop.cancel();
      await condition(() => loop.closed);
      return loop.status();
    },
    { validator: unmoved, description: 'Send nothing more, record what is committed, and end the plan.' },
  );
  CancellationScope.current().cancelRequested.catch(() => {
    asked.cancelled ??= 'temporal';
    loop.cancel();
  });
}

function outcomeOf({ chain, replayed }: DriveLoop, status: PlanOutcome['status']): PlanOutcome {
  return {
    status,
    run_id: chain.plan.runId,
    journal_id: chain.journalId ?? '',
    lineage: chain.lineage,
    head: chain.expectedHead,
    effects: chain.effects().map(({ ordinal: _ordinal, doubt: _doubt, proof: _proof, ...effect }) => effect),
    replayed,
    preview: null,
  };
}

/** The closed chain as the author sees it: a result, a refused effect, or a cancellation. */
function concluded(loop: DriveLoop, byTemporal: boolean): PlanOutcome {
  const { chain } = loop;
  const outcome = outcomeOf(loop, chain.head?.phase === 'completed' ? 'completed' : 'cancelled');
  if (outcome.status === 'completed') return outcome;
  const { refusal } = chain;
  if (refusal !== null) {
    throw ApplicationFailure.create({
      type: 'EffectRejected',
      nonRetryable: true,
      message: `effect ${refusal.ordinal} (${chain.plan.effects[refusal.ordinal]?.toolId}) was refused: ${refusal.code}`,
      details: [{ code: refusal.code, ordinal: refusal.ordinal, ...outcome }],
    });
  }
  const { denial } = chain;
  if (denial !== null) throw approvalRejected(denial, [outcome]);
  if (byTemporal) throw new CancelledFailure('the plan was cancelled', [byState(outcome.effects)]);
  return outcome;
}

function byState(effects: readonly EffectOutcome[]): Record<'committed' | 'not_sent' | 'unknown', readonly string[]> {
  const of = (state: EffectOutcome['state']): readonly string[] =>
    effects.filter((effect) => effect.state === state).map((effect) => effect.action_id);
  return { committed: of('committed'), not_sent: of('not_sent'), unknown: of('unknown') };
}

async function preview(loop: DriveLoop): Promise<PlanOutcome> {
  let result = await loop.drive('preview');
  for (; result?.status === 'stopped'; result = await loop.drive('preview')) loop.chain.accept(result);
  if (result === null) throw ApplicationFailure.nonRetryable('no worker answered the look-ups', 'preview_failed');
  if (result.status === 'refused') throw ApplicationFailure.nonRetryable(result.message, result.code);
  loop.chain.accept(result);
  return {
    status: 'previewed',
    run_id: loop.chain.plan.runId,
    journal_id: result.journal_id,
    lineage: loop.chain.lineage,
    head: loop.chain.expectedHead,
    effects: [],
    replayed: result.replayed,
    preview: result.status === 'previewed' ? result.effects : [],
  };
}

function renew(input: GovernedPlanInput, { chain, answers, parked }: DriveLoop): Promise<never> {
  const { position } = chain;
  const continueAs = makeContinueAsNewFunc<typeof governedPlan>();
  return continueAs({
    ...input,
    ...(position === undefined ? {} : { known: position }),
    ...(chain.mayHaveBegun ? { begun: true } : {}),
    ...(answers.isEmpty ? {} : { answers: answers.carried }),
    ...(parked === null ? {} : { parked }),
  });
}
