/** All that waits for a person, riskiest first. Invariant: each row has a stable id, so that a change moves and marks no other row. */
import { ITEM_KINDS, KIND_TITLES, type Item, type Listed } from '../items';
import type { Seen } from '../live';
import { ago, moment, type Page } from './layout';
import { html, type Html } from './template';
import { LAUNCH_WORDS, OBLIGATION_WORDS, REASON_WORDS, wordsFor } from './words';

/** Of every kind of item: their codes differ. */
const WHY = { ...REASON_WORDS, ...OBLIGATION_WORDS, ...LAUNCH_WORDS };

export function frontPage({ value, at, fault }: Seen<Listed>, namespace: string): Page {
  const { items, more } = value;
  const counts = ITEM_KINDS.map(
    (kind) => [KIND_TITLES[kind], items.filter((item) => item.kind === kind).length] as const,
  );
  return {
    title: 'What waits for you',
    live: '/live',
    main: html`<h1>What waits for you</h1>
      <p id="counts" data-part>
        Namespace <code>${namespace}</code>:
        ${counts.map(([title, count]) => html`<span class="count">${title.toLowerCase()}s <strong>${count}</strong></span> `)}
      </p>
      <p id="fault" class="notice" role="status" data-part ${fault === null ? html`hidden` : ''}>
        ${fault === null ? '' : html`${fault} This is what was known at ${moment(at)}.`}
      </p>
      ${more ? html`<p class="notice">There are more than are shown; the riskiest of those that were looked at come first.</p>` : ''}
      <p class="filter needs-script">
        <label for="filter">Filter</label>
        <input
          id="filter"
          type="search"
          autocomplete="off"
          spellcheck="false"
          aria-controls="items"
          aria-describedby="filter-help"
        />
        <span id="filter-help" class="help">Press / to type, Escape to clear; j and k go down and up.</span>
        <span id="filtered" role="status"></span>
      </p>
      <table class="items">
        <caption class="hidden">
          What waits, riskiest first
        </caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Name</th>
            <th scope="col">Why</th>
            <th scope="col">Asked for</th>
            <th scope="col">Done</th>
            <th scope="col">Waits</th>
          </tr>
        </thead>
        <tbody id="items" data-part="rows">
          ${items.map((item) => row(item, at))}
        </tbody>
      </table>
      <p id="none" data-part ${items.length === 0 ? '' : html`hidden`}>Nothing waits for anybody.</p>`,
  };
}

function row({ id, kind, name, href, session, reason, asks, progress, since }: Item, now: number): Html {
  return html`<tr id="item-${id}">
    <td data-label="What"><span class="kind ${kind}">${KIND_TITLES[kind]}</span></td>
    <th scope="row" data-label="Name">
      <a href="${href}">${name ?? id}</a>
      <code class="small">${id}</code>
      ${session === null ? '' : html`<span class="small">of session <a href="/sessions/${session}">${session}</a></span>`}
    </th>
    <td data-label="Why">${wordsFor(WHY, reason)}</td>
    <td data-label="Asked for">${asks}</td>
    <td data-label="Done">${progress}</td>
    <td data-label="Waits">${ago(since, now)}</td>
  </tr>`;
}
