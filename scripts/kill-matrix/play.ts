/**
 * Plays cells side by side. Invariant: every cell that was asked for is reported, and what a wrong one left behind is kept.
 */
import { ensureTemporalCli } from '../dev/temporal-cli';
import { runCell, type Cell, type CellReport } from './cell';
import { Gate } from './gate';
import { rowOf } from './rows';
import { Stage } from './stage';

/** Plays the cells, `jobs` at once, and tells each result as it comes. */
export async function playMatrix(
  cells: readonly Cell[],
  jobs: number,
  tell: (report: CellReport) => void,
): Promise<readonly CellReport[]> {
  const { path: executable } = await ensureTemporalCli({ note: (sentence) => process.stderr.write(`${sentence}\n`) });
  const stage = await Stage.open(executable);
  try {
    const gate = new Gate(jobs);
    return await Promise.all(
      slowFirst(cells).map((cell) =>
        gate.run(async () => {
          const report = await runCell(stage, cell);
          tell(report);
          return report;
        }),
      ),
    );
  } finally {
    await stage.close();
  }
}

function slowFirst(cells: readonly Cell[]): readonly Cell[] {
  const isSlow = ({ fault }: Cell): boolean => rowOf(fault).slow === true;
  return [...cells.filter(isSlow), ...cells.filter((cell) => !isSlow(cell))];
}
