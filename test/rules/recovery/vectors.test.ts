/**
 * Every row of the reference's vectors gets the reference's answer: same bytes, same digests, same `field: code`.
 *
 * Held here:
 * - each file's rows all pass, and none of them can vanish unnoticed: the least number of rows is stated;
 * - rows outside the contract are exactly those tagged so, and are counted;
 * - the runner itself is not blind: one changed byte, a wrong expectation, an unknown or missing file all show.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { check as canonical } from '../../../scripts/vectors/canonical';
import { check as checkpoints } from '../../../scripts/vectors/checkpoints';
import { check as decisions } from '../../../scripts/vectors/decisions';
import { check as effects } from '../../../scripts/vectors/effects';
import { check as invalidCheckpoints } from '../../../scripts/vectors/invalid-checkpoints';
import { type RowResult } from '../../../scripts/vectors/judge';
import { main, runVectors } from '../../../scripts/vectors/main';
import { readVectors } from '../../../scripts/vectors/row';
import { check as retired } from '../../../scripts/vectors/retired';
import { check as transitions } from '../../../scripts/vectors/transitions';

const FOLDER = path.join(__dirname, '../../vectors');
const outside = (row: RowResult): boolean => row.tags.includes('float') || row.tags.includes('python-limit');

const FILES = [
  { file: 'canonical.json', check: canonical, judged: 133, outside: 21 },
  { file: 'effects.json', check: effects, judged: 240, outside: 0 },
  { file: 'checkpoints.json', check: checkpoints, judged: 77, outside: 0 },
  { file: 'invalid_checkpoints.json', check: invalidCheckpoints, judged: 405, outside: 2 },
  { file: 'transitions.json', check: transitions, judged: 221, outside: 0 },
  { file: 'decisions.json', check: decisions, judged: 392, outside: 0 },
  { file: 'retired.json', check: retired, judged: 48, outside: 0 },
] as const;

describe('the stored vectors', () => {
  it.each(FILES)('$file: all $judged rows of the contract pass', ({ file, check, judged, outside: unjudged }) => {
    const rows = [...(check as (content: unknown) => RowResult[])(readVectors(FOLDER, file))];
    const inside = rows.filter((row) => !outside(row));
    expect(inside.filter((row) => row.outcome !== 'passed')).toEqual([]);
    expect({ inside: inside.length, outside: rows.length - inside.length }).toEqual({
      inside: judged,
      outside: unjudged,
    });
  });
});

describe('the runner', () => {
  const folders: string[] = [];
  const copyOf = (...files: string[]): string => {
    const folder = mkdtempSync(path.join(tmpdir(), 'vectors-'));
    folders.push(folder);
    for (const file of files) cpSync(path.join(FOLDER, file), path.join(folder, file));
    return folder;
  };
  afterEach(() => {
    vi.restoreAllMocks();
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });
  const edit = (folder: string, file: string, change: (text: string) => string): void => {
    const target = path.join(folder, file);
    writeFileSync(target, change(readFileSync(target, 'utf8')));
  };

  it('fails a row whose expectation was changed by one digit', async () => {
    const folder = copyOf('canonical.json');
    edit(folder, 'canonical.json', (text) => text.replace(/"sha256:7423/, '"sha256:7424'));
    const { failed } = await runVectors(folder);
    expect(failed.map(({ id }) => id)).toEqual(['canonical-0000']);
  });

  it('fails a row that expects success where the rules refuse', async () => {
    const folder = copyOf('transitions.json');
    edit(folder, 'transitions.json', (text) => text.replace(/"error":"lineage: [a-z_]+"/, '"ok":true'));
    const { failed } = await runVectors(folder);
    expect(failed).toHaveLength(1);
  });

  it('fails a whole file that cannot be read', async () => {
    const folder = copyOf('effects.json');
    edit(folder, 'effects.json', (text) => text.slice(0, 1000));
    const { failed, passed } = await runVectors(folder);
    expect({ passed, failed: failed.map(({ id }) => id) }).toEqual({ passed: 0, failed: ['./effects'] });
  });

  it('says aloud what it did not run, and ends with the count', async () => {
    const folder = copyOf('canonical.json');
    writeFileSync(path.join(folder, 'surprise.json'), '{}');
    edit(folder, 'canonical.json', (text) => text.replace('"cases":', '"extra":[{"id":"x"}],"cases":'));
    const lines: string[] = [];
    vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
    expect(await main([folder])).toBe(0);
    expect(lines).toContain('not run: unknown file surprise.json');
    expect(lines).toContain('not run: missing file journals/index.json');
    expect(lines).toContain('not run: unknown section extra of canonical.json');
    expect(lines.some((line) => line.startsWith('21 out of contract'))).toBe(true);
    expect(lines.at(-1)).toBe('133 passed, 0 failed');
  });

  it('does not succeed when there was nothing to run', async () => {
    vi.spyOn(console, 'log').mockImplementation(() => undefined);
    expect(await main([copyOf()])).toBe(1);
  });
});
