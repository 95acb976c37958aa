/** Sessions, or verification runs, each with the page that tells its story. Invariant: the list decides and starts nothing. */
import type { Listing, Listings } from '../listings';
import { moment, type Page } from './layout';
import { html, type Html } from './template';
import { SESSION_WORDS, wordsFor } from './words';

export function listingPage(title: string, { rows, more }: Listings, namespace: string): Page {
  return {
    title,
    live: null,
    main: html`<h1>${title}</h1>
      <p>Namespace <code>${namespace}</code>, newest first.</p>
      ${more ? html`<p class="notice">There are more than are shown.</p>` : ''}
      ${rows.length === 0 ? html`<p>There are none.</p>` : tableOf(title, rows)}`,
  };
}

function tableOf(title: string, rows: readonly Listing[]): Html {
  return html`<table class="items">
    <caption class="hidden">
      ${title}
    </caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">State</th>
        <th scope="col">Started</th>
      </tr>
    </thead>
    <tbody id="items">
      ${rows.map(row)}
    </tbody>
  </table>`;
}

function row({ name, href, status, isRunning, startedAt }: Listing): Html {
  const state = status === null || !isRunning ? (isRunning ? 'running' : 'ended') : wordsFor(SESSION_WORDS, status);
  return html`<tr>
    <th scope="row" data-label="Name"><a href="${href}">${name}</a></th>
    <td data-label="State">${state}</td>
    <td data-label="Started">${startedAt === null ? '' : moment(startedAt)}</td>
  </tr>`;
}
