/**
 * Keeping a page as the inbox would show it now. Invariant: a part is exchanged only when what the inbox says of it has changed, so focus,
 * selection, place and what was typed stay; while nobody answers, everything stays as it was, and the page says so.
 */
import { byId, say } from './page-parts';
import { fetchPage } from './server';

type Listener = (fresh: Document) => void;

export interface LivePage {
  /** Calls `listener` after each exchange, with the page as it was fetched. */
  onChange(listener: Listener): void;
}

/** What the inbox said last of each part, before any script of ours touched it. */
const served = new WeakMap<Element, string>();
/** A connection that is back soon is not worth a word. */
const SILENT_MS = 2_000;

export function keepLive(): LivePage {
  const listeners: Listener[] = [];
  for (const part of partsOf(document)) remember(part);
  const path = document.body.dataset['live'] ?? '';
  if (path !== '') follow(path, listeners);
  return { onChange: (listener) => void listeners.push(listener) };
}

function follow(path: string, listeners: readonly Listener[]): void {
  let fetching = false;
  let again = false;
  let lostAt: number | null = null;
  const refresh = async (): Promise<void> => {
    again = fetching;
    if (fetching) return;
    fetching = true;
    const fresh = await fetchPage(location.pathname);
    if (fresh !== null) {
      exchange(fresh);
      for (const listener of listeners) listener(fresh);
    }
    fetching = false;
    if (again) void refresh();
  };
  const source = new EventSource(path);
  source.addEventListener('message', () => void refresh());
  source.addEventListener('open', () => {
    lostAt = null;
    connectionSays('');
  });
  source.addEventListener('error', () => {
    lostAt ??= Date.now();
    const since = lostAt;
    setTimeout(() => {
      if (lostAt !== since) return;
      connectionSays(`The inbox does not answer. This is what was known at ${new Date(since).toLocaleTimeString()}.`);
    }, SILENT_MS);
    // After an answer that is no stream a browser gives up; we do not.
    if (source.readyState === EventSource.CLOSED) {
      setTimeout(() => {
        if (lostAt === since) follow(path, listeners);
      }, SILENT_MS);
    }
  });
}

function connectionSays(text: string): void {
  const place = byId('connection');
  if (place !== null) say(place, text);
}

function exchange(fresh: Document): void {
  const token = fresh.querySelector<HTMLMetaElement>('meta[name=form-token]')?.content;
  const meta = document.querySelector<HTMLMetaElement>('meta[name=form-token]');
  if (token !== undefined && meta !== null) {
    meta.content = token;
    for (const input of document.querySelectorAll<HTMLInputElement>('input[name=form_token]')) input.value = token;
  }
  for (const part of partsOf(document)) {
    const now = part.id === '' ? null : fresh.getElementById(part.id);
    if (now === null) continue;
    if (part.dataset['part'] === 'rows') exchangeRows(part, now);
    else if (served.get(part) !== now.outerHTML) replace(part, now);
  }
}

/** Rows keep their place among the others by their ids; one that has not changed is not touched. */
function exchangeRows(part: HTMLElement, now: HTMLElement): void {
  const present = new Map([...part.children].map((row) => [row.id, row as HTMLElement]));
  let next = part.firstElementChild;
  for (const row of [...now.children] as HTMLElement[]) {
    const known = present.get(row.id);
    present.delete(row.id);
    if (known !== undefined && served.get(known) === row.outerHTML) {
      if (known === next) next = next.nextElementSibling;
      else part.insertBefore(known, next);
      continue;
    }
    const made = adopted(row);
    if (known === undefined) part.insertBefore(made, next);
    else {
      const focused = known.contains(document.activeElement);
      if (known === next) next = next.nextElementSibling;
      known.replaceWith(made);
      if (made.nextElementSibling !== next) part.insertBefore(made, next);
      if (focused) made.querySelector<HTMLElement>('a')?.focus();
    }
    made.classList.add('changed');
  }
  for (const gone of present.values()) gone.remove();
}

function replace(part: HTMLElement, now: HTMLElement): void {
  const made = adopted(now);
  part.replaceWith(made);
}

function adopted(fresh: HTMLElement): HTMLElement {
  const made = document.importNode(fresh, true);
  remember(made);
  return made;
}

function remember(part: HTMLElement): void {
  served.set(part, part.outerHTML);
  if (part.dataset['part'] === 'rows') for (const row of part.children) served.set(row, row.outerHTML);
}

function partsOf(page: Document): readonly HTMLElement[] {
  return [...page.querySelectorAll<HTMLElement>('[data-part]')];
}
