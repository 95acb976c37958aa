/**
 * `npm run kill-matrix`: kills and faults at every moment of a plan, against every kind of sink, on a real Temporal server
 * with real processes. Invariant: it ends with 0 only when every cell that was asked for was played and is right.
 */
import { readArguments } from './arguments';
import { playMatrix } from './play';
import { leftOut, names, remarks, shown, table } from './table';
import { totals, type Totals } from './verdict';

export async function main(argv: readonly string[]): Promise<number> {
  const asked = readArguments(argv);
  switch (asked.ask) {
    case 'refused':
      console.error(asked.why);
      return 2;
    case 'list':
      console.log(names());
      return 0;
    case 'run': {
      const started = performance.now();
      let done = 0;
      const { reports, skipped } = await playMatrix(asked, (report, total) => {
        done += 1;
        console.log(`${String(done).padStart(3)}/${total}  ${report.fault} × ${report.sink}: ${shown(report)}`);
      });
      const sum: Totals = totals(reports.map(({ verdict }) => verdict));
      console.log(`\n${table(reports)}\n\n${remarks(reports)}`.trimEnd());
      for (const { name, missing } of [...skipped, ...leftOut(asked)]) console.log(`skipped: ${name}: ${missing}`);
      const without = skipped.length === 0 ? '' : `; skipped ${skipped.map(({ name }) => name).join(', ')}`;
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      console.log(
        `${sum.cells} cells, ${sum.wrong} wrong, ${sum.duplicates} duplicates, ${sum.lost} lost, ${sum.reviews} reviews in ${seconds} s${without}`,
      );
      if (asked.json) {
        const { journal } = asked;
        console.log(JSON.stringify({ ...sum, journal, skipped: skipped.map(({ name }) => name) }));
      }
      return sum.wrong === 0 ? 0 : 1;
    }
  }
}

if (require.main === module) {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => process.exit(code));
  }
  void main(process.argv.slice(2)).then(
    (code) => process.exit(code),
    (fault: unknown) => {
      console.error(fault instanceof Error ? (fault.stack ?? fault.message) : String(fault));
      process.exit(1);
    },
  );
}
