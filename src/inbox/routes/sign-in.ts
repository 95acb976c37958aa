/** Signing in and out. Invariant: who is signed in is a reviewer whose key answered a nonce of this very visit, and is given a new one. */
import { admittedSignIn } from '../../rules/receipts/sign-in';
import { messagePage } from '../pages/layout';
import { signInPage } from '../pages/sign-in-page';
import { fieldOf, wantsJson, type App, type Reception } from '../reception';

export function addSignIn(app: App, reception: Reception): void {
  const { visitors, options } = reception;
  const { reviewers, origin } = options;

  app.get('/sign-in', (c) => {
    if (reviewers !== null) return reception.show(c, signInPage(reception.challenge(c), reception.viewer(c), null));
    return reception.show(c, messagePage('Sign in', 'This inbox was given no reviewers.', '/'), 404);
  });

  app.post('/sign-in', async (c) => {
    if (reviewers === null) return c.notFound();
    try {
      const nonces = visitors.openNonces(c.var.visit);
      const asked = { now: Date.now(), keys: await reviewers.load(), origin, nonces };
      const { kid, person } = admittedSignIn(await fieldOf(c, 'receipt'), asked);
      reception.setVisit(c, visitors.admit(c.var.visit, { kid, person }));
      return wantsJson(c) ? c.json({ ok: true }) : c.redirect('/', 303);
    } catch (fault) {
      return reception.refuse(c, fault, (why) => signInPage(reception.challenge(c), reception.viewer(c), why));
    }
  });

  app.post('/sign-out', (c) => {
    visitors.leave(c.var.visit);
    reception.setVisit(c, visitors.idOf(undefined).id);
    return c.redirect('/', 303);
  });
}
