/**
 * Properties of adapters whose client library is not installed, tried in a folder that has none:
 * - the entries `countersign/sinks` and `countersign/stores`, the tools of sessions and the inbox, are loaded all the same
 * - each factory says, when it is called, which package it needs and how to install it; so does a store by its address
 * - every optional peer is the need of at least one of them
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, expect, test } from 'vitest';
import { failureOf } from '../../src/cli/failure';
import { MissingPeerError } from '../../src/adapters/optional-peer';

const root = path.resolve(__dirname, '../..');
const { peerDependenciesMeta } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  peerDependenciesMeta: Record<string, object>;
};
/** Of tracing, which is no adapter that is made. */
const TRACING = '@opentelemetry/api';
const peers = Object.keys(peerDependenciesMeta).filter((name) => name !== TRACING);

const folder = mkdtempSync(path.join(tmpdir(), 'countersign-bare-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const ENTRIES = {
  ...{ sinks: 'adapters/sinks/index', stores: 'adapters/stores/index' },
  ...{ tools: 'adapters/tools/index', oidc: 'inbox/oidc' },
};
for (const [entry, source] of Object.entries(ENTRIES)) {
  buildSync({
    entryPoints: [path.join(root, `src/${source}.ts`)],
    outfile: path.join(folder, `${entry}.js`),
    ...{ bundle: true, platform: 'node', external: peers.flatMap((name) => [name, `${name}/*`]), logLevel: 'error' },
  });
}

const PG = `{ connection: 'postgres://u@127.0.0.1:1/x' }`;
const BUCKET = `{ bucket: 'bucket', region: 'us-east-1' }`;
const NEEDS: Record<string, string> = {
  [`sinks.postgresSink({ name: 'a', ...${PG}, statements: () => ({ text: '' }) })`]: 'pg',
  [`sinks.omopSink({ name: 'a', ...${PG}, schema: 'cdm' })`]: 'pg',
  [`sinks.s3Sink({ name: 'a', ...${BUCKET} })`]: '@aws-sdk/client-s3',
  [`sinks.stripeSink({ name: 'a', apiKey: () => 'rk_test_x' })`]: 'stripe',
  [`sinks.mcpSink({ name: 'a', server: { command: 'x' }, tools: { x: {} } })`]: '@modelcontextprotocol/sdk',
  [`tools.mcpTools({ name: 'a', server: { command: 'x' } })`]: '@modelcontextprotocol/sdk',
  [`sinks.smtpSink({ name: 'a', host: 'localhost', from: { address: 'a@example.org' } })`]: 'nodemailer',
  [`stores.postgresStore(${PG})`]: 'pg',
  [`stores.postgresContentStore(${PG})`]: 'pg',
  [`stores.s3Store(${BUCKET})`]: '@aws-sdk/client-s3',
  [`stores.s3ContentStore(${BUCKET})`]: '@aws-sdk/client-s3',
  [`stores.openStore('postgres://u@127.0.0.1:1/x')`]: 'pg',
  [`stores.openStore('s3://bucket/a')`]: '@aws-sdk/client-s3',
  [`stores.openContentStore('s3://bucket/a')`]: '@aws-sdk/client-s3',
  [`oidc.identityProvider({ proxy: '127.0.0.1', issuer: 'a', audience: 'a', keys: 'a', header: 'a', claim: 'a' })`]:
    'jose',
};

test('each factory says what to install, and nothing before', () => {
  const script = `const [sinks, stores, tools, oidc] = ['sinks', 'stores', 'tools', 'oidc'].map((name) => require('./' + name + '.js'));
    const told = [${Object.keys(NEEDS)
      .map((call) => `async () => ${call}`)
      .join(', ')}].map((make) => make().then(() => 'made', (fault) => fault.message));
    Promise.all(told).then((all) => console.log(JSON.stringify(all)));`;
  const told = JSON.parse(
    execFileSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8' }),
  ) as string[];
  expect(told).toHaveLength(Object.keys(NEEDS).length);
  for (const [index, peer] of Object.values(NEEDS).entries()) {
    expect(told[index]).toMatch(/^peer_missing: /);
    expect(told[index]).toContain(` needs the package "${peer}", which is not installed; run npm install ${peer}`);
  }
  expect([...new Set(Object.values(NEEDS))].sort()).toEqual([...peers].sort());
});

test('a command says so in the same words', () => {
  expect(failureOf(new MissingPeerError('the PostgreSQL store', 'pg'))).toEqual({
    code: 'peer_missing',
    message: 'the PostgreSQL store needs the package "pg", which is not installed; run npm install pg',
    field: null,
    exit: 'no_adapter',
  });
});
