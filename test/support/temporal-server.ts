/**
 * One real dev server for a whole vitest run, started only when a selected test file uses `support/temporal`: tests of
 * pure rules then need no Temporal CLI and wait for nothing.
 */
import { readFile } from 'node:fs/promises';
import type { TestProject } from 'vitest/node' with { 'resolution-mode': 'import' };
import { ensureTemporalCli } from '../../scripts/dev/temporal-cli';
import { startDevServer } from '../../src/testing/dev-server';

declare module 'vitest' {
  export interface ProvidedContext {
    temporal: { readonly address: string; readonly cli: string } | null;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | void> {
  if (!(await isNeeded(project))) {
    project.provide('temporal', null);
    return;
  }
  const { path: cli } = await ensureTemporalCli({ note: (sentence) => process.stderr.write(`${sentence}\n`) });
  // Tests here look at what happens, not at how fast: lift the one-shard limit of one step per 50 ms.
  const dynamicConfig = { 'history.transferProcessorMaxPollRPS': 10_000 };
  const server = await startDevServer({ executable: cli, dynamicConfig });
  project.provide('temporal', { address: server.address, cli });
  return () => server.stop();
}

async function isNeeded(project: TestProject): Promise<boolean> {
  // Not in vitest's declarations; without it every test file counts as selected.
  const { filenamePattern } = project.vitest as { filenamePattern?: string[] };
  const { testFiles } = await project.globTestFiles(filenamePattern);
  const texts = await Promise.all(testFiles.map((file) => readFile(file, 'utf8')));
  return texts.some((text) => /support\/(temporal|rig)['"]/.test(text));
}
