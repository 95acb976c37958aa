/**
 * The routes of an inbox. Invariant: the guard is passed before anything else; a content is read only for a reviewer whose key, or
 * person, counts at this moment; a decision goes through the same door as every other, and nothing here can make one.
 */
import { getConnInfo } from '@hono/node-server/conninfo';
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { Contents } from '../activities/contents';
import { failureOf, type Failure } from '../cli/failure';
import type { Service } from '../cli/service';
import type { Reviewers, Store } from '../ports';
import { isRunId } from '../rules/recovery';
import { admittedSignIn } from '../rules/receipts/sign-in';
import { MAX_TOKEN_CHARACTERS } from '../rules/receipts/jws';
import { handOver } from './answer';
import type { Assets } from './assets';
import { shownContents } from './contents';
import { runEntriesText } from './entries';
import { HEADERS, denied } from './guard';
import { allItems, type ItemSource, type Listed } from './items';
import { hexOf, owedRechecks } from './items/rechecks';
import { Live } from './live';
import type { IdentityProvider } from './oidc';
import { frontPage } from './pages/front-page';
import { layout, messagePage, type Page, type Viewer } from './pages/layout';
import { planPage } from './pages/plan-page';
import { recheckPage } from './pages/recheck-page';
import { signInPage } from './pages/sign-in-page';
import { ICON, STYLE } from './pages/style';
import { lookAt, type PlanLook } from './plan-look';
import { OpenPages } from './tell';
import { Visitors, type Reviewer } from './visitors';

export interface InboxParts {
  readonly service: Service;
  readonly journal: Store | null;
  readonly contents: Store | null;
  /** Whose keys may sign in. Null: nobody signs in by a key. */
  readonly reviewers: Reviewers | null;
  readonly provider: IdentityProvider | null;
  readonly sources: readonly ItemSource[];
  readonly assets: Assets;
  /** Under which it is reached, first the one that sign-ins are for. */
  readonly origins: readonly [string, ...string[]];
  /** Whether those see the list who are not signed in. */
  readonly open: boolean;
  /** Most items of the list. */
  readonly limit: number;
}

type Env = { Variables: { visit: string; fresh: boolean; reviewer: Reviewer | null } };
type Ctx = Context<Env>;

const EVERY_MS = 1_000;
/** How long a page waits for an answer before it shows what is known. */
const PATIENCE_MS = 1_500;
const MAX_BODY_BYTES = 4 * MAX_TOKEN_CHARACTERS;
const MOST_WATCHED_RUNS = 500;

const STATUS_OF_EXIT: Record<Failure['exit'], 400 | 403 | 404 | 409 | 502> = {
  done: 409,
  service_failure: 502,
  invalid_input: 400,
  denied: 403,
  review_required: 409,
  cancelled: 409,
  conflict: 409,
  no_adapter: 502,
  interrupted: 502,
};

export function inboxApp(parts: InboxParts): Hono<Env> {
  const { service, journal, origins, provider } = parts;
  const visitors = new Visitors(() => performance.now());
  const pages = new OpenPages();
  const cookie = cookieName(origins[0]);
  const told = (fault: unknown): string => sentence(failureOf(fault).message);
  const list = new Live<Listed>(() => allItems(parts.sources, parts.limit), { everyMs: EVERY_MS, told });
  const runs = new Map<string, Live<PlanLook | null>>();
  const runLive = (runId: string): Live<PlanLook | null> => {
    const known = runs.get(runId);
    if (known !== undefined) return known;
    for (const [id, live] of runs) if (runs.size >= MOST_WATCHED_RUNS && !live.watched) runs.delete(id);
    const live = new Live<PlanLook | null>((before) => lookAt(service, journal, runId, before), {
      everyMs: EVERY_MS,
      told,
    });
    runs.set(runId, live);
    return live;
  };

  const viewerOf = (c: Ctx): Viewer => ({
    reviewer: c.var.reviewer,
    formToken: visitors.formToken(c.var.visit),
    instance: visitors.instance,
    canSignIn: parts.reviewers !== null,
  });
  const setVisit = (c: Ctx, id: string): void => {
    const secure = origins[0].startsWith('https:');
    setCookie(c, cookie, visitors.cookieOf(id), { httpOnly: true, sameSite: 'Strict', path: '/', secure });
  };
  const show = (c: Ctx, page: Page, status: 200 | 400 | 403 | 404 | 409 | 502 = 200): Response | Promise<Response> => {
    // With the page whose forms are bound to it, and with nothing else that is asked for at the same time.
    if (c.var.fresh) setVisit(c, c.var.visit);
    return c.html(layout(page, viewerOf(c)), status);
  };
  /** One whose key was revoked, or who is nobody's any more, is signed in no longer. */
  const isStillReviewer = async ({ kid, person }: Reviewer): Promise<boolean> => {
    const keys = (await parts.reviewers?.load())?.keys ?? [];
    return keys.some((key) => !key.revoked && key.person === person && (kid === null || key.kid === kid));
  };

  const app = new Hono<Env>();

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    const of = (name: string): string | undefined => c.req.header(name);
    const refused = denied(
      {
        method: c.req.method,
        host: of('host'),
        origin: of('origin'),
        site: of('sec-fetch-site'),
        mode: of('sec-fetch-mode'),
        dest: of('sec-fetch-dest'),
      },
      new Set(origins),
    );
    if (refused !== null) return c.text(`${refused.code}: ${refused.message}\n`, refused.status);
    // A browser keeps keys and cookies by name, so there is one name.
    if (of('host')?.toLowerCase() !== new URL(origins[0]).host) return c.redirect(`${origins[0]}${c.req.path}`, 307);
    await next();
  });

  app.get('/style.css', (c) => c.body(STYLE, 200, { 'content-type': 'text/css; charset=utf-8' }));
  app.get('/icon.svg', (c) => c.body(ICON, 200, { 'content-type': 'image/svg+xml' }));
  app.get('/page.js', (c) => c.body(parts.assets.script, 200, { 'content-type': 'text/javascript; charset=utf-8' }));

  app.use(async (c, next) => {
    const { id, fresh } = visitors.idOf(getCookie(c, cookie));
    c.set('visit', id);
    c.set('fresh', fresh);
    const known = visitors.reviewer(id);
    const token = provider === null ? null : await provider.reviewerOf(peerOf(c), (name) => c.req.header(name));
    const reviewer = known ?? token;
    c.set('reviewer', reviewer !== null && (await isStillReviewer(reviewer)) ? reviewer : null);
    await next();
  });

  app.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: (c) => c.text('body_too_large\n', 413) }));

  app.get('/sign-in', (c) => {
    if (parts.reviewers === null)
      return show(c, messagePage('Sign in', 'This inbox was given no reviewers.', '/'), 404);
    return show(c, signInPage(challengeOf(c), viewerOf(c), null));
  });
  const challengeOf = (c: Ctx): { origin: string; nonce: string; now: number } => ({
    origin: origins[0],
    nonce: visitors.challenge(c.var.visit),
    now: Date.now(),
  });

  app.post('/*', async (c, next) => {
    const form = await c.req.parseBody().catch(() => ({}));
    const token = c.req.header('x-form-token') ?? ('form_token' in form ? form['form_token'] : undefined);
    if (visitors.isFormToken(c.var.visit, token)) return next();
    const why = 'The form is older than this inbox, or not of this visit. Load the page again.';
    return wantsJson(c)
      ? c.json({ ok: false, code: 'form_stale', message: why }, 403)
      : show(c, messagePage('Not taken', why, '/'), 403);
  });

  app.post('/sign-in', async (c) => {
    const { receipt } = await c.req.parseBody();
    if (parts.reviewers === null) return c.text('not_found\n', 404);
    try {
      const keys = await parts.reviewers.load();
      const nonces = visitors.openNonces(c.var.visit);
      const answer = typeof receipt === 'string' ? receipt.trim() : '';
      const { kid, person } = admittedSignIn(answer, { now: Date.now(), keys, origin: origins[0], nonces });
      setVisit(c, visitors.admit(c.var.visit, { kid, person }));
      return wantsJson(c) ? c.json({ ok: true }) : c.redirect('/', 303);
    } catch (fault) {
      const { code, message, exit } = failureOf(fault);
      if (wantsJson(c)) return c.json({ ok: false, code, message }, STATUS_OF_EXIT[exit]);
      return show(c, signInPage(challengeOf(c), viewerOf(c), `${sentence(message)} (${code})`), STATUS_OF_EXIT[exit]);
    }
  });

  app.post('/sign-out', (c) => {
    visitors.leave(c.var.visit);
    setVisit(c, visitors.idOf(undefined).id);
    return c.redirect('/', 303);
  });

  app.use(async (c, next) => {
    if (parts.open || c.var.reviewer !== null) return next();
    return wantsJson(c)
      ? c.json({ ok: false, code: 'signed_out', message: 'Sign in first.' }, 403)
      : c.redirect('/sign-in', 303);
  });

  app.get('/', async (c) => show(c, frontPage(await list.look(PATIENCE_MS), service.client.options.namespace)));
  app.get('/live', (c) =>
    pages.tell(c, list, ({ value, fault }) => JSON.stringify([value, fault, Math.floor(Date.now() / 60_000)])),
  );

  app.get('/rechecks/:intent', async (c) => {
    const owed = journal === null ? [] : await owedRechecks(journal);
    const one = owed.find(({ intentId }) => hexOf(intentId) === c.req.param('intent'));
    return one === undefined ? c.notFound() : show(c, recheckPage(one));
  });

  app.use('/runs/:run/*', async (c, next) => {
    if (!isRunId(c.req.param('run'))) return c.notFound();
    return next();
  });

  app.get('/runs/:run', async (c) => {
    const seen = await runLive(c.req.param('run')).look(PATIENCE_MS);
    const { value } = seen;
    if (value === null) return c.notFound();
    const contents = await shownContents(
      parts.contents === null ? null : new Contents(parts.contents),
      value.plan,
      c.var.reviewer,
    );
    return show(c, planPage({ ...seen, value }, viewerOf(c), contents));
  });
  app.get('/runs/:run/live', (c) =>
    pages.tell(c, runLive(c.req.param('run')), ({ value, fault }) =>
      JSON.stringify([value, fault, c.var.reviewer === null]),
    ),
  );
  app.get('/runs/:run/entries', async (c) => {
    if (journal === null) return c.notFound();
    return c.body(await runEntriesText(journal, c.req.param('run')), 200, { 'content-type': 'application/json' });
  });

  app.post('/runs/:run/answer', async (c) => {
    const { receipt, head } = await c.req.parseBody();
    const runId = c.req.param('run');
    const back = `/runs/${runId}`;
    try {
      const seenHead = typeof head === 'string' ? head : '';
      const answer = await handOver(service, runId, seenHead, typeof receipt === 'string' ? receipt.trim() : '');
      runLive(runId).forget();
      list.forget();
      const message = `Handed over. The plan is ${answer.state}${answer.reason === null ? '' : ` (${answer.reason})`}.`;
      return wantsJson(c) ? c.json({ ok: true, message }) : show(c, messagePage('Handed over', message, back));
    } catch (fault) {
      const { code, message, exit } = failureOf(fault);
      if (wantsJson(c)) return c.json({ ok: false, code, message: sentence(message) }, STATUS_OF_EXIT[exit]);
      return show(c, messagePage('Not taken', `${sentence(message)} (${code})`, back), STATUS_OF_EXIT[exit]);
    }
  });

  app.notFound((c) =>
    show(c as Ctx, messagePage('Nothing here', 'There is no such page, or no such run is known.', '/'), 404),
  );
  app.onError((fault, c) => {
    const { code, message, exit } = failureOf(fault);
    // Before a visit is known there is no page to show it on.
    if (!('visit' in c.var)) return c.text(`${code}\n`, 502);
    return show(
      c as Ctx,
      messagePage('Not now', `${sentence(message)} (${code})`, c.req.path.replace(/^\/+/, '/')),
      STATUS_OF_EXIT[exit],
    );
  });
  return app;
}

function peerOf(c: Ctx): string | undefined {
  return getConnInfo(c).remote.address;
}

/** Names its port, as cookies of one host are sent to every port of it. */
function cookieName(origin: string): string {
  const { port, protocol } = new URL(origin);
  return protocol === 'https:' ? '__Host-countersign' : `countersign-${port}`;
}

function wantsJson(c: Ctx): boolean {
  return c.req.header('accept')?.includes('application/json') === true;
}

function sentence(message: string): string {
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
