/**
 * The client: reads a plan, starts it, and prints what became of every effect. Starting it twice sends nothing twice.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { PlanClient } from 'countersign/client';
import { fileStore } from 'countersign/stores';

async function main(): Promise<void> {
  const contents = process.env.COUNTERSIGN_CONTENTS;
  if (!contents) throw new Error('COUNTERSIGN_CONTENTS is not set; see README.md of this example');
  const { connectionOptions, namespace } = loadClientConnectConfig();
  const connection = await Connection.connect(connectionOptions);
  const plans = new PlanClient({
    client: new Client({ connection, namespace: namespace ?? 'default' }),
    contents: fileStore(contents),
    taskQueue: process.env.COUNTERSIGN_TASK_QUEUE ?? 'countersign',
  });
  const draft: unknown = JSON.parse(readFileSync(path.resolve(__dirname, '../plan.json'), 'utf8'));
  const outcome = await plans.execute(await plans.prepare(draft));
  for (const effect of outcome.effects) process.stdout.write(`${effect.state.padEnd(10)} ${effect.tool_id}\n`);
  process.stdout.write(`${outcome.status}${outcome.replayed ? ' (replayed)' : ''}\n`);
  await connection.close();
}

main().catch((fault: unknown) => {
  // What a plan failed with is the cause: its message says why, and what to do.
  const reason = fault instanceof WorkflowFailedError ? fault.cause : fault;
  process.stderr.write(`${reason instanceof Error ? reason.message : String(reason)}\n`);
  process.exit(1);
});
