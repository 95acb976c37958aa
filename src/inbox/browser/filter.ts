/** Finding an item among many by keyboard: `/` to type, `j` and `k` to go. Invariant: rows are hidden, never removed, and nothing typed leaves the page. */
import { byId, say } from './page-parts';
import type { LivePage } from './live';

export function filterItems(live: LivePage): void {
  const rows = byId('items');
  const input = byId<HTMLInputElement>('filter');
  const told = byId('filtered');
  if (rows === null || input === null || told === null) return;
  const apply = (): void => {
    const words = input.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    let shown = 0;
    for (const row of rows.children as Iterable<HTMLElement>) {
      const text = (row.textContent ?? '').toLowerCase();
      const wanted = words.every((word) => text.includes(word));
      row.hidden = !wanted;
      if (wanted) shown += 1;
    }
    say(told, words.length === 0 ? '' : `${shown} of ${rows.children.length}`);
  };
  input.addEventListener('input', apply);
  live.onChange(apply);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, select') !== null;
    if (event.key === 'Escape' && event.target === input) {
      input.value = '';
      apply();
      input.blur();
    } else if (event.key === 'Enter' && event.target === input) step(rows, 1);
    else if (typing) return;
    else if (event.key === '/') input.focus();
    else if (event.key === 'j' || event.key === 'k') step(rows, event.key === 'j' ? 1 : -1);
    else return;
    event.preventDefault();
  });
}

function step(rows: HTMLElement, by: 1 | -1): void {
  const links = [...rows.querySelectorAll<HTMLElement>('tr:not([hidden]) th > a')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
}
