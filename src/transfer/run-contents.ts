/**
 * What of a content store belongs to one run, found from what its journal says of it. Invariant: a salt of launches and checks goes along
 * only with something that was made with it, so one that was exchanged in an export belongs to nothing there; other runs' contents stay.
 */
import { Journal } from '../activities/journal';
import { answerKey, documentScope } from '../activities/run-contents';
import { runKind, type RunKind } from '../activities/run-kind';
import { StoreError, type Store } from '../ports';
import { resultsOf } from '../rules/plans/envelope';
import { Refusal } from '../rules/refusal';
import type { RunBook } from '../rules/verification/run-book';

type Read = (path: string) => Promise<Uint8Array | null>;

const hex = (digest: string): string => digest.slice(digest.indexOf(':') + 1);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
/** What was put by itself, or came of an effect: a digest does not tell which. */
const eitherOf = (digest: string): readonly string[] => [`values/${hex(digest)}`, `results/${hex(digest)}`];

/** Those that are there, in byte order. */
export async function contentEntries(journal: Store, contents: Store, runId: string): Promise<readonly string[]> {
  const read: Read = (path) => contents.read(path);
  const present: string[] = [];
  for (const path of await contentPaths(journal, read, runId)) if ((await read(path)) !== null) present.push(path);
  const kind = await runKind(journal, runId);
  if (kind === 'plan') return present;
  const calls = kind === 'launch' ? await callsOf(contents, runId) : [];
  for (const captureId of calls) present.push(`launches/${captureId}`, `salts/${captureId}`);
  const results = present.filter((path) => path.startsWith('results/'));
  const [answers, keys] = [await answersOf(journal, runId), await keysOf(journal, runId)];
  const needed: string[] = [];
  for (const path of present) {
    const answer = answers.find((key) => path === `recalled/${key}`);
    if (answer !== undefined && !(await names(contents, path, runId, answer))) continue;
    if (path.startsWith('salts/') && !(await madeAny(contents, path, [...keys, ...answers], results))) continue;
    needed.push(path);
  }
  return needed.sort();
}

/** Of an exported run. Throws `Refusal` where anything beside it is not of that run. */
export async function exportedContents(journal: Store, contents: Store, runId: string): Promise<readonly string[]> {
  const paths = await contentEntries(journal, contents, runId);
  const known = new Set(paths);
  for (const folder of await contents.list('')) {
    const all = (await contents.list(folder)).map((name) => `${folder}${name}`);
    const other = all.find((path) => !known.has(path));
    if (other !== undefined) throw new Refusal('invalid_record', 'is not of the run that was exported', other);
    if (folder === 'launches/' && all.length > 1) throw new Refusal('invalid_record', 'is more than one call', folder);
  }
  return paths;
}

/** Where they stand as far as the journal leads there; in byte order. `read` answers null for what is not there. */
export async function contentPaths(journal: Store, read: Read, runId: string): Promise<readonly string[]> {
  const kind = await runKind(journal, runId);
  const named = kind === null ? [] : await NAMED[kind](journal, read, runId);
  return [...new Set([`salts/${runId}`, ...named])].sort();
}

const NAMED: Readonly<Record<RunKind, (journal: Store, read: Read, runId: string) => Promise<readonly string[]>>> = {
  plan: ofPlan,
  launch: (journal, _read, runId) => ofJobs(journal, runId),
  verification: async (journal, read, runId) => [
    ...(await ofJobs(journal, runId)),
    ...(await ofRun(await bookOf(journal, runId), read)),
  ],
};

async function ofPlan(journal: Store, read: Read, runId: string): Promise<readonly string[]> {
  const from = new Journal(journal);
  const plan = await from.plan(runId);
  const paths = (plan?.effects ?? []).map(({ operationDigest }) => `operations/${hex(operationDigest)}`);
  for (const key of await from.keysWithSlots(runId)) {
    paths.push(...(await recalled(read, key)));
    for (const { end } of await from.slots(runId, key)) {
      if (end?.resultDigest != null) paths.push(`results/${hex(end.resultDigest)}`);
    }
  }
  return paths;
}

/** What workers were shown, and what they said. */
async function ofJobs(journal: Store, runId: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const jobId of await jobsOf(journal, runId)) {
    const files = new Journal(journal).job(runId, jobId);
    const [order, outcome] = await Promise.all([files.order(), files.outcome()]);
    if (order !== null) paths.push(...eitherOf(order.contextDigest));
    if (outcome?.outcome === 'submitted') paths.push(...eitherOf(outcome.submission));
  }
  return paths;
}

/** What was captured, asked and protected, how its checks are configured, and what those in the worker said. */
async function ofRun(book: RunBook, read: Read): Promise<readonly string[]> {
  const { snapshot, plan } = book.must.run;
  const paths = [...sharedBy(book), ...ownOf(book)].flatMap(eitherOf);
  paths.push(`salts/${documentScope(snapshot.selector.source)}`);
  for (const [place, { configurationSha256 }] of plan.checks.entries()) {
    paths.push(`configurations/${hex(configurationSha256)}`, ...(await recalled(read, answerKey(book.runId, place))));
  }
  return paths;
}

/** Under the salt of the document: what was captured, asked and protected. */
export function sharedBy({ must: { run }, affirmations }: RunBook): readonly string[] {
  const asked = [{ snapshot: run.snapshot, ...run.input }, ...affirmations];
  return asked.flatMap(({ snapshot, goalDigest, protectedIntentDigest }) => [
    ...[snapshot.contentDigest, snapshot.targetDigest, goalDigest],
    ...(protectedIntentDigest === null ? [] : [protectedIntentDigest]),
  ]);
}

/** Under the salt of the run: what its workers were shown, and what they said. */
export function ownOf({ jobs, outputs }: RunBook): readonly string[] {
  return [...[...jobs.values()].map(({ contextDigest }) => contextDigest), ...outputs.values()];
}

async function jobsOf(journal: Store, runId: string): Promise<readonly string[]> {
  return (await journal.list(`${runId}/jobs`)).map((name) => name.replace(/\/$/, ''));
}

async function bookOf(journal: Store, runId: string): Promise<RunBook> {
  const from = new Journal(journal);
  return from.run(runId).book(await from.id());
}

async function recalled(read: Read, key: string): Promise<readonly string[]> {
  const path = `recalled/${key}`;
  const named = await read(path);
  return named === null ? [path] : [path, `results/${hex(textOf(named))}`];
}

/** The call that a launch is: it names its context, and keeps its id from being used for another. */
async function callsOf(contents: Store, runId: string): Promise<readonly string[]> {
  const calls: string[] = [];
  for (const captureId of await contents.list('launches')) {
    const named = await readable(contents, `launches/${captureId}`);
    if (named !== null && textOf(named) === runId) calls.push(captureId);
  }
  return calls;
}

/** Null also of what does not open any more: it may be of any run. */
export async function readable(contents: Store, path: string): Promise<Uint8Array | null> {
  try {
    return await contents.read(path);
  } catch (fault) {
    if (fault instanceof StoreError && fault.code === 'store_unsafe_entry') return null;
    throw fault;
  }
}

/** Under which workers were shown something, or said it, and what an author or a person gave was kept. */
async function keysOf(journal: Store, runId: string): Promise<readonly string[]> {
  const jobs = (await jobsOf(journal, runId)).flatMap((jobId) => [jobId, `context-${jobId}`]);
  return [...jobs, 'context', 'content', 'target', 'goal', 'intent'];
}

async function answersOf(journal: Store, runId: string): Promise<readonly string[]> {
  if ((await runKind(journal, runId)) !== 'verification') return [];
  const { must } = await bookOf(journal, runId);
  return must.run.plan.checks.map((_check, place) => answerKey(runId, place));
}

/** Whether what is recalled under this key is a result that was made under it. */
async function names(contents: Store, path: string, runId: string, key: string): Promise<boolean> {
  const digest = await contents.read(path);
  if (digest === null) return false;
  return madeAny(contents, `salts/${runId}`, [key], [`results/${hex(textOf(digest))}`]);
}

async function madeAny(
  contents: Store,
  saltPath: string,
  keys: readonly string[],
  results: readonly string[],
): Promise<boolean> {
  const salt = await contents.read(saltPath);
  if (salt === null) return false;
  const isOurs = resultsOf(textOf(salt), keys);
  for (const path of results) if (isOurs((await contents.read(path)) ?? new Uint8Array())) return true;
  return false;
}
