/**
 * `toolSession`: a Temporal workflow that carries one agent's conversation, turn by turn. Invariant: it ends only when every call of it
 * has an outcome or an open review; until then it goes on from what is recorded, whatever was restarted.
 */
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  allHandlersFinished,
  condition,
  makeContinueAsNewFunc,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { isDigest } from '../rules/recovery';
import { Refusal } from '../rules/refusal';
import { isEnded } from '../rules/invocations/vocabulary';
import { sessionOfWorkflow } from '../rules/invocations/names';
import { reportSignal } from './queue-messages';
import { SessionLoop } from './session-loop';
import {
  cancelSessionUpdate,
  completeSessionUpdate,
  heldUpSignal,
  sendUpdate,
  sessionStatusQuery,
  type ToolSessionInput,
  type ToolSessionStatus,
  type UserMessage,
} from './session-messages';

/** Messages that one run takes before it continues as new. */
const MOST_MESSAGES = 500;
/** Messages that may wait for their turn. */
const MOST_WAITING = 100;
const MESSAGE_ID = /^[A-Za-z0-9._-]{1,128}$/;

export async function toolSession(input: ToolSessionInput): Promise<ToolSessionStatus> {
  try {
    refuseStrange(input);
    const asked: Asked = { messages: 0, byTemporal: false };
    const wantsRenewal = (): boolean =>
      (asked.messages >= MOST_MESSAGES || workflowInfo().continueAsNewSuggested) && allHandlersFinished();
    const loop = new SessionLoop(input, wantsRenewal);
    listen(loop, asked);
    const end = await CancellationScope.nonCancellable(() => loop.run());
    if (end === 'renew') return await makeContinueAsNewFunc<typeof toolSession>()({ ...input, carried: loop.carried });
    await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    return concluded(loop.view(), asked.byTemporal);
  } catch (fault) {
    // Anything else than a Temporal failure would be retried for ever as a failed workflow task.
    if (fault instanceof Refusal) throw ApplicationFailure.nonRetryable(fault.message, fault.code);
    throw fault;
  }
}

interface Asked {
  messages: number;
  byTemporal: boolean;
}

function refuseStrange({ session_id: session }: ToolSessionInput): void {
  if (sessionOfWorkflow(workflowInfo().workflowId) === session) return;
  throw new Refusal('invalid_arguments', 'must be the session that the id of this workflow names', 'session_id');
}

function listen(loop: SessionLoop, asked: Asked): void {
  setHandler(sessionStatusQuery, () => loop.view(), { description: 'Where the session stands, call by call.' });
  setHandler(reportSignal, (report) => loop.calls.hear(report), {
    description: 'From the queue of a tool: what became of a call.',
  });
  setHandler(heldUpSignal, (message) => loop.heldUp.hear(message), {
    description: 'From its activities: whether a worker lacks what the session waits for.',
  });
  setHandler(
    sendUpdate,
    (message) => {
      asked.messages += 1;
      const before = loop.waiting;
      loop.inbox.take(message);
      return { message_id: message.message_id, before };
    },
    {
      validator: (message) => refuseMessage(loop, message),
      description: 'A message of the user, by its digest in the content store.',
    },
  );
  setHandler(
    cancelSessionUpdate,
    async () => {
      loop.cancel();
      await condition(() => loop.closed);
      return loop.view();
    },
    { description: 'Dispatch nothing more, record what became of every call, and end the session.' },
  );
  setHandler(
    completeSessionUpdate,
    async () => {
      loop.completing = true;
      await condition(() => loop.closed);
      return loop.view();
    },
    {
      validator: () => {
        if (loop.inbox.size > 0) throw refused('messages wait for their turn; cancel the session, or ask again later');
      },
      description: 'End the session when the turn under way is over.',
    },
  );
  CancellationScope.current().cancelRequested.catch(() => {
    asked.byTemporal = true;
    loop.cancel();
  });
}

function refuseMessage(loop: SessionLoop, message: UserMessage): void {
  if (!isDigest(message?.message) || !MESSAGE_ID.test(String(message.message_id))) {
    throw refused('a message is named by an id of [A-Za-z0-9._-] and the digest of its text in the content store');
  }
  if (loop.completing || loop.closed || isEnded(loop.status)) throw refused('the session takes no more messages');
  if (loop.inbox.size >= MOST_WAITING) throw refused(`${MOST_WAITING} messages wait already; send it again later`);
}

function refused(reason: string): ApplicationFailure {
  const { message, code } = new Refusal('invalid_arguments', reason);
  return ApplicationFailure.nonRetryable(message, code);
}

function concluded(status: ToolSessionStatus, byTemporal: boolean): ToolSessionStatus {
  if (status.status === 'failed') {
    const message = `the session has failed: ${status.failure}`;
    throw ApplicationFailure.create({ type: 'SessionFailed', nonRetryable: true, message, details: [status] });
  }
  if (status.status === 'cancelled' && byTemporal) throw new CancelledFailure('the session was cancelled', [status]);
  return status;
}
