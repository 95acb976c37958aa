/**
 * One section of a document, from its first check to the recheck of what was changed: `main.ts`. It starts a worker, and acts as
 * the writer; what a person signs, it lets the command line sign, as a person would.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, Runtime, Worker, DefaultLogger } from '@temporalio/worker';
import { CountersignPlugin, initJournal, readContent } from 'countersign';
import { VerificationClient, type RunStatus, type VerificationHandle } from 'countersign/client';
import { KeyFolder, reviewersFromFile } from 'countersign/reviewers';
import { fileStore } from 'countersign/stores';
import { checks } from './checks';
import { captureOf, draftOf, GOAL, PROTECTED, SECTION } from './document';
import { launchers } from './launchers';

const PERSON = 'person:example.org/writer';
const ROLE = 'role:example.org/writer';
const TASK_QUEUE = 'document-verification';
const TEXT = path.join(__dirname, '..', 'text.md');
const COMMAND = path.join(path.dirname(require.resolve('countersign/package.json')), 'lib/cli/main.js');

const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Edit {
  readonly find: string;
  readonly replace: string;
}

async function main(): Promise<void> {
  const journal = process.env.COUNTERSIGN_JOURNAL ?? 'journal';
  const stores = {
    store: fileStore(journal, { createRoot: true }),
    contents: fileStore(process.env.COUNTERSIGN_CONTENTS ?? `${journal}-contents`, { createRoot: true }),
  };
  await initJournal(stores.store);
  const keys = `${journal}-keys`;
  const reviewers = reviewersFromFile(await makeKey(keys));
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const native = await NativeConnection.connect(connectionOptions);
  const worker = await Worker.create({
    ...{ connection: native, namespace, taskQueue: TASK_QUEUE },
    workflowsPath: require.resolve('./workflows'),
    plugins: [new CountersignPlugin({ ...stores, reviewers, checks, launchers })],
  });
  const connection = await Connection.connect(connectionOptions);
  const client = new Client({ connection, namespace });
  const runs = new VerificationClient({ client, ...stores, taskQueue: TASK_QUEUE });
  const authorize = async (handle: VerificationHandle): Promise<RunStatus> => {
    for (let wants = await handle.wanted(); wants !== null; wants = await handle.wanted()) {
      const job = (await handle.status()).jobs.find(({ job_id: id }) => id === wants?.job_id);
      say(
        `  the writer authorizes one launch: ${job?.criterion ?? 'the coordinator'}, at most ${String(wants.claims.cost_ceiling)} unit`,
      );
      await promisify(execFile)(process.execPath, [
        COMMAND,
        'verify-run',
        'authorize',
        handle.runId,
        '--key',
        'writer',
        '--keys',
        keys,
      ]);
    }
    return handle.result();
  };
  try {
    await worker.runUntil(story(runs, stores.contents, authorize, `${journal}-corrected.md`));
  } finally {
    await connection.close();
    await native.close();
  }
}

async function story(
  runs: VerificationClient,
  contents: Parameters<typeof readContent>[0],
  authorize: (handle: VerificationHandle) => Promise<RunStatus>,
  corrected: string,
): Promise<void> {
  const text = await readFile(TEXT, 'utf8');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'));
  say(`checking "${SECTION}" of text.md`);
  const captured = captureOf(TEXT, text);
  const prepared = await runs.prepare(draftOf(PERSON, captured, headings));
  const checked = await authorize(await runs.start(prepared));
  tell(checked);

  const output = checked.jobs.at(-1)?.output ?? '';
  const { content } = (await readContent(contents, { countersign_ref: output })) as { content: { edits: Edit[] } };
  const section = String(captured.target);
  const better = content.edits.reduce((before, { find, replace }) => applied(before, find, replace), section);
  const edited = text.replace(section, () => better);
  await writeFile(corrected, edited);
  const proposals = checked.proposals.map(({ proposal_id: id }) => id);
  const [owed] = await runs.apply(checked.run_id, { person: PERSON, proposals });
  say(`the writer applies ${proposals.length} proposals; owed: ${owed?.state ?? 'nothing'}`);
  if (owed === undefined) return;

  say('checking again what was found');
  const capture = captureOf(TEXT, edited);
  const asked = { person: PERSON, intentId: owed.intentId, capture, goal: GOAL, protectedIntent: PROTECTED };
  tell(await authorize(await runs.recheck(asked)));
  const [after] = await runs.obligations(checked.run_id);
  say(`owed: ${after?.state ?? 'nothing'}`);
  const again = await (await runs.recheck(asked)).result();
  say(`asked again: the same run, ${again.replayed ? 'nothing was launched' : 'launched'}`);
}

function tell({ outcome, proposals, results }: RunStatus): void {
  for (const { criterion, outcome: found, job_id: job } of results) {
    say(`  ${criterion.padEnd(8)} ${found.padEnd(9)} ${job === null ? 'in the worker' : 'launched'}`);
  }
  say(`${outcome ?? 'open'}, ${proposals.length} proposals`);
}

/** Where the text stands, whatever its lines are broken by. */
function applied(text: string, find: string, replace: string): string {
  const words = find.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return text.replace(new RegExp(words.join('\\s+')), () => replace);
}

/** The writer's own key, made at the first start, and the file by which workers know it. */
async function makeKey(folder: string): Promise<string> {
  const keys = new KeyFolder(folder);
  if (!(await keys.list()).some(({ name }) => name === 'writer')) await keys.make('writer', PERSON, [ROLE]);
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'keys', 'export', '--keys', folder]);
  const file = `${folder}/reviewers.json`;
  await writeFile(file, stdout);
  return file;
}

main().catch((fault: unknown) => {
  process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exit(1);
});
