/** Signing in with the key in this browser, and making it known. Invariant: it signs the one statement that the page came with. */
import { byId, partOf, say } from './page-parts';
import { makeOwnKey, ownKey, type OwnKey } from './own-key';
import { adoptToken, fetchPage, metaOf, post } from './server';
import type { LivePage } from './live';

export async function signInWithOwnKey(): Promise<void> {
  const place = byId('own-key');
  if (place === null) return;
  const state = partOf('key-state');
  const signIn = partOf<HTMLButtonElement>('sign-in');
  const make = partOf<HTMLButtonElement>('make-key');
  let key: OwnKey | null = null;
  const show = (): void => {
    signIn.hidden = key === null;
    make.hidden = key !== null;
    say(state, key === null ? 'This browser has no key of yours yet.' : `Key ${key.kid}`);
    if (key === null) return;
    partOf('enroll').hidden = false;
    partOf<HTMLTextAreaElement>('public-key').value = entryOf(key);
  };
  signIn.addEventListener('click', async () => {
    if (key === null) return;
    signIn.disabled = true;
    const answer = await post('/sign-in', { receipt: await key.sign(place.dataset['statement'] ?? '') });
    signIn.disabled = false;
    if (answer.ok) location.assign('/');
    else say(state, `${answer.message} (${answer.code ?? 'refused'}) Load the page again to try once more.`);
  });
  make.addEventListener('click', async () => {
    try {
      key = await makeOwnKey();
      show();
    } catch {
      say(state, 'This browser cannot make such a key, or may keep nothing. Use a key that is kept elsewhere.');
    }
  });
  key = await ownKey().catch(() => null);
  show();
}

/**
 * An inbox that was started anew knows nobody. Whoever was signed in here, and has not signed out, is signed in again by the key in this
 * browser, so that a page stays what it was.
 */
export function staySignedIn(live: LivePage): void {
  const isSignedIn = (page: Document): boolean => page.querySelector('#who form') !== null;
  let instance = metaOf(document, 'instance');
  let signedIn = isSignedIn(document);
  live.onChange((fresh) => {
    const anew = metaOf(fresh, 'instance') !== instance;
    const lost = anew && signedIn && !isSignedIn(fresh);
    instance = metaOf(fresh, 'instance');
    signedIn = isSignedIn(fresh);
    if (lost) void signInAgain().then((done) => (done ? live.refresh() : undefined));
  });
}

async function signInAgain(): Promise<boolean> {
  const key = await ownKey().catch(() => null);
  const page = key === null ? null : await fetchPage('/sign-in');
  const statement = page?.getElementById('own-key')?.dataset['statement'];
  if (key === null || page === null || statement === undefined) return false;
  adoptToken(page);
  return (await post('/sign-in', { receipt: await key.sign(statement) })).ok;
}

/** Whoever keeps the reviewers' keys fills in the last two. */
function entryOf({ kid, x }: OwnKey): string {
  const entry = {
    kty: 'OKP',
    crv: 'Ed25519',
    x,
    kid,
    use: 'sig',
    alg: 'EdDSA',
    countersign_person: 'person:example.org/WHO-YOU-ARE',
    countersign_roles: ['role:example.org/WHAT-YOU-MAY-DECIDE'],
  };
  return JSON.stringify(entry, null, 2);
}
