/**
 * Tools of MCP servers in governed plans on a real Temporal server.
 *
 * - A call that is done completes its plan.
 * - A call that is not answered in time is left to a person, and is not made again.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { mcpSink } from '../../../src/adapters/sinks';
import { useRig } from '../../support/rig';
import { startWith, workWith } from './killed-worker';

const rig = useRig();

test('done; and not answered in time', async () => {
  const log = path.join(rig.folder, 'calls');
  const built = path.join(rig.folder, 'server.js');
  const entryPoints = [path.join(__dirname, '../../systems/mcp-server.ts')];
  buildSync({ entryPoints, outfile: built, bundle: true, platform: 'node', logLevel: 'error' });
  const sink = mcpSink({
    name: 'tools',
    server: { command: process.execPath, args: [built, log] },
    tools: { note: {}, slow: {} },
    deadlineMs: 5_000,
    settleMs: 100,
  });
  await workWith(rig, sink);
  const calls = (): number => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').length : 0);
  expect((await (await startWith(rig, { tool: 'note', arguments: {} })).result()).status).toBe('completed');
  expect(calls()).toBe(1);
  const handle = await startWith(rig, { tool: 'slow', arguments: {} });
  const status = await rig.until(handle, ({ state }) => state === 'parked');
  expect(JSON.stringify(status)).toContain('outcome_unknown');
  expect(calls()).toBe(2);
});
