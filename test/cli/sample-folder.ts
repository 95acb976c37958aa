/** The sample journal in a folder, its contents beside it, made anew for each test; and the command line, asked for JSON. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { sampleRun, type Sample } from '../transfer/support';
import { writeFiles } from '../verify/sample-journal';
import { answerOf, cli, type JsonAnswer } from './support';

export interface SampleFolder {
  /** That of the present test. */
  readonly sample: Sample;
  readonly runId: string;
  /** A path below the folder: the journal is `journal`, its contents are `journal-contents`. */
  at(...names: readonly string[]): string;
}

/** Call at the top of a test file. */
export function useSampleFolder(): SampleFolder {
  let folder: string;
  let sample: Sample;
  const at = (...names: readonly string[]): string => path.join(folder, ...names);
  beforeEach(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'cli-'));
    sample = await sampleRun();
    writeFiles(at('journal'), sample.sample.files);
    writeFiles(at('journal-contents'), sample.contents.entries);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return {
    at,
    get sample() {
      return sample;
    },
    get runId() {
      return sample.runId;
    },
  };
}

/** What a command answers, of which no output may hold an operation of the sample. */
export async function json(...args: readonly string[]): Promise<JsonAnswer & { code: number | null }> {
  const ran = await cli(...args, '--json');
  expect(ran.out + ran.err).not.toMatch(/"id":"[ab]"/);
  return { ...answerOf(ran), code: ran.code };
}

/** Every file below a folder, with its bytes; empty when it is not there. */
export function files(root: string): Record<string, string> {
  if (!existsSync(root)) return {};
  const names = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map((entry) => path.join(entry.parentPath, entry.name)).filter((name) => !name.includes('.tmp'));
  return Object.fromEntries(paths.map((name) => [path.relative(root, name), readFileSync(name, 'latin1')]));
}
