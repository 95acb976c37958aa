/**
 * `npm run queue-storm -- [calls]`: the storm of `storm.test.ts` with two thousand calls, or so many; a worker is killed every five
 * seconds. It prints what it measured, and fails when anything is lost, doubled, overtaken or left.
 */
import { QueueStand } from './stand';
import { BOUND, storm } from './storm';

async function main(calls: number): Promise<boolean> {
  const stand = new QueueStand();
  await stand.open();
  try {
    const tool = stand.tool();
    const size = { calls, workers: 4, slots: 4, killEveryMs: 5_000, sessions: 20, renewAnyhow: 3_000, ms: 20 };
    const { ends, ...report } = await storm(stand, tool, size);
    const completed = ends.filter(({ phase }) => phase === 'completed').length;
    console.log(JSON.stringify({ size, completed, ...report, callsPerSecond: calls / report.seconds }, null, 2));
    const { failures } = await stand.replay([stand.queue(tool).workflowId]);
    return (
      [completed, report.done, report.begun].every((count) => count === calls) &&
      report.left.waiting + report.left.running + report.overtaken.length + failures.length === 0 &&
      report.mostInWorker <= size.slots &&
      report.mostWaiting <= BOUND &&
      report.renewals >= 3
    );
  } finally {
    await stand.close();
  }
}

main(Number(process.argv[2] ?? 2_000)).then(
  (good) => process.exit(good ? 0 : 1),
  (fault: unknown) => {
    console.error(fault);
    process.exit(1);
  },
);
