/**
 * Asking the inbox that this page came from. Invariant: nothing is asked of anybody else, and an answer that is no answer of ours is a
 * fault that the page can say.
 */
export interface Answered {
  readonly ok: boolean;
  readonly code?: string;
  readonly message: string;
}

const AWAY: Answered = {
  ok: false,
  code: 'away',
  message: 'The inbox does not answer; what you signed was perhaps not handed over.',
};

export async function post(path: string, fields: Readonly<Record<string, string>>): Promise<Answered> {
  try {
    const answer = await posted(path, fields);
    if (answer.code !== 'form_stale') return answer;
    // The inbox was started anew, or another page of ours began another visit: its forms have a new token.
    adoptToken(await fetchPage(location.pathname));
    return await posted(path, fields);
  } catch {
    return AWAY;
  }
}

async function posted(path: string, fields: Readonly<Record<string, string>>): Promise<Answered> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { accept: 'application/json', 'x-form-token': metaOf(document, 'form-token') },
    body: new URLSearchParams(fields),
  });
  const answer = (await response.json()) as Partial<Answered>;
  return { message: '', ...answer, ok: answer.ok === true };
}

/** What a page says of itself in its head. */
export function metaOf(page: Document, name: 'form-token' | 'instance'): string {
  return page.querySelector<HTMLMetaElement>(`meta[name=${name}]`)?.content ?? '';
}

/** Takes over what the forms of a page that was fetched must bring back. */
export function adoptToken(fresh: Document | null): void {
  const token = fresh === null ? '' : metaOf(fresh, 'form-token');
  const meta = document.querySelector<HTMLMetaElement>('meta[name=form-token]');
  if (token === '' || meta === null) return;
  meta.content = token;
  for (const input of document.querySelectorAll<HTMLInputElement>('input[name=form_token]')) input.value = token;
}

/** This page as it is now; null when it cannot be had. */
export async function fetchPage(path: string): Promise<Document | null> {
  try {
    const response = await fetch(path, { headers: { accept: 'text/html' } });
    if (!response.ok || response.redirected) return null;
    return new DOMParser().parseFromString(trusted(await response.text()), 'text/html');
  } catch {
    return null;
  }
}

export async function fetchJson(path: string): Promise<unknown> {
  const response = await fetch(path, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`the inbox answered ${response.status}`);
  return response.json();
}

interface Policies {
  createPolicy(name: string, rules: { createHTML: (text: string) => string }): { createHTML(text: string): string };
}
/** Pages of ours are the only markup that is ever parsed; they came escaped from where this page came from. */
const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy('countersign-pages', {
  createHTML: (text) => text,
});
const trusted = (text: string): string => policy?.createHTML(text) ?? text;
