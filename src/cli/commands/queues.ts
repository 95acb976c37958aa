/** `queues ls`: the queues of tools, and who takes their calls. Invariant: asks the queues only; changes nothing. */
import { toolOfQueueWorkflow } from '../../rules/invocations/names';
import type { QueueStatus } from '../../workflows/queue-messages';
import type { Register } from '../command';
import { counted, table, type Answer } from '../output';
import { connect } from '../service';
import { whole } from './sessions';

export const queuesCommand: Register = (program, act) => {
  const queues = program.command('queues').description('the queues of tools');
  queues
    .command('ls')
    .description('list the queues of a namespace: calls that wait and run, capacity, workers')
    .option('--limit <count>', 'look at so many at most', '100')
    .action(act('queues ls', (_context, { limit }: { readonly limit: string }) => list(whole(limit, 'limit'))));
};

async function list(most: number): Promise<Answer> {
  const service = await connect({ taskQueue: '' });
  try {
    const { workflow } = service.client;
    const ids = await service.soon(async () => {
      const found: string[] = [];
      for await (const { workflowId } of workflow.list({
        query: "WorkflowType = 'toolQueue' AND ExecutionStatus = 'Running'",
      })) {
        if (toolOfQueueWorkflow(workflowId) !== null) found.push(workflowId);
        if (found.length >= most) break;
      }
      return found;
    });
    const queues = await Promise.all(
      ids.map(async (id) => {
        // One whose workers are all gone answers nobody; it is listed all the same.
        const status = await service.soon(() => workflow.getHandle(id).query<QueueStatus>('queue')).catch(() => null);
        return { queue: id.slice(id.indexOf('/') + 1), status };
      }),
    );
    const rows = queues.map(({ queue, status }) =>
      status === null
        ? [queue, 'no worker answers for it', '', '', '']
        : [
            queue,
            `${status.waiting.length} waiting`,
            `${status.running.length} running`,
            `capacity ${status.capacity}`,
            counted(status.workers.length, 'worker'),
          ],
    );
    return { data: { queues }, lines: [counted(queues.length, 'queue'), ...table(rows)] };
  } finally {
    await service.close();
  }
}
