/**
 * Plays cells side by side. Invariant: every cell that was asked for is reported, unless its system cannot be had, which is then
 * said; and what a wrong one left behind is kept.
 */
import { ensureTemporalCli } from '../dev/temporal-cli';
import { runCell, type Cell, type CellReport } from './cell';
import { Gate } from './gate';
import type { JournalName } from './journals';
import { rowOf } from './rows';
import { isReal, REAL_SINKS } from './sinks';
import { Stage } from './stage';
import { Systems, type Skipped } from './systems';

export interface Asking {
  readonly cells: readonly Cell[];
  readonly jobs: number;
  readonly journal: JournalName;
}

export interface Played {
  readonly reports: readonly CellReport[];
  readonly skipped: readonly Skipped[];
}

/** Plays the cells, `jobs` at once, and tells each result as it comes; `total` is how many will be played. */
export async function playMatrix(
  { cells, jobs, journal }: Asking,
  tell: (report: CellReport, total: number) => void,
): Promise<Played> {
  const asked = REAL_SINKS.filter((name) => cells.some(({ sink }) => sink === name));
  const systems = await Systems.open(asked, journal);
  try {
    const { skipped } = systems;
    const played = systems.hasJournals ? cells.filter(({ sink }) => !isReal(sink) || systems.sinks.has(sink)) : [];
    return { reports: played.length === 0 ? [] : await play({ cells: played, jobs, journal }, systems, tell), skipped };
  } finally {
    await systems.close();
  }
}

async function play(
  { cells, jobs, journal }: Asking,
  systems: Systems,
  tell: (report: CellReport, total: number) => void,
): Promise<readonly CellReport[]> {
  const { path: executable } = await ensureTemporalCli({ note: (sentence) => process.stderr.write(`${sentence}\n`) });
  const stage = await Stage.open(executable, systems, journal);
  try {
    const gate = new Gate(jobs);
    return await Promise.all(
      slowFirst(cells).map((cell) =>
        gate.run(async () => {
          const report = await runCell(stage, cell);
          tell(report, cells.length);
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
