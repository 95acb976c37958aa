/** Where the browser says what it found of the records below. Invariant: what stands there without the script is that nothing was verified. */
import { html, type Html } from './template';

/** `entries`: where the browser gets the records. It keeps its verdict while the page changes. */
export function recordVerdict(kind: 'session' | 'run', name: string, entries: string): Html {
  return html`<p class="without-script">
      Its records are verified in the browser, by script; without it, run <code>npx countersign verify</code>.
    </p>
    <div class="needs-script">
      <p id="log-verdict" role="status" data-kind="${kind}" data-name="${name}" data-entries="${entries}">
        Verifying in this browser …
      </p>
    </div>`;
}
