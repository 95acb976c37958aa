/** An inbox for tests, with the script of its pages built from the sources, and people who use it in browsers of their own. */
import { writeFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { buildSync } from 'esbuild';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { reviewersFromFile } from '../../src/adapters/reviewers';
import { connect, type Service } from '../../src/cli/service';
import { startInbox, type Inbox, type InboxOptions } from '../../src/inbox/server';
import type { Reviewers } from '../../src/ports';
import { temporalAddress } from '../support/temporal';
import type { Rig } from '../support/rig';

const root = path.resolve(__dirname, '../..');

/** As `npm run build:inbox` makes it. */
export function pageScript(): string {
  const { outputFiles } = buildSync({
    entryPoints: [path.join(root, 'src/inbox/browser/page.ts')],
    bundle: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    write: false,
  });
  return outputFiles[0]?.text ?? '';
}

let built: string | undefined;
const assets = (): { script: string } => ({ script: (built ??= pageScript()) });

export async function connected(namespace = 'default'): Promise<Service> {
  process.env['TEMPORAL_ADDRESS'] = temporalAddress();
  process.env['TEMPORAL_NAMESPACE'] = namespace;
  return connect({ taskQueue: '' });
}

/** The reviewers of one test, in a file that workers and inbox read. */
export class ReviewersFile {
  private readonly entries: Record<string, unknown>[] = [];
  readonly file: string;

  constructor(folder: string) {
    this.file = path.join(folder, 'reviewers.json');
    this.write();
  }

  add(entry: Record<string, unknown>): void {
    this.entries.push(entry);
    this.write();
  }

  revoke(kid: string): void {
    for (const entry of this.entries) if (entry['kid'] === kid) entry['countersign_revoked'] = true;
    this.write();
  }

  get reviewers(): Reviewers {
    return reviewersFromFile(this.file);
  }

  private write(): void {
    writeFileSync(`${this.file}.new`, JSON.stringify({ keys: this.entries }));
    renameSync(`${this.file}.new`, this.file);
  }
}

export async function openInbox(rig: Rig, options: Partial<InboxOptions> = {}): Promise<Inbox> {
  const service = options.service ?? (await connected(rig.temporal.namespace));
  const inbox = await startInbox({
    journal: rig.journal,
    contents: rig.contents,
    assets: assets(),
    ...options,
    service,
  });
  rig.atEnd(async () => {
    await inbox.close();
    await service.close();
  });
  return inbox;
}

export interface Person {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly kid: string;
}

/** What went wrong on a page: whatever its scripts threw, and whatever its policy forbade. */
export function faultsOf(page: Page): readonly string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => void faults.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|ERR_/.test(message.text())) faults.push(message.text());
  });
  return faults;
}

/** Makes a key in a browser of its own, has it entered among the reviewers, and signs in with it. */
export async function person(
  browser: Browser,
  origin: string,
  reviewers: ReviewersFile,
  name: string,
  roles: readonly string[],
  more: Parameters<Browser['newContext']>[0] = {},
): Promise<Person> {
  const context = await browser.newContext(more);
  const page = await context.newPage();
  await page.goto(`${origin}/sign-in`);
  await page.getByRole('button', { name: 'Make a key' }).click();
  const half = page.getByLabel('Public half');
  await half.waitFor();
  const entry = JSON.parse(await half.inputValue()) as Record<string, unknown>;
  reviewers.add({ ...entry, countersign_person: `person:example.org/${name}`, countersign_roles: roles });
  await page.getByRole('button', { name: 'Sign in' }).first().click();
  await page.getByText('Signed in with key').waitFor();
  return { page, context, kid: String(entry['kid']) };
}
