/**
 * The inbox as a whole: who is answered, in which order it is found out, and which pages there are. Invariant: the guard is passed before
 * anything else, the token of a form before anything is taken, and a sign-in, where one is needed, before anything is shown.
 */
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { failureOf } from '../cli/failure';
import type { Service } from '../cli/service';
import type { Store } from '../ports';
import { MAX_TOKEN_CHARACTERS } from '../rules/receipts/jws';
import type { Assets } from './assets';
import { HEADERS, denied } from './guard';
import { allItems, type ItemSource, type Listed } from './items';
import { Live } from './live';
import { frontPage } from './pages/front-page';
import { messagePage } from './pages/layout';
import { ICON, STYLE } from './pages/style';
import { Reception, fieldOf, sentence, type App, type Ctx, type Env, type ReceptionOptions } from './reception';
import { addChecks } from './routes/checks';
import { addPlans } from './routes/plans';
import { addSessions } from './routes/sessions';
import { addSignIn } from './routes/sign-in';
import { OpenPages } from './tell';

export interface InboxParts extends Omit<ReceptionOptions, 'origin'> {
  readonly service: Service;
  readonly contents: Store | null;
  readonly sources: readonly ItemSource[];
  readonly assets: Assets;
  /** Under which it is reached, first the one that sign-ins are for. */
  readonly origins: readonly [string, ...string[]];
  /** Whether those see the list who are not signed in. */
  readonly open: boolean;
  /** Most items of the list. */
  readonly limit: number;
}

const EVERY_MS = 1_000;
const PATIENCE_MS = 1_500;
const MAX_BODY_BYTES = 4 * MAX_TOKEN_CHARACTERS;

export function inboxApp(parts: InboxParts): App {
  const { service, journal, contents, origins } = parts;
  const live = { everyMs: EVERY_MS, told: (fault: unknown) => sentence(failureOf(fault).message) };
  const list = new Live<Listed>(() => allItems(parts.sources, parts.limit), live);
  const reception = new Reception({ ...parts, origin: origins[0] });
  const pages = new OpenPages();
  const app = new Hono<Env>();

  addGuard(app, origins);
  addAssets(app, parts.assets);
  app.use(async (c, next) => {
    await reception.meet(c);
    await next();
  });
  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: (c) => c.text('body_too_large\n', 413) }));
  app.post('/*', async (c, next) => {
    const token = c.req.header('x-form-token') ?? (await fieldOf(c, 'form_token'));
    if (reception.visitors.isFormToken(c.var.visit, token)) return next();
    const why = 'The form is older than this inbox, or not of this visit. Load the page again.';
    return reception.turnAway(c, 'form_stale', why);
  });
  addSignIn(app, reception);
  app.use(async (c, next) => {
    if (parts.open || c.var.reviewer !== null) return next();
    return reception.turnAway(c, 'signed_out', 'Sign in first.');
  });

  app.get('/', async (c) => {
    const page = frontPage(await list.look(PATIENCE_MS), service.client.options.namespace);
    return reception.show(c, page);
  });
  app.get('/live', (c) =>
    // Waits are told in minutes.
    pages.tell(c, list, ({ value, fault }) => JSON.stringify([value, fault, Math.floor(Date.now() / 60_000)])),
  );
  const common = { service, pages, live, patienceMs: PATIENCE_MS };
  addPlans(app, reception, { ...common, journal, contents, answered: () => list.forget() });
  if (journal !== null) {
    addSessions(app, reception, { ...common, journal });
    addChecks(app, reception, { ...common, journal });
  }

  app.notFound((c) => {
    const page = messagePage('Nothing here', 'There is no such page, or no such run is known.', '/');
    return reception.show(c as Ctx, page, 404);
  });
  app.onError((fault, c) => {
    // Before a visit is known there is no page to show it on.
    if (!('visit' in c.var)) return c.text(`${failureOf(fault).code}\n`, 502);
    const here = c.req.path.replace(/^\/+/, '/');
    return reception.refuse(c as Ctx, fault, (why) => messagePage('Not now', why, here));
  });
  return app;
}

function addGuard(app: App, origins: InboxParts['origins']): void {
  const own = new Set(origins);
  const [first] = origins;
  const { host } = new URL(first);
  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    const of = (name: string): string | undefined => c.req.header(name);
    const fetched = { site: of('sec-fetch-site'), mode: of('sec-fetch-mode'), dest: of('sec-fetch-dest') };
    const refused = denied({ method: c.req.method, host: of('host'), origin: of('origin'), ...fetched }, own);
    if (refused !== null) return c.text(`${refused.code}: ${refused.message}\n`, refused.status);
    // A browser keeps keys and cookies by name, so there is one name.
    if (of('host')?.toLowerCase() !== host) return c.redirect(`${first}${c.req.path}`, 307);
    return next();
  });
}

function addAssets(app: App, { script }: Assets): void {
  app.get('/style.css', (c) => c.body(STYLE, 200, { 'content-type': 'text/css; charset=utf-8' }));
  app.get('/icon.svg', (c) => c.body(ICON, 200, { 'content-type': 'image/svg+xml' }));
  app.get('/page.js', (c) => c.body(script, 200, { 'content-type': 'text/javascript; charset=utf-8' }));
}
