/**
 * The effects of a plan, one card each. Invariant: a content stands beside the digest that the plan has of it, with all that the digest
 * covers, so that the browser can say whether it is what the plan is about.
 */
import { isUntold, type PlanLook } from '../plan-look';
import { effectRecords } from '../../rules/plans/plan';
import { argumentsTable } from './arguments-table';
import { html, type Html } from './template';
import { DOUBT_WORDS, PROOF_WORDS, wordsFor } from './words';

/** One operation as the content store holds it, or why it does not: a code. */
export type ShownContent = { readonly salt: string; readonly operation: unknown } | { readonly missing: string };

export type ShownContents =
  | { readonly state: 'signed_out' | 'no_store' }
  /** In the order of the effects. `schema`: of a call, what its arguments were checked against. */
  | { readonly state: 'shown'; readonly contents: readonly ShownContent[]; readonly schema: unknown };

export function effectCards(look: PlanLook, contents: ShownContents): Html {
  const keys = effectRecords(look.plan).map(({ idempotencyKey }) => idempotencyKey);
  return html`<ol class="cards" start="0">
    ${look.plan.effects.map((effect, ordinal) => {
      const content = contents.state === 'shown' ? contents.contents[ordinal] : undefined;
      return html`<li class="card">
        <h3>${effect.toolId}</h3>
        <div id="effect-${ordinal}" data-part ${isUntold(look) ? html`data-untold` : ''}>${stateOf(look, ordinal)}</div>
        ${contents.state !== 'shown' || content === undefined || 'missing' in content ? '' : argumentsTable(contents.schema, content.operation, ordinal)}
        ${content === undefined ? '' : contentOf(content, ordinal, effect)}
        <details>
          <summary>Digests and keys</summary>
          <dl class="facts">
            <dt>Action</dt>
            <dd><code>${effect.actionId}</code></dd>
            <dt>Kind</dt>
            <dd>${effect.kind}, compensation ${effect.compensationLimit}</dd>
            <dt>Operation</dt>
            <dd><code>${effect.operationDigest}</code></dd>
            <dt>Key at its sink</dt>
            <dd><code>${keys[ordinal]}</code></dd>
          </dl>
        </details>
      </li>`;
    })}
  </ol>`;
}

function stateOf({ status, question, written, plan }: PlanLook, ordinal: number): Html {
  const live = status?.effects[ordinal];
  const kept = written?.effects[ordinal];
  const state = live?.state ?? kept?.state ?? 'unknown';
  const doubt = live?.doubt ?? (live === undefined ? kept?.doubt : null) ?? null;
  const inDoubt = doubt !== null || question?.doubtful.includes(plan.effects[ordinal]?.actionId ?? '') === true;
  return html`<p>
      <span class="state ${inDoubt ? 'doubt' : state}">${inDoubt ? 'in doubt' : state.replace('_', ' ')}</span>
      ${lookUpWords(live?.state, doubt, live?.proof ?? null)}
    </p>
    ${kept === undefined || kept.slots.begun + kept.slots.closed === 0 ? '' : html`<p class="small">${slotWords(kept.slots)}</p>`}`;
}

function lookUpWords(state: string | undefined, doubt: string | null, proof: string | null): string {
  if (doubt !== null) return wordsFor(DOUBT_WORDS, doubt);
  if (proof === null && state === 'unknown')
    return 'It may have been sent since its sink was asked, and will be looked up.';
  return proof === null ? 'Its sink has not been asked yet.' : wordsFor(PROOF_WORDS, proof);
}

function slotWords({
  begun,
  closed,
  open,
  lastEnd,
}: NonNullable<PlanLook['written']>['effects'][number]['slots']): string {
  const sends = `${begun} ${begun === 1 ? 'send' : 'sends'} begun, ${closed} closed before they were, ${open} without an end`;
  return lastEnd === null ? `${sends}.` : `${sends}; the last ended as ${lastEnd.replace('_', ' ')}.`;
}

function contentOf(content: ShownContent, ordinal: number, effect: { toolId: string; operationDigest: string }): Html {
  if ('missing' in content) return html`<p class="notice">What it would do cannot be shown: ${content.missing}.</p>`;
  return html`<p class="small" id="covered-${ordinal}">What it would do, as the workers hold it:</p>
    <pre
      class="content scrolls"
      tabindex="0"
      aria-labelledby="covered-${ordinal}"
      data-salt="${content.salt}"
      data-tool="${effect.toolId}"
      data-digest="${effect.operationDigest}"
    >
${JSON.stringify(content.operation, null, 2)}</pre>
    <p class="small needs-script" data-verdict role="status"></p>`;
}
