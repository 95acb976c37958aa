/** Signing in by a key: in this browser, or elsewhere. Invariant: the page asks for a signature about one nonce and never for a key. */
import { SIGN_IN_MS } from '../../rules/receipts/sign-in';
import { statementToText } from '../../rules/receipts/statement';
import { signCommand } from './sign-command';
import { html } from './template';
import type { Page, Viewer } from './layout';

export interface Challenge {
  readonly origin: string;
  readonly nonce: string;
  /** Unix milliseconds. */
  readonly now: number;
}

export function signInPage({ origin, nonce, now }: Challenge, { formToken }: Viewer, refused: string | null): Page {
  const iat = Math.floor(now / 1000);
  const statement = statementToText({ kind: 'signin', origin, jti: nonce, iat, exp: iat + SIGN_IN_MS / 1000 });
  return {
    title: 'Sign in',
    live: null,
    main: html`<h1>Sign in</h1>
      ${refused === null ? '' : html`<p class="notice bad" role="alert">${refused}</p>`}
      <p>
        Who is signed in sees what the effects of a plan would do. It decides nothing: each decision is signed by
        itself.
      </p>
      <section id="own-key" class="needs-script card" aria-labelledby="own-key-title" data-statement="${statement}">
        <h2 id="own-key-title">With the key in this browser</h2>
        <p id="key-state" role="status">Looking for a key …</p>
        <div class="row">
          <button id="sign-in" type="button" hidden>Sign in</button>
          <button id="make-key" type="button" hidden>Make a key</button>
        </div>
        <div id="enroll" hidden>
          <p>
            The key stays in this browser and cannot be taken out of it. Whoever keeps the reviewers’ keys enters its
            public half, and says who you are and what you may decide:
          </p>
          <label for="public-key">Public half, for the reviewers’ JWKS</label>
          <textarea id="public-key" readonly rows="12" spellcheck="false"></textarea>
        </div>
      </section>
      <section class="card" aria-labelledby="elsewhere-title">
        <h2 id="elsewhere-title">With a key that is kept elsewhere</h2>
        <p>Sign this within ${SIGN_IN_MS / 60_000} minutes, and paste what comes out:</p>
        ${signCommand(statement)}
        <form method="post" action="/sign-in" id="pasted-sign-in">
          <input type="hidden" name="form_token" value="${formToken}" />
          <label for="receipt">Signed answer</label>
          <textarea
            id="receipt"
            name="receipt"
            rows="4"
            required
            spellcheck="false"
            autocomplete="off"
            maxlength="8192"
          ></textarea>
          <button>Sign in</button>
        </form>
      </section>`,
  };
}
