/** How results are shown. Invariant: a wrong cell is seen in the table itself, and explained below it. */
import type { Run } from './arguments';
import type { CellReport } from './cell';
import { FAULT_NAMES, rowOf } from './rows';
import type { Skipped } from './systems';
import { JOURNALS, JOURNAL_NAMES } from './journals';
import { COLUMNS, EMBEDDED_SINKS, REAL_SINKS, SINK_NAMES } from './sinks';

export function names(): string {
  const width = Math.max(...FAULT_NAMES.map((name) => name.length));
  const line = (name: string, about: string): string => `  ${name.padEnd(width)}  ${about}`;
  return [
    'sinks',
    ...SINK_NAMES.map((name) => line(name, COLUMNS[name].about)),
    'journals',
    ...JOURNAL_NAMES.map((name) => line(name, JOURNALS[name].about)),
    'faults',
    ...FAULT_NAMES.map((name) => line(name, rowOf(name).about)),
  ].join('\n');
}

/** Columns that nobody asked for, so that nobody takes them for played. */
export function leftOut({ cells }: Pick<Run, 'cells'>): readonly Skipped[] {
  const played = new Set(cells.map(({ sink }) => sink));
  if (!EMBEDDED_SINKS.every((sink) => played.has(sink))) return []; // columns were named
  return REAL_SINKS.filter((sink) => !played.has(sink)).map((name) => ({
    name,
    missing: 'a real system; add --systems to play it',
  }));
}

/** One cell in a few words: what it came to, the writes of each effect, the time from the fault to the end. */
export function shown({ verdict, writes, tookMs }: CellReport): string {
  const state = verdict.right ? (verdict.excepted ? 'EXCEPTION' : verdict.review ? 'review' : 'done') : 'WRONG';
  return `${state} ${writes.join('/')} ${(tookMs / 1000).toFixed(1)}s`;
}

export function table(reports: readonly CellReport[]): string {
  const faults = FAULT_NAMES.filter((fault) => reports.some((report) => report.fault === fault));
  const sinks = SINK_NAMES.filter((sink) => reports.some((report) => report.sink === sink));
  const cellOf = (fault: string, sink: string): string => {
    const report = reports.find((one) => one.fault === fault && one.sink === sink);
    return report === undefined ? '' : shown(report);
  };
  const rows = [['fault', ...sinks], ...faults.map((fault) => [fault, ...sinks.map((sink) => cellOf(fault, sink))])];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export function remarks(reports: readonly CellReport[]): string {
  const wrong = reports
    .filter(({ verdict }) => !verdict.right)
    .map(({ fault, sink, verdict, folder }) => `WRONG ${fault} × ${sink}: ${verdict.why.join('; ')} (${folder})`);
  const excepted = reports
    .filter(({ verdict }) => verdict.excepted)
    .map(
      ({ fault, sink }) =>
        `EXCEPTION ${fault} × ${sink}: a process paused inside the client of a sink that does not enforce keys did ` +
        'write twice, as docs/guarantees.md says that it can',
    );
  const notes = reports.flatMap(({ fault, sink, notes: told }) =>
    told.map((note) => `note ${fault} × ${sink}: ${note}`),
  );
  return [...notes, ...excepted, ...wrong].join('\n');
}
