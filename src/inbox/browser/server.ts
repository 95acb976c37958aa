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
    const response = await fetch(path, {
      method: 'POST',
      headers: { accept: 'application/json', 'x-form-token': formToken() },
      body: new URLSearchParams(fields),
    });
    const answer = (await response.json()) as Partial<Answered>;
    return { message: '', ...answer, ok: answer.ok === true };
  } catch {
    return AWAY;
  }
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

function formToken(): string {
  return document.querySelector<HTMLMetaElement>('meta[name=form-token]')?.content ?? '';
}

interface Policies {
  createPolicy(name: string, rules: { createHTML: (text: string) => string }): { createHTML(text: string): string };
}
/** Pages of ours are the only markup that is ever parsed; they came escaped from where this page came from. */
const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy('countersign-pages', {
  createHTML: (text) => text,
});
const trusted = (text: string): string => policy?.createHTML(text) ?? text;
