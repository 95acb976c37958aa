/** Finding and making things on a page. Invariant: text is only ever set as text. */

/** Null when the page has no such element. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T | null {
  return document.getElementById(id) as T | null;
}

/** Of a place whose page always has it. */
export function partOf<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = byId<T>(id);
  if (found === null) throw new Error(`this page has no ${id}`);
  return found;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text: string,
  className = '',
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className !== '') made.className = className;
  return made;
}

export function say(place: HTMLElement, text: string, className = ''): void {
  place.textContent = text;
  if (className !== '') place.className = className;
  place.hidden = text === '';
}
