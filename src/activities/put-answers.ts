/**
 * Content of an author in two steps: put by a local activity, asked for by the activity after it. Invariant: nothing that the workflow does
 * rests on when the first one is done, because only the second answers; no answer has content; and what was put in one execution of a
 * workflow is answered to no other. What is not there yet, or was forgotten because it had been answered, is put again by whoever asks.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '@temporalio/activity';
import { Refusal } from '../rules/refusal';
import {
  firstDrive,
  type Asked,
  type BeginRequest,
  type BegunCall,
  type DriveRequest,
  type DriveResult,
  type Put,
  type PutAnswer,
  type StagedPlan,
} from './contract';
import type { Engine } from './engine';

const LONGEST_PAUSE_MS = 500;

/** A refusal is an answer; whatever else goes wrong is tried again. */
export async function keepAnswer<Staged>(
  context: Context,
  { contents }: Pick<Engine, 'contents'>,
  { put }: Put,
  stage: () => Promise<Staged>,
): Promise<void> {
  await contents.keepAnswer(placeOf(context, put), await answerOf(stage));
}

async function answerOf<Staged>(stage: () => Promise<Staged>): Promise<PutAnswer<Staged>> {
  try {
    return await stage();
  } catch (fault) {
    if (fault instanceof Refusal) return { refused: { code: fault.code, message: fault.message } };
    throw fault;
  }
}

/** @param stopping True once it must not wait any longer. */
export async function keptAnswer<Staged>(
  context: Context,
  { contents }: Pick<Engine, 'contents'>,
  { put, wait_ms: waitMs }: Asked,
  stopping: () => boolean,
): Promise<PutAnswer<Staged>> {
  const place = placeOf(context, put);
  const until = performance.now() + waitMs;
  for (let pauseMs = 20; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const answer = (await contents.answer(place)) as PutAnswer<Staged>;
    if (answer !== null || stopping() || performance.now() >= until) return answer;
    await sleep(pauseMs);
  }
}

export function forgetAnswer(context: Context, { contents }: Pick<Engine, 'contents'>, { put }: Put): void {
  contents.forgetAnswer(placeOf(context, put)).catch(() => undefined);
}

export async function beginCall(
  context: Context,
  engine: Engine,
  request: BeginRequest,
  stopping: () => boolean,
  drive: (request: DriveRequest) => Promise<DriveResult>,
): Promise<BegunCall> {
  const answer = await keptAnswer<StagedPlan>(context, engine, request, stopping);
  const plan = answer !== null && 'plan' in answer ? answer : null;
  const drives = request.drives && request.journal_id !== null && plan !== null;
  const driven = drives ? await drive(firstDrive(request, plan)) : null;
  if (answer !== null) forgetAnswer(context, engine, request);
  return { answer, driven };
}

function placeOf({ info }: Context, put: string): string {
  return `${info.workflowExecution?.runId ?? ''}/${put}`;
}
