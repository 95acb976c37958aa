/**
 * The activities of sessions in Temporal. Invariant: who is calling comes from the server: only the session's own workflow is answered;
 * a refusal is final, and whatever else goes wrong is tried again.
 */
import { Context } from '@temporalio/activity';
import { sessionWorkflowId } from '../rules/invocations/names';
import { eventFromBody } from '../rules/invocations/session-event';
import type { Policies } from '../rules/invocations/policy';
import { SESSION_EVENTS } from '../rules/invocations/vocabulary';
import { Refusal } from '../rules/refusal';
import { definitionFromRecord } from '../rules/sessions/definition-record';
import type { Engine } from './engine';
import {
  SESSION_DEMAND_ACTIVITY,
  SESSION_LIMIT_ACTIVITY,
  SESSION_LOG_ACTIVITY,
  SESSION_PREPARE_ACTIVITY,
  SESSION_ROUND_ACTIVITY,
  SESSION_VOTES_ACTIVITY,
  type LogEvent,
  type SessionActivities,
} from './session-contract';
import { type Models, type SessionTools, type SessionEngine, type SessionPoint } from './session-engine';
import { sessionDemand, sessionVotes } from './session-demand';
import { failureOfTry, tellDone, tellHeldUp } from './session-held-up';
import { sessionLimit } from './session-limit';
import { sessionPrepare } from './session-prepare';
import { sessionRound } from './session-round';
import { SessionShelf, type SaidEvent } from './session-shelf';

export interface SessionOptions {
  readonly models: Models;
  readonly tools: SessionTools;
  readonly policies: Policies;
  readonly atSession?: (point: SessionPoint) => void | Promise<void>;
}

const HEARTBEAT_MS = 1_000;

export function createSessionEngine(
  engine: Engine,
  { models, tools, policies, atSession }: SessionOptions,
): SessionEngine {
  const { journal, contents, withDeadline } = engine;
  return {
    ...{ journal, contents, withDeadline, models, tools, policies },
    shelf: new SessionShelf(journal),
    ...(atSession === undefined ? {} : { at: atSession }),
  };
}

export function createSessionActivities(engine: SessionEngine): SessionActivities {
  return {
    [SESSION_LOG_ACTIVITY]: (request) =>
      answering(engine, request, () => {
        const { session_id: session, definition, events } = request;
        const whole = definition === undefined ? null : definitionFromRecord(definition);
        return engine.shelf.append(session, events.map(saidEvent), whole);
      }),
    [SESSION_ROUND_ACTIVITY]: (request) =>
      answering(engine, request, ({ stopping }) => sessionRound(engine, request, stopping)),
    [SESSION_PREPARE_ACTIVITY]: (request) =>
      answering(engine, request, async ({ now }) => ({ calls: await sessionPrepare(engine, request, now) })),
    [SESSION_DEMAND_ACTIVITY]: (request) =>
      answering(engine, request, ({ now }) => sessionDemand(engine, request, now)),
    [SESSION_LIMIT_ACTIVITY]: (request) =>
      answering(engine, request, async ({ now }) => ({ asked: await sessionLimit(engine, request, now) })),
    [SESSION_VOTES_ACTIVITY]: (request) => answering(engine, request, () => sessionVotes(engine, request)),
  };
}

interface OfSession {
  readonly session_id: string;
  readonly journal_id: string | null;
}

interface Asked {
  readonly stopping: AbortSignal;
  /** When the server asked, unix milliseconds. */
  readonly now: number;
}

async function answering<T extends object>(
  { journal }: SessionEngine,
  { session_id: session, journal_id: expected }: OfSession,
  act: (asked: Asked) => Promise<T>,
): Promise<T & { readonly journal_id: string }> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), HEARTBEAT_MS);
  try {
    if (context.info.workflowExecution?.workflowId !== sessionWorkflowId(session)) {
      throw new Refusal('not_the_plans_workflow', 'only the workflow of this session may write and read for it');
    }
    const journalId = await journal.id();
    if (expected !== null && expected !== journalId) {
      throw new Refusal('wrong_journal', 'this worker writes another journal than the one this session belongs to');
    }
    const asked = { stopping: context.cancellationSignal, now: context.info.currentAttemptScheduledTimestampMs };
    const done = await act(asked);
    await tellDone(context);
    return { journal_id: journalId, ...done };
  } catch (fault) {
    await tellHeldUp(context, fault);
    throw failureOfTry(fault);
  } finally {
    clearInterval(beat);
  }
}

function saidEvent({ type, at, body, time = 1 }: LogEvent): SaidEvent {
  const known = SESSION_EVENTS.find((one) => one === type);
  if (known === undefined) throw new Refusal('invalid_record', 'is no event of a session', 'type');
  return { at, time, event: eventFromBody(known, body) };
}
