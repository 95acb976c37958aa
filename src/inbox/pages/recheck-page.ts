/** One recheck that is owed: of what, and how it is started. Invariant: the page only says so; nothing on it starts anything. */
import type { Obligation } from '../../rules/verification/obligations';
import { runIdOf } from '../../rules/verification/run';
import { moment, type Page } from './layout';
import { html } from './template';
import { OBLIGATION_WORDS } from './words';

export function recheckPage({ intentId, state, sittingId, pending, proposals, committedAt, source }: Obligation): Page {
  const { run } = source;
  return {
    title: 'A recheck',
    live: null,
    main: html`<h1>A recheck that is owed</h1>
      <p class="lead">${OBLIGATION_WORDS[state]}</p>
      <dl class="facts">
        <dt>Intent</dt>
        <dd><code>${intentId}</code></dd>
        <dt>Run that it rechecks</dt>
        <dd>
          <a href="/checks/${runIdOf(source.digest)}"><code>${runIdOf(source.digest)}</code></a>
        </dd>
        <dt>Sitting</dt>
        <dd><code>${sittingId}</code>, ${moment(committedAt)}</dd>
        <dt>Document</dt>
        <dd><code>${run.snapshot.selector.source}</code>, ${run.snapshot.selector.kind}</dd>
        <dt>Answered</dt>
        <dd>${proposals.length - pending.length} of ${proposals.length} proposals</dd>
      </dl>
      <h2>Its checks</h2>
      <ul>
        ${run.plan.checks.map(({ criterion, check }) => html`<li><code>${check}</code> of <code>${criterion}</code></li>`)}
      </ul>
      <h2>How it is started</h2>
      <p>
        By whoever can capture the document as it is now: exactly these checks, with the same executors, goal and
        boundary, on a capture that is newer than the sitting. Anything wider is refused before it begins. Nothing here
        starts it.
      </p>
      <pre class="command" tabindex="0" aria-label="Command that starts it">
npx countersign verify-run recheck DRAFT --intent ${intentId}</pre>`,
  };
}
