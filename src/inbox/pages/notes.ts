/** What a page says of itself. Invariant: what could not be read anew stays on the page, with the moment from which it is. */
import { moment } from './layout';
import { html, type Html } from './template';

/** Nothing while there is no fault. */
export function faultNote(fault: string | null, at: number): Html | string {
  return fault === null ? '' : html`<p class="notice">${fault} This is what was known at ${moment(at)}.</p>`;
}
