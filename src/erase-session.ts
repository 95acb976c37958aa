/**
 * Erasing what a session was about: what was said, asked and answered in it, and the contents of the runs of its calls and of the questions
 * about its limits. Invariant: nothing goes unless the session and every one of these is over, or it is forced; its log and their chains
 * stay, and lead to the rest of an erasure that was cut short.
 */
import { schemaPath } from './activities/contents';
import { Journal } from './activities/journal';
import { sessionOf, type SessionFiles } from './activities/session-files';
import { SessionShelf } from './activities/session-shelf';
import { erasePlan, refuseOpen } from './erase-plan';
import { resultPath } from './erase-run';
import type { ContentStore, Store } from './ports';
import { callIdOf, callRunId, limitEffectId, limitRunId, queueNameOf } from './rules/invocations/names';
import type { SessionRecord } from './rules/invocations/session-record';
import { SESSION_LIMITS } from './rules/invocations/vocabulary';
import { operationsOf } from './rules/plans/envelope';
import { deriveActionId } from './rules/plans/identity';
import { Refusal } from './rules/refusal';
import { readable } from './transfer';

/** A call that the model has asked for, of a tool that the agent has; or what people were asked about a limit. */
interface RunOfSession {
  readonly runId: string;
  readonly actionId: string;
}

/** Answers the paths, in the order in which they went. */
export async function eraseSession(
  store: Store,
  contents: ContentStore,
  runId: string,
  force: boolean,
): Promise<readonly string[]> {
  const journal = new Journal(store);
  const session = await sessionOf(journal, runId);
  const shelf = new SessionShelf(journal);
  const [log, view] = [await shelf.log(session), await shelf.view(session)];
  if (view.ended === null && !force) {
    const reason = 'is not over: without its contents it cannot go on. Complete or cancel it first, or force it';
    throw new Refusal('run_open', reason, runId);
  }
  const files = shelf.files(session);
  const runs = [...(await callsOf(files)), ...questionsOf(session, log)];
  const driven = new Set<string>();
  for (const run of runs) if ((await journal.plan(run.runId)) !== null) driven.add(run.runId);
  if (!force) for (const run of driven) await refuseOpen(store, run);
  const paths: string[] = [];
  for (const run of runs) {
    const gone = driven.has(run.runId) ? erasePlan(store, contents, run.runId) : eraseUndriven(contents, run);
    paths.push(...(await gone));
  }
  const { instructions } = await files.definition();
  const said = log.flatMap(({ event }) => (event.type === 'message.user' ? [event.message] : []));
  const answered = (await files.rounds()).flatMap(({ text, calls: asked }) => [
    text,
    ...asked.map(({ argsDigest }) => argsDigest),
  ]);
  const values = [...(instructions === null ? [] : [instructions]), ...said, ...answered].map(valuePath);
  const late = log.flatMap(({ event }) =>
    event.type === 'tool.completed' && event.resultDigest !== null ? [resultPath(event.resultDigest)] : [],
  );
  const own = [...new Set([...late, ...values])].filter((path) => !paths.includes(path));
  for (const path of own) await contents.delete(path);
  return [...paths, ...own];
}

async function callsOf(files: SessionFiles): Promise<readonly RunOfSession[]> {
  const { session, agentVersion, tools } = await files.definition();
  const calls: RunOfSession[] = [];
  for (const { turn, round, calls: asked } of await files.rounds()) {
    for (const [index, { tool: name }] of asked.entries()) {
      const tool = tools.find((one) => one.tool === name);
      if (tool === undefined) continue;
      const callId = callIdOf({ session, agentVersion, turn, round, index });
      const runId = callRunId(callId, tool);
      calls.push({ runId, actionId: deriveActionId(runId, `${queueNameOf(tool)}/${callId}`) });
    }
  }
  return calls;
}

/** Each has the number behind what was granted before it, which is no more than was asked; the last may not stand in the log yet. */
function questionsOf(session: string, log: readonly SessionRecord[]): readonly RunOfSession[] {
  return SESSION_LIMITS.flatMap((limit) => {
    const asked = log.filter(({ event }) => event.type === 'approval.required' && event.approval.limit === limit);
    return Array.from({ length: asked.length + 1 }, (_, index) => {
      const runId = limitRunId(session, limit, index + 1);
      return { runId, actionId: deriveActionId(runId, limitEffectId(limit, index + 1)) };
    });
  });
}

/** It was prepared and never driven: no plan in the journal names its operation, so that is told by its salt, which goes last. */
async function eraseUndriven(contents: ContentStore, { runId, actionId }: RunOfSession): Promise<readonly string[]> {
  const salt = await readable(contents, `salts/${runId}`);
  const paths: string[] = [];
  if ((await readable(contents, schemaPath(runId))) !== null) paths.push(schemaPath(runId));
  if (salt !== null) {
    const isOurs = operationsOf(new TextDecoder().decode(salt), [actionId]);
    for (const name of await contents.list('operations')) {
      const path = `operations/${name}`;
      if (isOurs((await readable(contents, path)) ?? new Uint8Array())) paths.push(path);
    }
    paths.push(`salts/${runId}`);
  }
  for (const path of paths) await contents.delete(path);
  return paths;
}

const valuePath = (digest: string): string => `values/${digest.slice(digest.indexOf(':') + 1)}`;
