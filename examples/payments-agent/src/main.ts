/**
 * An agent that pays invoices: one payment by itself, one with the treasurer's approval, one that it must not make, and one over which its
 * worker dies. What a person signs, it lets the command line sign, as a person would.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { CountersignPlugin, initJournal } from 'countersign';
import { SessionClient, type SessionHandle } from 'countersign/client';
import { KeyFolder, reviewersFromFile } from 'countersign/reviewers';
import { fileStore } from 'countersign/stores';
import { model } from './agent';
import { openBank } from './bank';
import { pay, TASK_QUEUE, toolPolicies, TREASURER } from './tools';

const SESSION = `invoices-${Date.now().toString(36)}`;
const COMMAND = path.join(path.dirname(require.resolve('countersign/package.json')), 'lib/cli/main.js');
const JOURNAL = process.env.COUNTERSIGN_JOURNAL ?? 'journal';
const KEYS = `${JOURNAL}-keys`;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const stores = {
    store: fileStore(JOURNAL, { createRoot: true }),
    contents: fileStore(process.env.COUNTERSIGN_CONTENTS ?? `${JOURNAL}-contents`, { createRoot: true }),
  };
  await initJournal(stores.store);
  const reviewers = reviewersFromFile(await makeKey());
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig();
  const native = await NativeConnection.connect(connectionOptions);
  const worker = await Worker.create({
    ...{ connection: native, namespace, taskQueue: TASK_QUEUE },
    workflowsPath: require.resolve('./workflows'),
    plugins: [new CountersignPlugin({ ...stores, reviewers, models: [model], tools: [pay], toolPolicies })],
  });
  const connection = await Connection.connect(connectionOptions);
  const client = new Client({ connection, namespace });
  const sessions = new SessionClient({ client, ...stores, taskQueue: TASK_QUEUE });
  try {
    await worker.runUntil(story(sessions));
  } finally {
    await connection.close();
    await native.close();
  }
}

async function story(sessions: SessionClient): Promise<void> {
  const bank = await openBank();
  let tools = startToolWorker(bank.url);
  try {
    const session = await sessions.start({
      session: SESSION,
      agentVersion: '1',
      model: 'scripted',
      tools: [{ tool: 'pay', version: '1.0.0' }],
      instructions: 'Pay what is due.',
      message: 'Pay the open invoices.',
      kind: 'child',
    });
    const dying = bank.silentAbout('the landlord');
    const telling = tell(session);
    const large = await waiting(session, 'awaiting_approval');
    say('the treasurer approves');
    await countersign('approvals', 'approve', large.run_id, '--role', TREASURER);

    await dying;
    await sleep(1_000); // what came before is told first
    say('the worker dies: the bank has booked the payment, and nobody has heard of it');
    tools.kill('SIGKILL');
    tools = startToolWorker(bank.url);
    const lost = await waiting(session, 'indeterminate');
    say('nothing is paid twice; the treasurer looks at the account, and says that it is paid');
    const said = ['--as', 'mark_succeeded', '--role', TREASURER];
    await countersign('invocations', 'resolve', lost.call_id, ...said, '--journal', JOURNAL);

    await session.result();
    await telling;
    say(`the bank has booked: ${bank.booked.join(', ')}`);
  } finally {
    tools.kill();
    bank.close();
  }
}

/** What happens, as it happens. */
async function tell(session: SessionHandle): Promise<void> {
  const names = new Map<string, string>();
  for await (const { type, body, content } of session.attach()) {
    const call = String(body['call_id']);
    if (type === 'tool.requested') {
      const { to, amount } = content as { to: string; amount: number };
      names.set(call, `${amount} to ${to}`);
    } else if (type === 'message.user') say(`user: ${String(content)}`);
    else if (type === 'message.assistant') say(`agent: ${String(content)}`);
    else if (type === 'approval.required') say(`  ${names.get(call)}: waits for an approval`);
    else if (type === 'tool.policy_denied') say(`  ${names.get(call)}: refused by "${String(body['rule'])}"`);
    else if (type === 'tool.indeterminate') say(`  ${names.get(call)}: nobody knows`);
    else if (type === 'tool.completed') say(`  ${names.get(call)}: ${String(body['status'])}`);
  }
}

/** The first call that has come to this, once the session waits for people alone and all of it was told. */
async function waiting(
  session: SessionHandle,
  wanted: 'awaiting_approval' | 'indeterminate',
): Promise<{ readonly call_id: string; readonly run_id: string }> {
  for (;;) {
    const { status, calls } = await session.status();
    const found = calls.find((call) => call.status === wanted);
    if (found !== undefined && status === 'awaiting_approval') {
      await sleep(1_000);
      return found;
    }
    await sleep(500);
  }
}

function startToolWorker(bankUrl: string): ChildProcess {
  const env = { ...process.env, BANK_URL: bankUrl };
  // Node itself, not a shell around it: what is killed is the worker.
  return spawn(process.execPath, ['--require', require.resolve('tsx/cjs'), path.join(__dirname, 'tool-worker.ts')], {
    env,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
}

/** As a person would: until the question is there. */
async function countersign(...args: readonly string[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await promisify(execFile)(process.execPath, [COMMAND, ...args, '--key', 'treasurer', '--keys', KEYS]);
      return;
    } catch (fault) {
      if (tries === 20) throw fault;
      await sleep(1_000);
    }
  }
}

/** The treasurer's key, made at the first start, and the file by which workers know it. */
async function makeKey(): Promise<string> {
  const keys = new KeyFolder(KEYS);
  const known = (await keys.list()).some(({ name }) => name === 'treasurer');
  if (!known) await keys.make('treasurer', 'person:example.org/treasurer', [TREASURER]);
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'keys', 'export', '--keys', KEYS]);
  const file = `${KEYS}/reviewers.json`;
  await writeFile(file, stdout);
  return file;
}

main().catch((fault: unknown) => {
  process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n`);
  process.exit(1);
});
