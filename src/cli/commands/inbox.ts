/**
 * `inbox`: a page for the people who decide. Invariant: it listens on this machine unless it is told where else, and then only people who
 * signed in see anything; it holds no key and decides nothing.
 */
import { InvalidArgumentError, Option } from 'commander';
import { reviewersFromFile, reviewersFromUrl } from '../../adapters/reviewers';
import { identityProvider, type IdentityProvider } from '../../inbox/oidc';
import { builtAssets } from '../../inbox/assets';
import { isLoopback, startInbox, type Inbox, type InboxOptions } from '../../inbox/server';
import type { Reviewers } from '../../ports';
import { isInboxOrigin } from '../../rules/receipts/sign-in-claims';
import type { Context, Register } from '../command';
import { CliError } from '../failure';
import type { Answer } from '../output';
import { connect } from '../service';
import { contentStore, hasContents, journalStore, withOptions, type Settings } from '../settings';

interface InboxSettings extends Settings {
  readonly reviewers?: string;
  readonly listen: string;
  readonly port: number;
  readonly origin?: string;
  readonly limit: number;
  readonly proxy?: string;
  readonly oidcIssuer?: string;
  readonly oidcAudience?: string;
  readonly oidcKeys?: string;
  readonly oidcHeader: string;
  readonly oidcClaim: string;
}

const DEFAULT_PORT = 8484;

export const inboxCommand: Register = (program, act) => {
  const command = program
    .command('inbox')
    .description('serve a page of all that waits for a person: approvals, reviews, and each plan with its chain')
    .addOption(
      new Option('--reviewers <keys>', 'whose keys sign people in: the JWKS of the workers, a file or an address').env(
        'COUNTERSIGN_REVIEWERS',
      ),
    )
    .addOption(new Option('--port <number>', '0 for any').argParser(whole(65_535)).default(DEFAULT_PORT))
    .option('--listen <address>', 'where to listen; anywhere but on this machine needs an --origin', '127.0.0.1')
    .option('--origin <origin>', 'under which browsers reach it behind a proxy, as in https://inbox.example.org')
    .addOption(new Option('--limit <count>', 'list so many at most').argParser(whole(100_000)).default(1_000))
    .option('--proxy <address>', 'from which a proxy connects that hands on OIDC tokens; needs the next three')
    .option('--oidc-issuer <url>', 'who issues the tokens')
    .option('--oidc-audience <name>', 'whom they are for')
    .option('--oidc-keys <jwks>', 'the keys of the issuer, a file or an https address')
    .option('--oidc-header <name>', 'the header with the token', 'authorization')
    .option('--oidc-claim <name>', 'the claim that names the person', 'countersign_person');
  withOptions(command, 'journal', 'contents', 'taskQueue').action(act('inbox', inbox));
};

function whole(most: number): (text: string) => number {
  return (text) => {
    if (/^[0-9]{1,6}$/.test(text) && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`it must be a whole number up to ${most}.`);
  };
}

async function inbox({ output, interrupted }: Context, settings: InboxSettings): Promise<Answer> {
  const { origin, listen, port, limit } = settings;
  if (origin !== undefined && !isInboxOrigin(origin)) {
    throw wrong('origin', 'an origin is written as https://inbox.example.org, without a path');
  }
  if (origin === undefined && !isLoopback(listen)) {
    throw wrong('origin', 'to listen anywhere but on this machine, say under which https address browsers reach it');
  }
  const reviewers = settings.reviewers === undefined ? undefined : reviewersAt(settings.reviewers);
  const provider = await providerOf(settings, reviewers);
  const assets = builtAssets();
  const hasJournal = (settings.journal ?? '') !== '';
  const stores = {
    ...(hasJournal ? { journal: journalStore(settings) } : {}),
    ...(hasContents(settings) ? { contents: contentStore(settings) } : {}),
  };
  const options = {
    ...stores,
    ...(reviewers === undefined ? {} : { reviewers }),
    ...(provider === null ? {} : { provider }),
  };
  const service = await connect(settings);
  try {
    const started = await start({
      ...options,
      service,
      assets,
      host: listen,
      port,
      limit,
      ...(origin === undefined ? {} : { origin }),
    });
    output.say(`inbox of namespace ${service.client.options.namespace} at ${started.origin}; Ctrl-C ends it`);
    await new Promise<void>((resolve) => {
      if (interrupted.aborted) resolve();
      interrupted.addEventListener('abort', () => resolve(), { once: true });
    });
    await started.close();
    return { data: { origin: started.origin }, lines: ['ended'] };
  } finally {
    await service.close();
  }
}

async function start(options: InboxOptions): Promise<Inbox> {
  try {
    return await startInbox(options);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw wrong('port', `port ${options.port} is taken; choose another, or 0 for any`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') throw wrong('listen', 'is no address of this machine');
    throw fault;
  }
}

function reviewersAt(place: string): Reviewers {
  return /^https?:/.test(place) ? reviewersFromUrl(place) : reviewersFromFile(place);
}

async function providerOf(settings: InboxSettings, reviewers: Reviewers | undefined): Promise<IdentityProvider | null> {
  const { proxy, oidcIssuer: issuer, oidcAudience: audience, oidcKeys: keys, oidcHeader, oidcClaim } = settings;
  if (proxy === undefined) return null;
  if (issuer === undefined || audience === undefined || keys === undefined || reviewers === undefined) {
    throw wrong('proxy', '--proxy needs --oidc-issuer, --oidc-audience, --oidc-keys and --reviewers');
  }
  return identityProvider({ proxy, issuer, audience, keys, header: oidcHeader, claim: oidcClaim });
}

function wrong(field: string, reason: string): CliError {
  return new CliError('invalid_argument', reason, field);
}
