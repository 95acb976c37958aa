/**
 * Properties of what a newcomer reads:
 * - every command of a shell block in the README, the pages and the examples is run, by a test here or by one that is named;
 *   a command that nobody runs, and an entry that no page shows, fail;
 * - the five minutes work as written: the files of the README, as they stand there, are an app whose charge is made once, whose
 *   history replays, and which people release and refuse by the commands of the README; a doubt is resolved by its command;
 * - a plan in a file goes from `journal init` to `verify` as written, with the plan and the sink of the page, in front of a real
 *   FHIR server; a parked plan takes the two Updates that the README shows;
 * - the demo ends with every effect done once, whatever server the caller's own settings name;
 * - the packages to install are those that the package asks for; the page of the command line knows every command and exit code;
 * - every file that a page links to is there.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { fhirSink } from '../../src/adapters/sinks';
import { fileStore } from '../../src/adapters/stores';
import { EXIT } from '../../src/cli/exit-codes';
import { startFhirServer } from '../../src/testing';
import { builtProgram, cli } from '../cli/support';
import { Shells } from '../examples/page';
import { replayAndVerify } from '../../src/testing';
import { reviewersFromFile } from '../../src/adapters/reviewers';
import { useRig } from '../support/rig';
import { temporalAddress, temporalCli } from '../support/temporal';

const run = promisify(execFile);
/** Whatever page there is: one that nobody lists here would be read by nobody. */
const PAGES = [
  'README.md',
  ...['docs', 'examples'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => path.posix.join(folder, name.replaceAll(path.sep, '/'))),
  ),
];
const pages = new Map(PAGES.map((page) => [page, readFileSync(page, 'utf8')]));
const README = pages.get('README.md')!;

/** How each command is run: by a test of this file, by its name, or by another file that has this text. */
type How = { readonly here: string } | { readonly file: string; readonly text: string };
const INIT = 'npx countersign journal init /var/lib/countersign/journal';
const RUN = [
  'export COUNTERSIGN_JOURNAL=/var/lib/countersign/journal',
  'npx countersign run plan.json',
  'npx countersign inspect plan.json',
  'npx countersign verify /var/lib/countersign/journal',
];
const ORDER = [
  'temporal workflow execute --workflow-id order-1 --type order --task-queue orders --input 4900',
  'npx countersign verify /var/lib/countersign/journal',
];
const RECORD = [
  'mkdir -p test/histories && temporal workflow show --workflow-id order-1 --output json > test/histories/order-1.json',
  'npx countersign journal copy /var/lib/countersign/journal test/journal',
];
const OWN_KEY = [
  'npx countersign keys new laptop --person person:example.org/reviewer-1 --role role:example.org/approver',
  'npx countersign keys export laptop > /var/lib/countersign/reviewers.json',
];
const APPROVALS = [
  'npx countersign approvals list',
  'npx countersign approvals show <run_id>',
  'npx countersign approvals approve <run_id> --key laptop',
  'npx countersign approvals reject <run_id> --key laptop',
];
const REVIEWS = [
  'npx countersign reviews list',
  'npx countersign reviews show <run_id>',
  'npx countersign reviews resolve <run_id> --key laptop --resolution mark_committed --actions <action_id> --head <digest>',
];
const UPDATES = ['reobserve', 'cancel'].map(
  (name) => `temporal workflow update execute --workflow-id countersign/<run_id> --name ${name}`,
);
const KEYS = [
  'npx countersign keys new laptop --person person:example.org/reviewer-1 --role role:example.org/approver',
  'npx countersign keys export laptop',
];
const RING = 'export COUNTERSIGN_CONTENT_KEYS=/etc/countersign/ring.json';
const CONTENTS = [
  ...['new k1', 'list --contents …', 'new k2', 'use k2', 'drop k1 --contents …'].map((what) => `keys ${what}`),
  'rotate --contents …',
  'erase <run_id> --journal /var/lib/countersign/journal',
].map((what) => `npx countersign contents ${what}`);
const ANCHORS = [
  'anchor key example.com/orders --out log.key',
  'anchor --journal /var/lib/countersign/journal --log /mnt/elsewhere/log --key log.key --metrics /var/lib/node/anchor.prom',
  'verify /var/lib/countersign/journal --anchor /mnt/elsewhere/log --anchor-key "example.com/orders+…"',
].map((what) => `npx countersign ${what}`);
const INBOX = {
  'npx countersign inbox --journal /var/lib/countersign/journal --reviewers /var/lib/countersign/reviewers.json': {
    file: 'test/inbox/kills.test.ts',
    text: "['inbox', '--port'",
  },
  'npx countersign keys sign laptop statement.json': {
    file: 'test/inbox/chromium.test.ts',
    text: "'keys', 'sign', 'laptop'",
  },
};
const INSTALL = README.split('\n').find((line) => line.startsWith('npm install ')) ?? '';
const SEARCHES = {
  'temporal operator search-attribute create --name CountersignSession --type Keyword --name CountersignStatus --type Keyword --name CountersignTools --type KeywordList':
    'search-attribute create',
  ...Object.fromEntries(
    ["CountersignStatus = 'awaiting_approval'", "CountersignTools = 'pay@1.0.0'"].map((query) => [
      `temporal workflow list --query "${query}"`,
      query,
    ]),
  ),
};
/** These pages are run from their first block to their last. */
const WHOLE_PAGES = {
  order: [
    'node examples/shop/shop.mjs',
    'npx tsx examples/order/src/worker.ts',
    ...['first', 'second lamp declined', 'third unicorn', 'fourth piano visa --cancel'].map(
      (order) => `npx tsx examples/order/src/client.ts ${order}`,
    ),
    'curl -s $SHOP_URL/releases $SHOP_URL/mails',
  ],
  'document-verification': [
    'npx tsx examples/document-verification/src/main.ts',
    "diff examples/document-verification/text.md $COUNTERSIGN_JOURNAL-corrected.md | grep '^>'",
    "grep -rl 'Readers found' $COUNTERSIGN_JOURNAL || echo nothing",
    'npx countersign verify-run owed --journal $COUNTERSIGN_JOURNAL | head -1',
  ],
  'payments-agent': ['npx tsx examples/payments-agent/src/main.ts'],
  'existing-app': [
    'npx tsx src/cli/main.ts journal init journal',
    ...['before', 'after'].flatMap((app) => [
      `npx tsx examples/existing-app/${app}/src/worker.ts`,
      `npx tsx examples/existing-app/${app}/src/client.ts ${app}-1`,
    ]),
    'curl -s $SHOP_URL/charges',
  ],
};
const COMMANDS: Readonly<Record<string, How>> = {
  ...Object.fromEntries(
    Object.entries(WHOLE_PAGES).flatMap(([name, lines]) =>
      lines.map((line) => [line, { file: `test/examples/${name}.test.ts`, text: 'blocksOf(' }]),
    ),
  ),
  './temporal-dev.sh demo': { here: 'the demo' },
  './temporal-dev.sh test': { file: '.ci/run', text: './temporal-dev.sh test' },
  './temporal-dev.sh up': { file: 'test/tooling/temporal-dev.test.ts', text: "dev('up')" },
  'npx tsx examples/vitals/src/client.ts': { file: 'test/tooling/temporal-dev.test.ts', text: 'vitals\\/src\\/client' },
  'npx countersign resume /var/lib/countersign/journal <run_id>': {
    file: 'test/journeys/resume.test.ts',
    text: "'resume', all.journal, runId",
  },
  ...Object.fromEntries(
    ANCHORS.map((line) => {
      const text = line.includes('anchor key')
        ? "cli('anchor', 'key'"
        : line.includes('verify')
          ? "'--anchor-key'"
          : "'--log'";
      return [line, { file: 'test/anchors/adversaries.test.ts', text }];
    }),
  ),
  [INSTALL]: { here: 'the packages to install' },
  ...INBOX,
  ...Object.fromEntries(KEYS.map((line) => [line, { file: 'test/cli/keys.test.ts', text: "'docs/receipts.md'" }])),
  ...Object.fromEntries(
    Object.entries(SEARCHES).map(([line, text]) => [line, { file: 'test/sessions/search.test.ts', text }]),
  ),
  ...Object.fromEntries([INIT, ...RUN, ...UPDATES].map((line) => [line, { here: 'a plan in a file' }])),
  ...Object.fromEntries(
    [...ORDER, ...RECORD, ...OWN_KEY, ...APPROVALS].map((line) => [line, { here: 'the five minutes' }]),
  ),
  ...Object.fromEntries(REVIEWS.map((line) => [line, { here: 'a doubt is resolved' }])),
  'npx countersign journal retire --journal /var/lib/countersign/journal --minimum-age 90d': {
    file: 'test/cli/retire.test.ts',
    text: "json('journal', 'retire', '--journal', at('journal')",
  },
  "npx countersign journal init 'postgres://owner@db/app' --grant countersign_worker": {
    file: 'test/cli/addresses.test.ts',
    text: "'journal', 'init', address(schema), '--grant'",
  },
  [RING]: { file: 'test/cli/contents.test.ts', text: 'COUNTERSIGN_CONTENT_KEYS' },
  ...Object.fromEntries(
    CONTENTS.map((line) => {
      const [first, second = ''] = line.replace('npx countersign contents ', '').split(' ');
      const text = first === 'keys' ? `'contents', 'keys', '${second}'` : `'contents', '${first}'`;
      return [line, { file: 'test/cli/contents.test.ts', text }];
    }),
  ),
};

const fenced = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))].map((match) => match[1] as string);

test('every command has somebody who runs it', () => {
  const shown = [...pages.values()].flatMap((text) => fenced(text, 'sh').flatMap((block) => block.split('\n')));
  const commands = shown.map((line) => line.replace(/\s+#.*$/, '').trim()).filter((line) => line !== '');
  expect([...new Set(commands)].sort()).toEqual(Object.keys(COMMANDS).sort());
  const own = readFileSync(__filename, 'utf8');
  for (const [command, how] of Object.entries(COMMANDS)) {
    const found = 'here' in how ? own.includes(`test('${how.here}`) : readFileSync(how.file, 'utf8').includes(how.text);
    expect(found, command).toBe(true);
  }
});

test('every link leads to a file', () => {
  const dead = PAGES.flatMap((page) =>
    [...pages.get(page)!.matchAll(/\]\((?!https?:)([^)#]+)/g)]
      .filter(([, target]) => !existsSync(path.join(path.dirname(page), target!)))
      .map(([, target]) => `${page}: ${target}`),
  );
  expect(dead).toEqual([]);
});

test('the packages to install are the package and all its peers that are not optional', () => {
  const { name, peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    name: string;
    peerDependencies: Record<string, string>;
    peerDependenciesMeta: Record<string, { optional: boolean }>;
  };
  const needed = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  expect(INSTALL.split(' ').slice(2).sort()).toEqual([name, ...needed].sort());
});

test('the page of the command line knows every command and every exit code', async () => {
  const page = pages.get('docs/command-line.md')!;
  const codes = [...page.matchAll(/^\| (\d+) +\| (\w+)/gm)].map(([, code, name]) => [name, Number(code)]);
  expect(Object.fromEntries(codes)).toEqual(EXIT);
  const named = [...page.matchAll(/^\| `([a-z][a-z-]*)/gm)].map(([, name]) => name!);
  const listed = [...(await cli('--help')).out.matchAll(/^ {2}([a-z][a-z-]*) (?!\[command\])/gm)].map(
    ([, name]) => name!,
  );
  expect([...new Set(named)].sort()).toEqual(listed.sort());
});

test('the demo', { timeout: 300_000 }, async () => {
  const env = { ...process.env, TEMPORAL_CLI_PATH: temporalCli(), TEMPORAL_NAMESPACE: 'somebody-elses' };
  const { stdout } = await run('./temporal-dev.sh', ['demo', '--json'], { env });
  const result = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as { effects: { sinkWrites: number }[] };
  expect(result).toMatchObject({ ok: true, verified: true });
  expect(result.effects.map(({ sinkWrites }) => sinkWrites)).toEqual([1, 1, 1, 1, 1, 1]);
});

describe('on a real server', () => {
  const rig = useRig();

  test('the five minutes of an author, and people who decide', { timeout: 300_000 }, async () => {
    const { home, shell, here } = await newcomer();
    await install(home);
    const apps = new Shells({});
    rig.atEnd(() => apps.end());
    await apps.start('node examples/shop/shop.mjs');
    const adapted = (text: string): string =>
      here(text)
        .replaceAll("'https://pay.example.org", `'${apps.env['SHOP_URL']}`)
        .replaceAll(`'orders'`, `'${rig.taskQueue}'`)
        .replaceAll('--task-queue orders', `--task-queue ${rig.taskQueue}`)
        .replaceAll('order-1', `${rig.taskQueue}-1`);
    const code = fenced(README, 'ts').map(adapted);
    const file = (name: string): string => code.find((text) => text.startsWith(`// ${name}\n`))!;
    for (const name of ['effects.ts', 'workflows.ts', 'worker.ts']) await writeFile(path.join(home, name), file(name));
    const start = (): ReturnType<Shells['start']> => apps.start(`cd ${home} && npx tsx worker.ts 2>&1`);
    const charges = async (): Promise<unknown> => (await fetch(`${apps.env['SHOP_URL']}/charges`)).json();

    await shell(here(INIT));
    const worker = await start();
    for (const time of ['first', 'again']) {
      const told = await shell(ORDER.map(adapted).join('\n'));
      expect(told, time).toContain('"charge-1"');
      expect(told, time).toMatch(/^verified$/m);
    }
    expect(await charges()).toMatchObject({ count: 1, begun: 1 });

    await shell(RECORD.map(adapted).join('\n'));
    const report = await replayAndVerify({
      workflowsPath: path.join(home, 'workflows.ts'),
      histories: path.join(home, 'test/histories'),
      journal: fileStore(path.join(home, 'test/journal')),
    });
    expect(report).toMatchObject({ replayed: 1, failures: [] });
    expect(report.checked).toBeGreaterThan(1);

    await worker.kill();
    const people = /^ {2}(policy: [^]*?)^\}\);/m.exec(code.find((text) => text.includes('policy: '))!)![1]!;
    const told = file('worker.ts').replace('        effects,\n', `        effects,\n${people}`);
    const from = "import { reviewersFromFile } from 'countersign/reviewers';";
    await writeFile(path.join(home, 'worker.ts'), `${from}\n${told}`);
    await start();
    await shell(OWN_KEY.map(here).join('\n'));
    const [list, show, approve, reject] = APPROVALS as [string, string, string, string];
    /** Plans of one order that the command lists. */
    const listed = async (name: string): Promise<readonly string[]> => {
      const { raw } = await rig.client.workflow.getHandle(`${rig.taskQueue}-${name}`).describe();
      const runs = (raw.pendingChildren ?? []).map(({ workflowId }) => workflowId!.replace('countersign/', ''));
      const told = await shell(list);
      return runs.filter((runId) => told.includes(runId));
    };
    const waiting = async (name: string): Promise<string> => {
      const input = `--type order --task-queue ${rig.taskQueue} --input 4900`;
      await shell(`temporal workflow start --workflow-id ${rig.taskQueue}-${name} ${input}`);
      await expect.poll(() => listed(name), { timeout: 60_000 }).toHaveLength(1);
      return (await listed(name))[0]!;
    };
    const second = await waiting('2');
    expect(await shell(show.replace('<run_id>', second))).toContain('1 of role:example.org/approver');
    expect(await shell(approve.replace('<run_id>', second))).toContain('handed over: 1 of 1 effects committed, closed');
    expect(await rig.client.workflow.getHandle(`${rig.taskQueue}-2`).result()).toBe('charge-2');
    const third = await waiting('3');
    await shell(reject.replace('<run_id>', third));
    const refused = rig.client.workflow.getHandle(`${rig.taskQueue}-3`).result();
    await expect(refused).rejects.toMatchObject({ cause: { type: 'ApprovalRejected' } });
    expect(await charges()).toMatchObject({ count: 2, begun: 2 });
  });

  test('a doubt is resolved', async () => {
    const { shell, here, folder } = await newcomer();
    await mkdir(folder);
    await shell(OWN_KEY.map(here).join('\n'));
    await rig.worker({ plugin: { reviewers: reviewersFromFile(`${folder}/reviewers.json`) } });
    rig.sinks.faults.programme([{ fault: 'drop_reply' }]);
    const handle = await rig.start([{ mode: 'blind' }]);
    await rig.until(handle, ({ state }) => state === 'parked');
    const [list, show, resolve] = REVIEWS.map((line) => line.replace('<run_id>', handle.runId));
    expect(await shell(list!)).toContain(handle.runId);
    const shown = await shell(show!);
    const action = /^in doubt: (act_[0-9a-f]+)/m.exec(shown)![1]!;
    const head = /^head [0-9]+ (sha256:[0-9a-f]+)/m.exec(shown)![1]!;
    await shell(resolve!.replace('<action_id>', action).replace('<digest>', head));
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(rig.writes).toBe(1);
  });

  test('a plan in a file, also one that waits', async () => {
    const { home, shell, folder, here } = await newcomer();
    const fhir = await startFhirServer();
    rig.atEnd(() => fhir.close());

    expect(await shell(here(INIT))).toContain(`contents go to ${folder}/journal-contents`);
    const sink = {
      name: 'fhir',
      baseUrl: fhir.baseUrl,
      mode: 'conditional_create',
      system: 'https://example.org/countersign',
    } as const;
    const page = pages.get('docs/command-line.md')!;
    const tool = /toolId: '([^']*)'/.exec(page)![1]!;
    const effects = [{ toolId: tool, sink: fhirSink(sink) }];
    const [store, contents] = [fileStore(`${folder}/journal`), fileStore(`${folder}/journal-contents`)];
    await rig.worker({ plugin: { store, contents, effects } });

    const plan = fenced(page, 'json')[0]!;
    await writeFile(path.join(home, 'plan.json'), plan);
    const told = await shell(RUN.map(here).join('\n'));
    expect(told).toContain('completed: 1 of 1 effects committed');
    expect(told).toMatch(/^verified$/m);
    const [sent] = readdirSync(`${folder}/journal/${/run_[0-9a-f]{32}/.exec(told)![0]}/sends`);
    expect(fhir.counts(sent!).writes).toBe(1);
    const writes = fhir.counts().writes; // with that of the sink's own start-up test
    expect(await shell(RUN.slice(0, 2).map(here).join('\n'))).toContain('nothing was sent');
    expect(fhir.counts().writes).toBe(writes);

    const waiting = JSON.parse(plan) as { name: string; effects: Record<string, unknown>[] };
    waiting.name = 'visit-0002';
    waiting.effects[0]!['approval_required'] = true;
    await writeFile(path.join(home, 'plan.json'), JSON.stringify(waiting));
    const parked = await shell(`${RUN.slice(0, 2).map(here).join('\n')} || echo "ended with $?"`);
    expect(parked).toContain('ended with 4');
    const runId = /run_[0-9a-f]{32}/.exec(parked)![0];
    const [reobserve, cancel] = UPDATES.map((line) => line.replace('<run_id>', runId));
    expect(await shell(reobserve!)).toContain('parked');
    await shell(cancel!);
    expect(await rig.plans.getHandle(runId).result()).toMatchObject({ status: 'cancelled' });
    expect(fhir.counts().writes).toBe(writes);
  });

  interface Newcomer {
    readonly home: string;
    /** Where the page has `/var/lib/countersign`. */
    readonly folder: string;
    here(text: string): string;
    shell(script: string): Promise<string>;
  }

  /** A shell in a folder where the package is installed, and where `temporal` is on the PATH. */
  async function newcomer(): Promise<Newcomer> {
    const home = path.join(rig.folder, 'newcomer');
    const programs = path.join(home, 'node_modules/.bin');
    await mkdir(programs, { recursive: true });
    await writeFile(path.join(home, 'package.json'), '{"private":true}');
    await writeFile(path.join(programs, 'countersign'), `#!/bin/sh\nexec node '${builtProgram()}' "$@"\n`);
    await chmod(path.join(programs, 'countersign'), 0o755);
    await mkdir(path.join(home, 'bin'));
    await symlink(temporalCli(), path.join(home, 'bin/temporal'));
    const settings = {
      TEMPORAL_ADDRESS: temporalAddress(),
      COUNTERSIGN_TASK_QUEUE: rig.taskQueue,
      COUNTERSIGN_KEYS: path.join(home, 'keys'),
    };
    const env = { ...process.env, ...settings, PATH: `${path.join(home, 'bin')}:${process.env['PATH']}` };
    const folder = path.join(home, 'var');
    return {
      home,
      folder,
      here: (text) => text.replaceAll('/var/lib/countersign', folder),
      shell: async (script) => (await run('/bin/bash', ['-ec', script], { cwd: home, env })).stdout,
    };
  }

  /** As after `npm install`: the package, and what it asks for beside it. */
  async function install(home: string): Promise<void> {
    const modules = path.resolve('node_modules');
    for (const name of ['@temporalio', 'zod', 'tsx'])
      await symlink(`${modules}/${name}`, `${home}/node_modules/${name}`);
    await symlink(path.resolve(), `${home}/node_modules/countersign`);
    await symlink(`${modules}/.bin/tsx`, `${home}/node_modules/.bin/tsx`);
  }
});
