import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { buy } from './workflows';

async function main(): Promise<void> {
  const connection = await Connection.connect(loadClientConnectConfig().connectionOptions);
  const { workflow } = new Client({ connection });
  const [workflowId = '', item = 'piano'] = process.argv.slice(2);
  console.log(await workflow.execute<typeof buy>('buy', { workflowId, taskQueue: 'existing-app', args: [item] }));
  await connection.close();
}

void main();
