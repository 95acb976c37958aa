/**
 * A worker process that can be told to die, or to stand still, at one exact moment. Invariant: it is an ordinary worker with
 * the ordinary plugin; the signal it sends itself is the real one, and the operating system gives it no chance to clean up.
 */
import { writeSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { openContentStore } from '../../src/adapters/stores';
import { CountersignPlugin } from '../../src/plugin';
import type { EffectDefinition, EffectSink } from '../../src/ports';
import { observedStore } from './observed-store';
import { COLUMNS, definitionOf } from './sinks';
import type { WorkerEvent, WorkerMoment, WorkerOrders } from './worker-orders';

const say = (event: WorkerEvent): void => void writeSync(1, `${JSON.stringify({ event })}\n`);

const aLine = async (): Promise<void> => void (await once(process.stdin, 'data'));

/** Counts the passes of each point; answers a promise only where the order is to wait. */
function momentKeeper(moment: WorkerMoment | null): (at: WorkerMoment['at']) => void | Promise<void> {
  const passed = new Map<string, number>();
  return (at) => {
    const nth = (passed.get(at) ?? 0) + 1;
    passed.set(at, nth);
    say(at);
    if (moment === null || moment.at !== at || moment.nth !== nth) return;
    say('struck');
    if (moment.does === 'wait') return aLine();
    process.kill(process.pid, moment.does === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  };
}

/** The sink with its client's first instruction as one more moment: past every check that the engine can make. */
function observed(
  { sink, ...definition }: EffectDefinition,
  selfTest: boolean,
  pass: (at: 'in_client') => void,
): EffectDefinition {
  const dispatch: EffectSink['dispatch'] = (item, context) => {
    pass('in_client');
    return sink.dispatch(item, context);
  };
  // On top of the sink, not a copy of it: what a sink declares may depend on what its self-test has found.
  const own = selfTest ? { dispatch } : { dispatch, probe: undefined };
  return { ...definition, sink: Object.assign(Object.create(sink) as EffectSink, own) };
}

async function main(orders: WorkerOrders): Promise<void> {
  // Whoever started this process holds its standard input open: no worker outlives the matrix.
  process.stdin.on('end', () => process.exit(0)).resume();
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('WARN') });
  const pass = momentKeeper(orders.moment);
  const plugin = new CountersignPlugin({
    store: observedStore(orders.journal, () => void pass('appended')),
    contents: openContentStore(orders.contents),
    effects: [
      observed(
        definitionOf(orders.sink, orders.urls, orders.deadlineMs),
        // Where it shows nothing here it is left out: all workers of a cell would run it.
        COLUMNS[orders.sink].selfTest === true,
        (at) => void pass(at),
      ),
    ],
    at: pass,
  });
  const worker = await Worker.create({
    connection: await NativeConnection.connect({ address: orders.address }),
    namespace: orders.namespace,
    taskQueue: orders.taskQueue,
    workflowBundle: { codePath: orders.bundle },
    plugins: [plugin],
    workflowThreadPoolSize: 1,
    // A workflow task that was meant for a dead worker goes back to all others after this; the default is 10 s.
    stickyQueueScheduleToStartTimeout: '2s',
  });
  if (orders.standby) {
    say('standby');
    await aLine();
  }
  const running = worker.run();
  while (worker.getState() === 'INITIALIZED') await sleep(5);
  say('ready');
  await running;
}

main(JSON.parse(process.argv[2] ?? '{}') as WorkerOrders).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
