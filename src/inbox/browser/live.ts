/**
 * Keeping a page as the inbox would show it now. Invariant: a part is exchanged only when what the inbox says of it has changed, so focus,
 * selection, place and what was typed stay; while nobody answers, everything stays as it was, and the page says so.
 */
import { byId, say } from './page-parts';
import { adoptToken, fetchPage } from './server';

type Listener = (fresh: Document) => void;

export interface LivePage {
  /** Calls `listener` after each exchange, with the page as it was fetched. */
  onChange(listener: Listener): void;
  /** Fetches the page, and exchanges what has changed. */
  refresh(): Promise<void>;
}

/** What the inbox said last of each part, before any script of ours touched it. */
const served = new WeakMap<Element, string>();
/** A connection that is back soon is not worth a word. */
const SILENT_MS = 2_000;

export function keepLive(): LivePage {
  const listeners: Listener[] = [];
  for (const part of partsOf(document)) remember(part);
  const path = document.body.dataset['live'] ?? '';
  let fetching = false;
  let again = false;
  let shownAt = Date.now();
  const refresh = async (): Promise<void> => {
    again = fetching;
    if (fetching) return;
    fetching = true;
    const fresh = await fetchPage(location.pathname);
    if (fresh === null) {
      connectionSays(`The inbox cannot tell what is new. This is what was known at ${timeOf(shownAt)}.`);
    } else {
      shownAt = Date.now();
      connectionSays('');
      exchange(fresh);
      for (const listener of listeners) listener(fresh);
    }
    fetching = false;
    if (again) await refresh();
  };
  if (path !== '') follow(path, refresh);
  return { onChange: (listener) => void listeners.push(listener), refresh };
}

function follow(path: string, refresh: () => Promise<void>): void {
  let lostAt: number | null = null;
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
      connectionSays(`The inbox does not answer. This is what was known at ${timeOf(since)}.`);
      // After an answer that is no stream a browser gives up; we do not.
      if (source.readyState !== EventSource.CLOSED) return;
      lostAt = null;
      follow(path, refresh);
    }, SILENT_MS);
  });
}

const timeOf = (at: number): string => new Date(at).toLocaleTimeString();

function connectionSays(text: string): void {
  const place = byId('connection');
  if (place !== null) say(place, text);
}

function exchange(fresh: Document): void {
  adoptToken(fresh);
  for (const part of partsOf(document)) {
    const now = part.id === '' ? null : fresh.getElementById(part.id);
    if (now === null) continue;
    if (part.dataset['part'] === 'rows') exchangeRows(part, now);
    else if (served.get(part) !== now.outerHTML && !knowsLess(now, part)) replace(part, now);
  }
}

/** An inbox that was started anew has to be told first what the one before it was told. */
function knowsLess(now: HTMLElement, shown: HTMLElement): boolean {
  return now.dataset['untold'] !== undefined && shown.dataset['untold'] === undefined;
}

/** A row keeps its place among the others by its id; one that has not changed, and stands where it should, is not touched. */
function exchangeRows(part: HTMLElement, now: HTMLElement): void {
  const fresh = [...now.children] as HTMLElement[];
  const present = new Map([...part.children].map((row) => [row.id, row as HTMLElement]));
  const focused = document.activeElement?.closest('tr')?.id ?? '';
  const kept = new Set(fresh.map(({ id }) => id));
  for (const [id, row] of present) if (!kept.has(id)) row.remove();
  let next = part.firstElementChild;
  for (const row of fresh) {
    const known = present.get(row.id);
    const changed = known === undefined || served.get(known) !== row.outerHTML;
    const shown = changed ? adopted(row) : known;
    if (changed) shown.classList.add('changed');
    if (known === next && next !== null) {
      next = next.nextElementSibling;
      if (changed) known?.replaceWith(shown);
    } else {
      if (changed) known?.remove();
      part.insertBefore(shown, next);
    }
  }
  // What was moved or exchanged has lost the focus.
  if (focused !== '' && document.activeElement === document.body) {
    byId(focused)?.querySelector('a')?.focus({ preventScroll: true });
  }
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
