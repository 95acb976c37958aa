/**
 * Text to HTML. Invariant: whatever is put into a template is escaped unless it came out of a template itself, so nothing that was
 * written elsewhere is ever markup.
 */
import { html as template } from 'hono/html';
import type { HtmlEscapedString } from 'hono/utils/html';

export type Html = HtmlEscapedString;

/** Only for what is there already: a template that waits for something is a fault of ours. */
export function html(strings: TemplateStringsArray, ...values: readonly unknown[]): Html {
  const made = template(strings, ...values.map((value) => value ?? ''));
  if (made instanceof Promise) throw new TypeError('a page is made of what is there');
  return made;
}

export const NOTHING: Html = html``;
