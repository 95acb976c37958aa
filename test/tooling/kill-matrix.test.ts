/**
 * Properties of the kill matrix's own rules:
 * - a right cell never has an effect written more often than once, apart from the stated exception, which has no third write;
 * - a right cell that completed has every effect at its sink; only where nobody can know may a cell end in review;
 * - a hang, a failure, a late end and every remark of the audit make a cell wrong;
 * - only the sink without look-up may ask, and only the sinks that do not enforce keys may write twice after a pause;
 * - where a journal shows what is written together at once, "after the append" is in doubt, and only there;
 * - an unknown option or name is refused in one sentence before anything starts; every cell that needs no system is asked for by
 *   default, with --systems every cell, and what nobody asked for is said;
 * - the table shows every column that was played, and no other.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readArguments, type Run } from '../../scripts/kill-matrix/arguments';
import { rulesOf } from '../../scripts/kill-matrix/cell';
import type { JournalName } from '../../scripts/kill-matrix/journals';
import { main } from '../../scripts/kill-matrix/main';
import { FAULT_NAMES, rowOf } from '../../scripts/kill-matrix/rows';
import { EMBEDDED_SINKS, REAL_SINKS, SINK_NAMES, type SinkName } from '../../scripts/kill-matrix/sinks';
import { leftOut, names, table } from '../../scripts/kill-matrix/table';
import { judgeCell, totals, type CellEnd, type CellFacts, type CellRules } from '../../scripts/kill-matrix/verdict';

const ENDS = ['completed', 'parked', 'failed', 'hung'] as const satisfies readonly CellEnd[];
const STRICT: CellRules = { mayPark: false, mayDuplicate: false, boundMs: 1_000 };
const GOOD: CellFacts = { end: 'completed', writes: [1, 1, 1], tookMs: 10, problems: [] };

const anyFacts = fc.record({
  end: fc.constantFrom(...ENDS),
  writes: fc.array(fc.nat(3), { minLength: 1, maxLength: 4 }),
  tookMs: fc.nat(2_000),
  problems: fc.array(fc.constantFrom('a remark'), { maxLength: 1 }),
});
const anyRules = fc.record({ mayPark: fc.boolean(), mayDuplicate: fc.boolean(), boundMs: fc.constant(1_000) });

test('whatever happened, a right cell kept the promise', () => {
  fc.assert(
    fc.property(anyFacts, anyRules, (facts, rules) => {
      const verdict = judgeCell(facts, rules);
      expect(verdict.right).toBe(verdict.why.length === 0);
      if (!verdict.right) return;
      expect(Math.max(...facts.writes)).toBeLessThanOrEqual(rules.mayDuplicate ? 2 : 1);
      expect(facts.end === 'completed' || (facts.end === 'parked' && rules.mayPark)).toBe(true);
      if (facts.end === 'completed') expect(Math.min(...facts.writes)).toBeGreaterThan(0);
      expect(facts.tookMs).toBeLessThanOrEqual(rules.boundMs);
      expect(facts.problems).toEqual([]);
      expect([verdict.duplicates, verdict.lost]).toEqual([0, 0]);
      expect(verdict.excepted).toBe(Math.max(...facts.writes) === 2);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  [{}, STRICT, true],
  [{ end: 'parked', writes: [1, 0, 0] }, { ...STRICT, mayPark: true }, true],
  [{ end: 'parked', writes: [1, 0, 0] }, STRICT, false],
  [{ end: 'parked', writes: [1, 2, 0] }, { ...STRICT, mayPark: true }, false],
  [{ end: 'hung' }, STRICT, false],
  [{ end: 'failed' }, STRICT, false],
  [{ tookMs: 1_001 }, STRICT, false],
  [{ problems: ['checkpoint 1 has no witness'] }, STRICT, false],
  [{ writes: [1, 0, 1] }, STRICT, false],
  [{ writes: [1, 2, 1] }, STRICT, false],
  [{ writes: [1, 2, 1] }, { ...STRICT, mayDuplicate: true }, true],
  [{ writes: [1, 3, 1] }, { ...STRICT, mayDuplicate: true }, false],
] as const)('%j under %j is right: %s', (facts, rules, right) => {
  expect(judgeCell({ ...GOOD, ...facts }, rules).right).toBe(right);
});

test('the sum counts what went wrong, and the stated exception as no duplicate', () => {
  const excepting = { ...STRICT, mayDuplicate: true };
  const verdicts = [
    judgeCell(GOOD, STRICT),
    judgeCell({ ...GOOD, writes: [1, 2, 0] }, STRICT),
    judgeCell({ ...GOOD, writes: [1, 2, 1] }, excepting),
    judgeCell({ ...GOOD, end: 'parked', writes: [1, 0, 0] }, { ...STRICT, mayPark: true }),
    judgeCell({ ...GOOD, end: 'hung', writes: [1, 0, 0] }, STRICT),
  ];
  expect(totals(verdicts)).toEqual({ cells: 5, wrong: 2, duplicates: 1, lost: 3, reviews: 1 });
});

test('who may ask, and who may write twice', () => {
  const allowed = (rule: 'mayPark' | 'mayDuplicate'): Set<string> =>
    new Set(
      FAULT_NAMES.flatMap((fault) => SINK_NAMES.map((sink) => ({ fault, sink })))
        .filter((cell) => rulesOf(cell)[rule])
        .map(({ fault, sink }) => (rule === 'mayPark' ? sink : `${fault} ${sink}`)),
    );
  expect(allowed('mayPark')).toEqual(new Set(['blind']));
  expect(allowed('mayDuplicate')).toEqual(new Set(['paused-in-client lookup', 'paused-in-client blind']));
  const doubtful = (journal: JournalName): readonly string[] =>
    FAULT_NAMES.filter((fault) => rulesOf({ fault, sink: 'blind' }, journal).mayPark);
  const onlyJoint = ['after-append-1', 'after-append-2'];
  expect(doubtful('s3')).toEqual(doubtful('files'));
  expect(doubtful('postgres').filter((fault) => !doubtful('files').includes(fault))).toEqual(onlyJoint);
  for (const fault of [
    'before-append-1',
    'after-append-2',
    'after-end',
    'after-completion',
    'server-restart',
  ] as const) {
    expect(rowOf(fault).inDoubt).toBe(false);
  }
});

test('the table', () => {
  const verdict = judgeCell(GOOD, STRICT);
  const report = { verdict, tookMs: 1_000, writes: [1, 1, 1], notes: [], folder: null } as const;
  const shown = table([
    { ...report, fault: 'late-commit', sink: 's3' },
    { ...report, fault: 'after-slot', sink: 'blind' },
  ]);
  expect(shown.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['fault', 'blind', 's3'],
    ['after-slot', 'done 1/1/1 1.0s'],
    ['late-commit', 'done 1/1/1 1.0s'],
  ]);
});

test('arguments', () => {
  expect(readArguments([])).toMatchObject({ ask: 'run', json: false, journal: 'files' });
  const asked = (...argv: string[]): Run => {
    const run = readArguments(argv);
    if (run.ask !== 'run') throw new Error('was not taken');
    return run;
  };
  const sinks = (...argv: string[]): readonly SinkName[] => [...new Set(asked(...argv).cells.map(({ sink }) => sink))];
  expect(asked('--json')).toMatchObject({ json: true, cells: { length: FAULT_NAMES.length * EMBEDDED_SINKS.length } });
  expect(sinks()).toEqual(EMBEDDED_SINKS);
  expect(sinks('--systems')).toEqual(SINK_NAMES);
  expect(sinks('--sink', 's3,blind,s3')).toEqual(['blind', 's3']);
  expect(asked('--fault', 'after-slot,late-commit').cells.length).toBe(2 * EMBEDDED_SINKS.length);
  expect(asked('--journal', 's3').journal).toBe('s3');
  expect(leftOut(asked()).map(({ name }) => name)).toEqual(REAL_SINKS);
  expect(leftOut(asked('--systems'))).toEqual([]);
  expect(leftOut(asked('--sink', 'blind'))).toEqual([]);
  for (const name of [...SINK_NAMES, ...FAULT_NAMES]) expect(names()).toContain(`  ${name} `);
  expect(readArguments(['--sink', 'blind', '--fault', 'after-slot'])).toMatchObject({
    cells: [{ fault: 'after-slot', sink: 'blind' }],
  });
  expect(readArguments(['--list'])).toEqual({ ask: 'list' });
});

test.each([
  [['--sink', 'paper'], /^kill-matrix: no sink is called "paper"; --list shows the names$/],
  [['--fault', 'flood'], /^kill-matrix: no fault is called "flood"; --list shows the names$/],
  [['--fault', 'constructor'], /no fault is called/],
  [['--sink', 'blind,'], /^kill-matrix: no sink is called "";/],
  [['--journal', 'paper'], /^kill-matrix: no kind of journal is called "paper"; --list shows the names$/],
  [['--journal', 'files,s3'], /^kill-matrix: no kind of journal is called "files,s3"/],
  [['--jobs', '0'], /^kill-matrix: --jobs takes a whole number/],
  [['--jobs', 'many'], /^kill-matrix: --jobs takes a whole number/],
  [['--sinks'], /^kill-matrix: Unknown option '--sinks'/],
  [['blind'], /^kill-matrix: Unexpected argument 'blind'/],
])('%j is refused with 2', async (argv, sentence) => {
  const asked = readArguments(argv);
  expect(asked.ask === 'refused' && asked.why).toMatch(sentence);
  expect(asked.ask === 'refused' && asked.why).not.toContain('\n');
  await expect(main(argv)).resolves.toBe(2);
});
