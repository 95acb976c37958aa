/** The command that signs a statement where the key is. Invariant: a statement is canonical JSON of ASCII, so it can end no here-document. */
import { html, type Html } from './template';

export function signCommand(statement: string): Html {
  const text = `npx countersign keys sign NAME <<'END'\n${statement}\nEND`;
  return html`<pre class="command" tabindex="0" aria-label="Command that signs it">${text}</pre>`;
}
