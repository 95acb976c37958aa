/**
 * Plays cells side by side. Invariant: every cell that was asked for is reported, and what a wrong one left behind is kept.
 */
import { ensureTemporalCli } from '../dev/temporal-cli';
import { runCell, type Cell, type CellReport } from './cell';
import { Gate } from './gate';
import { Stage } from './stage';

/** Plays the cells, `jobs` at once, and tells each result as it comes. */
export async function playMatrix(
  cells: readonly Cell[],
  jobs: number,
  tell: (report: CellReport) => void,
): Promise<readonly CellReport[]> {
  const { path: executable } = await ensureTemporalCli({ note: (sentence) => process.stderr.write(`${sentence}\n`) });
  const stage = await Stage.open(executable);
  let reports: readonly CellReport[] = [];
  try {
    const gate = new Gate(jobs);
    reports = await Promise.all(
      cells.map((cell) =>
        gate.run(async () => {
          const report = await runCell(stage, cell);
          tell(report);
          return report;
        }),
      ),
    );
    return reports;
  } finally {
    await stage.close();
  }
}
