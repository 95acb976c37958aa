/**
 * Properties of the lint rules, each shown on a file that breaks it (the text is linted as if it stood in that room):
 * - no room imports against the arrows, in whatever form of import; what is published imports nothing outside src;
 * - each room takes only its own packages; rules know no clock, no chance and no Node;
 * - a cycle of imports, a deep import of the SDK, and a file past 350 lines are refused;
 * - what the arrows allow is not refused.
 */
import path from 'node:path';
import { ESLint } from 'eslint';
import { expect, test } from 'vitest';

// Rules that need types would need the file on disk.
const eslint = new ESLint({
  overrideConfig: {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: false } },
    rules: { '@typescript-eslint/no-floating-promises': 'off', '@typescript-eslint/no-unused-vars': 'off' },
  },
});

const ARROW = 'import-x/no-restricted-paths';
const PACKAGE = 'no-restricted-imports';

async function refusals(file: string, text: string): Promise<(string | null)[]> {
  const [result] = await eslint.lintText(text, { filePath: path.resolve(file) });
  return [...new Set(result!.messages.map(({ ruleId, message }) => ruleId ?? message))];
}

test.each([
  ['src/rules/probe.ts', `import type { Store } from '../ports';`, ARROW],
  ['src/rules/probe.ts', `import { drive } from '../activities/drive';`, ARROW],
  ['src/rules/probe.ts', `export * from '../adapters/stores';`, ARROW],
  ['src/rules/probe.ts', `export * from '../index';`, ARROW],
  ['src/rules/deeper/probe.ts', `import { governedPlan } from '../../workflows/governed-plan';`, ARROW],
  ['src/ports.ts', `import type { DriveInput } from './activities/contract';`, ARROW],
  ['src/ports.ts', `import type { FileStore } from './adapters/stores';`, ARROW],
  ['src/workflows/probe.ts', `import { drive } from '../activities/drive';`, ARROW],
  ['src/workflows/probe.ts', `import type { Store } from '../ports';`, ARROW],
  ['src/workflows/probe.ts', `import { fileStore } from '../adapters/stores';`, ARROW],
  ['src/workflow.ts', `export { CountersignPlugin } from './plugin';`, ARROW],
  ['src/activities/probe.ts', `import { fileStore } from '../adapters/stores';`, ARROW],
  ['src/activities/probe.ts', `import { governedPlan } from '../workflows/governed-plan';`, ARROW],
  ['src/activities/probe.ts', `import { startDevServer } from '../testing/dev-server';`, ARROW],
  ['src/adapters/probe.ts', `import { drive } from '../activities/drive';`, ARROW],
  ['src/adapters/sinks/probe.ts', `import type { DriveInput } from '../../activities/contract';`, ARROW],
  ['src/adapters/sinks/probe.ts', `import { CountersignPlugin } from '../../plugin';`, ARROW],
  ['src/plugin.ts', `import { connectTemporal } from '../test/support/temporal';`, ARROW],
  ['src/testing/probe.ts', `import { ensureTemporalCli } from '../../scripts/dev/temporal-cli';`, ARROW],
  ['src/rules/probe.ts', `export const late = import('../activities/drive');`, ARROW],
  ['src/rules/probe.ts', `export const late = require('../activities/drive');`, ARROW],
  ['src/rules/probe.ts', `import drive = require('../activities/drive');`, ARROW],
  [
    'src/rules/probe.ts',
    `export type Drive = typeof import('../activities/drive');`,
    '@typescript-eslint/consistent-type-imports',
  ],
  ['src/rules/probe.ts', `import { readFile } from 'node:fs/promises';`, PACKAGE],
  ['src/rules/probe.ts', `import { readFile } from 'fs/promises';`, PACKAGE],
  ['src/rules/probe.ts', `import { log } from '@temporalio/workflow';`, PACKAGE],
  ['src/rules/probe.ts', `import { z } from 'zod';`, PACKAGE],
  ['src/rules/probe.ts', `export const late = import('node:fs');`, 'no-restricted-syntax'],
  ['src/rules/probe.ts', `export const now = Date.now();`, 'no-restricted-globals'],
  ['src/rules/probe.ts', `export const now = globalThis.performance;`, 'no-restricted-globals'],
  ['src/rules/probe.ts', `export const bytes = Buffer.alloc(1);`, 'no-restricted-globals'],
  ['src/rules/probe.ts', `export const chance = Math.random();`, 'no-restricted-properties'],
  ['src/ports.ts', `import type { Client } from '@temporalio/client';`, PACKAGE],
  ['src/workflows/probe.ts', `import { randomUUID } from 'node:crypto';`, PACKAGE],
  ['src/workflows/probe.ts', `import { Client } from '@temporalio/client';`, PACKAGE],
  ['src/workflow.ts', `export { log } from '@temporalio/worker';`, PACKAGE],
  ['src/activities/probe.ts', `import { Client } from '@temporalio/client';`, PACKAGE],
  ['src/activities/probe.ts', `import { Pool } from 'pg';`, PACKAGE],
  ['src/adapters/probe.ts', `import { log } from '@temporalio/activity';`, PACKAGE],
  ['src/inbox/browser/probe.ts', `import { lookAt } from '../plan-look';`, ARROW],
  ['src/inbox/browser/probe.ts', `import { storeView } from '../../adapters/stores';`, ARROW],
  ['src/inbox/browser/probe.ts', `import { readFile } from 'node:fs/promises';`, PACKAGE],
  ['src/plugin.ts', `import { msToTs } from '@temporalio/common/lib/time';`, PACKAGE],
  ['test/probe.ts', `import { msToTs } from '@temporalio/common/lib/time';`, PACKAGE],
  [
    'src/rules/recovery/canonical-json.ts',
    `import * as all from './index';\nexport const cycle = all;`,
    'import-x/no-cycle',
  ],
  ['src/adapters/probe.ts', 'export {};\n'.repeat(351), 'max-lines'],
])('%s may not hold %s', async (file, text, rule) => {
  expect(await refusals(file, text)).toContain(rule);
});

test.each([
  ['src/rules/sends/probe.ts', `export { sha256Hex } from '../recovery';`],
  ['src/rules/probe.ts', `export { sha256 } from '@noble/hashes/sha2';`],
  ['src/ports.ts', `export type { RecoveryPhase } from './rules/recovery';`],
  ['src/workflows/probe.ts', `export { DRIVE_ACTIVITY } from '../activities/contract';`],
  ['src/workflows/probe.ts', `export { log } from '@temporalio/workflow';`],
  ['src/workflow.ts', `export { governedPlan } from './workflows/governed-plan';`],
  [
    'src/activities/probe.ts',
    `export type { Store } from '../ports';\nexport { Context } from '@temporalio/activity';`,
  ],
  [
    'src/adapters/sinks/probe.ts',
    `export type { EffectSink } from '../../ports';\nexport { request } from 'node:https';`,
  ],
  ['src/plugin.ts', `export { drive } from './activities/drive';\nexport * from './adapters/stores';`],
  ['test/probe.ts', `export { startDevServer } from '../src/testing/dev-server';`],
  ['src/adapters/probe.ts', 'export {};\n'.repeat(350)],
])('%s may hold %s', async (file, text) => {
  expect(await refusals(file, text)).toEqual([]);
});
