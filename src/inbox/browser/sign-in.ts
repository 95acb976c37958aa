/** Signing in with the key in this browser, and making it known. Invariant: it signs the one statement that the page came with. */
import { byId, partOf, say } from './page-parts';
import { makeOwnKey, ownKey, type OwnKey } from './own-key';
import { post } from './server';

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
