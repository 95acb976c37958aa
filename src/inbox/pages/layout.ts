/**
 * What every page has: its head, the line on top, and where what changes stands. Invariant: no script and no style stands in a page; a
 * page is whole without any script.
 */
import type { Reviewer } from '../visitors';
import { html, type Html } from './template';

/** Who looks, and what their forms must bring back. */
export interface Viewer {
  readonly reviewer: Reviewer | null;
  readonly formToken: string;
  /** The process that answers. */
  readonly instance: string;
  /** Whether there is a journal that tells of sessions and of verification runs. */
  readonly hasStories: boolean;
  /** Whether reviewers can sign in here at all. */
  readonly canSignIn: boolean;
}

export interface Page {
  readonly title: string;
  readonly main: Html;
  /** Where changes of this page are told; null of one that does not change. */
  readonly live: string | null;
}

export function layout({ title, main, live }: Page, viewer: Viewer): Html {
  const { hasStories } = viewer;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="form-token" content="${viewer.formToken}" />
        <meta name="instance" content="${viewer.instance}" />
        <title>${title} – Countersign</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/style.css" />
        <script src="/page.js" defer></script>
      </head>
      <body data-live="${live}">
        <a class="skip" href="#main">To the content</a>
        <header>
          <a class="home" href="/">Countersign inbox</a>
          ${hasStories ? html`<nav aria-label="All"><a href="/sessions">Sessions</a> <a href="/checks">Runs of checks</a></nav>` : ''}
          <span id="who" class="who" data-part>${whoLine(viewer)}</span>
        </header>
        <p id="connection" class="notice" role="status" hidden></p>
        <main id="main" tabindex="-1">${main}</main>
      </body>
    </html>`;
}

function whoLine({ reviewer, formToken, canSignIn }: Viewer): Html {
  if (reviewer === null) return canSignIn ? html`<a href="/sign-in">Sign in</a>` : html`Nobody can sign in here`;
  return html`<span
      >Signed in${reviewer.kid === null ? '' : html` with key <code>${reviewer.kid.slice(0, 12)}</code>`}</span
    >
    <form method="post" action="/sign-out">
      <input type="hidden" name="form_token" value="${formToken}" />
      <button class="quiet">Sign out</button>
    </form>`;
}

/** A page that says one thing. */
export function messagePage(title: string, sentence: string, back: string): Page {
  return {
    title,
    live: null,
    main: html`<h1>${title}</h1>
      <p>${sentence}</p>
      <p><a href="${back}">Go on</a></p>`,
  };
}

/** `3 min`, `2 h`, `5 d` */
export function ago(since: number | null, now: number): string {
  if (since === null) return '';
  const minutes = Math.max(0, Math.floor((now - since) / 60_000));
  if (minutes < 60) return `${minutes} min`;
  return minutes < 2_880 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1_440)} d`;
}

export function moment(at: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`;
}
