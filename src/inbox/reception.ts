/**
 * What every route needs of whoever asks: their visit, what they are shown, how they are refused. Invariant: somebody is a reviewer only
 * while a key of theirs counts, asked anew with each request; a page and the cookie of its visit go out together.
 */
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { failureOf, type Failure } from '../cli/failure';
import type { Reviewers, Store } from '../ports';
import type { Challenge } from './pages/sign-in-page';
import { layout, messagePage, type Page, type Viewer } from './pages/layout';
import type { IdentityProvider } from './oidc';
import { Visitors, type Reviewer } from './visitors';

export type Env = { Variables: { visit: string; fresh: boolean; reviewer: Reviewer | null } };
export type Ctx = Context<Env>;
export type App = Hono<Env>;
type Answer = Response | Promise<Response>;
type Status = 200 | 400 | 403 | 404 | 409 | 502;

const STATUS_OF_EXIT: Record<Failure['exit'], Status> = {
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

export interface ReceptionOptions {
  /** Whose keys may sign in. Null: nobody signs in by a key. */
  readonly reviewers: Reviewers | null;
  readonly provider: IdentityProvider | null;
  readonly journal: Store | null;
  /** The address that sign-ins are for. */
  readonly origin: string;
}

export class Reception {
  readonly visitors = new Visitors(() => performance.now());
  private readonly cookie: string;

  constructor(readonly options: ReceptionOptions) {
    this.cookie = cookieName(options.origin);
  }

  /** Finds out who asks. */
  async meet(c: Ctx): Promise<void> {
    const { provider } = this.options;
    const { id, fresh } = this.visitors.idOf(getCookie(c, this.cookie));
    c.set('visit', id);
    c.set('fresh', fresh);
    const header = (name: string): string | undefined => c.req.header(name);
    const byToken = provider === null ? null : await provider.reviewerOf(getConnInfo(c).remote.address, header);
    const reviewer = this.visitors.reviewer(id) ?? byToken;
    c.set('reviewer', reviewer !== null && (await this.counts(reviewer)) ? reviewer : null);
  }

  /** One whose key was revoked, or who is nobody's any more, is a reviewer no longer. */
  private async counts({ kid, person }: Reviewer): Promise<boolean> {
    const keys = (await this.options.reviewers?.load())?.keys ?? [];
    return keys.some((key) => !key.revoked && key.person === person && (kid === null || key.kid === kid));
  }

  viewer(c: Ctx): Viewer {
    return {
      reviewer: c.var.reviewer,
      formToken: this.visitors.formToken(c.var.visit),
      instance: this.visitors.instance,
      hasStories: this.options.journal !== null,
      canSignIn: this.options.reviewers !== null,
    };
  }

  challenge(c: Ctx): Challenge {
    return { origin: this.options.origin, nonce: this.visitors.challenge(c.var.visit), now: Date.now() };
  }

  setVisit(c: Ctx, id: string): void {
    const secure = this.options.origin.startsWith('https:');
    setCookie(c, this.cookie, this.visitors.cookieOf(id), { httpOnly: true, sameSite: 'Strict', path: '/', secure });
  }

  show(c: Ctx, page: Page, status: Status = 200): Answer {
    // With the page whose forms are bound to it, and with nothing else that is asked for at the same time.
    if (c.var.fresh) this.setVisit(c, c.var.visit);
    return c.html(layout(page, this.viewer(c)), status);
  }

  /** `page` shows the sentence to people; scripts get it as data. */
  refuse(c: Ctx, fault: unknown, page: (sentence: string) => Page): Answer {
    const { code, message, exit } = failureOf(fault);
    const said = sentence(message);
    if (wantsJson(c)) return c.json({ ok: false, code, message: said }, STATUS_OF_EXIT[exit]);
    return this.show(c, page(`${said} (${code})`), STATUS_OF_EXIT[exit]);
  }

  /** What the inbox itself does not take. */
  turnAway(c: Ctx, code: 'form_stale' | 'signed_out', message: string): Answer {
    if (wantsJson(c)) return c.json({ ok: false, code, message }, 403);
    return code === 'signed_out'
      ? c.redirect('/sign-in', 303)
      : this.show(c, messagePage('Not taken', message, '/'), 403);
  }
}

/** Names its port, as cookies of one host are sent to every port of it. */
function cookieName(origin: string): string {
  const { port, protocol } = new URL(origin);
  return protocol === 'https:' ? '__Host-countersign' : `countersign-${port}`;
}

export function wantsJson(c: Context): boolean {
  return c.req.header('accept')?.includes('application/json') === true;
}

export function sentence(message: string): string {
  const text = `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** A field of a form that was sent; '' when there is none, or a file. */
export async function fieldOf(c: Context, name: string): Promise<string> {
  const value = (await c.req.parseBody().catch(() => ({}) as Record<string, unknown>))[name];
  return typeof value === 'string' ? value.trim() : '';
}
