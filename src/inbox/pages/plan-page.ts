/**
 * One plan: what it would do, what each look-up said, what is asked, what was decided, and its chain. Invariant: what changes by itself
 * stands in parts that can be exchanged; what a person fills in does not, and is bound to the head that they were shown.
 */
import type { Question } from '../../client';
import { isParkReason } from '../../cli/follow';
import { isUntold, type PlanLook, type Said } from '../plan-look';
import type { Seen } from '../live';
import { answerSection } from './answer-section';
import { effectCards, type ShownContents } from './effect-cards';
import { moment, type Page, type Viewer } from './layout';
import { faultNote } from './notes';
import { html, NOTHING, type Html } from './template';
import { waysOn } from './ways-on';
import { PHASE_WORDS, REASON_WORDS, wordsFor } from './words';

export function planPage(seen: Seen<PlanLook>, viewer: Viewer, contents: ShownContents): Page {
  const look = seen.value;
  const { call, plan, runId } = look;
  return {
    title: call === null ? plan.workflowId : `${call.queue} of session ${call.session}`,
    live: `/runs/${runId}/live`,
    main: html`<h1>${call === null ? plan.workflowId : call.queue}</h1>
      ${call === null ? '' : html`<p>Call <code>${call.callId}</code> of session <a href="/sessions/${call.session}">${call.session}</a></p>`}
      <section id="state" data-part aria-label="State">${stateOf(seen)}</section>
      <section aria-labelledby="asked-title">
        <h2 id="asked-title">What is asked</h2>
        <div id="asked" data-part ${isUntold(look) ? html`data-untold` : ''}>${askedOf(look)}</div>
      </section>
      <section aria-labelledby="effects-title">
        <h2 id="effects-title">${plan.effects.length === 1 ? 'Its effect' : `Its ${plan.effects.length} effects`}</h2>
        ${contentsNote(contents, viewer)} ${effectCards(look, contents)}
      </section>
      ${answerSection(look, viewer)}
      <section aria-labelledby="chain-title">
        <h2 id="chain-title">Its chain</h2>
        <p id="journal-fault" class="notice bad" data-part ${look.journalFault === null ? html`hidden` : ''}>
          ${look.journalFault === null ? '' : `The journal refuses to say what it holds of this run: ${look.journalFault}.`}
        </p>
        ${chainPlace(look)}
      </section>
      <section aria-labelledby="history-title">
        <h2 id="history-title">What was decided</h2>
        <div id="history" data-part>${historyOf(look)}</div>
      </section>`,
  };
}

function stateOf({ value: look, at, fault }: Seen<PlanLook>): Html {
  const { status, silent, written, plan, runId } = look;
  const head = status?.head ?? written?.head ?? null;
  const phase = status?.phase ?? written?.phase ?? null;
  return html`${faultNote(fault, at)}
    ${silent ? html`<p class="notice">No worker answers for this plan now. ${status === null ? 'What follows is what its history and its journal say.' : 'What follows is what was said last.'}</p>` : ''}
    <p class="lead">
      <strong
        >${[status?.state, phase === null ? undefined : wordsFor(PHASE_WORDS, phase)].filter(Boolean).join(', ')}</strong
      >. ${status?.reason == null ? '' : reasonOf(status.reason)}
    </p>
    ${status?.message == null ? '' : html`<p>${status.message}</p>`}
    <dl class="facts">
      <dt>Run</dt>
      <dd><code>${runId}</code></dd>
      <dt>Plan</dt>
      <dd><code>${plan.planDigest}</code></dd>
      <dt>Head</dt>
      <dd>${head === null ? 'no checkpoint yet' : html`${head.sequence}, <code>${head.digest}</code>`}</dd>
      ${
        status?.observed_at == null
          ? ''
          : html`<dt>Sinks asked</dt>
              <dd>${moment(status.observed_at)}</dd>`
      }
    </dl>`;
}

function reasonOf(reason: NonNullable<NonNullable<PlanLook['status']>['reason']>): string {
  return isParkReason(reason) ? wordsFor(REASON_WORDS, reason) : `(${reason})`;
}

function askedOf(look: PlanLook): Html {
  const { plan, question, status } = look;
  if (question === null) {
    return status === null ? html`<p>It cannot be asked now.</p>` : html`<p>Nothing is asked of anybody.</p>`;
  }
  const { rules, asksApproval, deadlineMs, requesters, have } = question;
  const ways = waysOn(look);
  return html`${
      asksApproval
        ? html`<p>Approvals:</p>
            <ul>
              ${rules.map(ruleOf)}
            </ul>`
        : ''
    }
    ${ways.length === 0 ? '' : html`<p>Possible resolutions: ${ways.map(({ words }) => words.toLowerCase()).join('; ')}.</p>`}
    ${deadlineMs === null ? '' : html`<p>Something follows in ${Math.ceil(deadlineMs / 60_000)} min if nobody answers.</p>`}
    <p>Who asked: ${requesterOf(plan.requester, requesters)}.</p>
    ${
      have.length === 0
        ? html`<p>Nobody has answered yet.</p>`
        : html`<p>There already:</p>
            <ul>
              ${have.map(({ says, role, kid, expiresAt }) => html`<li><strong>${says}</strong> by key <code>${kid}</code>${role === null ? '' : html` as ${role}`}, until ${moment(expiresAt)}</li>`)}
            </ul>`
    }`;
}

function ruleOf({ approvals, roles, signedRequest }: Question['rules'][number]): Html {
  const who = roles === undefined ? 'any reviewer' : roles.join(' or ');
  return html`<li>${approvals} of ${who}${signedRequest === true ? ', and a signed request' : ''}</li>`;
}

function requesterOf(named: string | null, signed: readonly string[]): string {
  if (named === null) return signed.length > 0 ? 'somebody who has signed so' : 'nobody is named';
  return signed.includes(named)
    ? 'the person whom the plan names, who has signed so'
    : 'the plan names a person, who has not signed';
}

const CONTENT_NOTES: Record<ShownContents['state'], string> = {
  shown: '',
  signed_out: 'Sign in to see what they would do.',
  no_store: 'This inbox was given no content store, so it cannot show what they would do.',
};

function contentsNote({ state }: ShownContents, { canSignIn }: Viewer): Html {
  if (state === 'shown') return NOTHING;
  const link = state === 'signed_out' && canSignIn ? html` <a href="/sign-in">Sign in</a>` : '';
  return html`<p class="notice">${CONTENT_NOTES[state]}${link}</p>`;
}

function chainPlace({ written, runId, journalFault }: PlanLook): Html {
  if (written === null && journalFault === null) {
    return html`<p>This inbox was given no journal that holds this run, so there is no chain to verify here.</p>`;
  }
  return html`<p class="without-script">
      Its chain is verified in the browser, by script; without it, run <code>npx countersign verify</code>.
    </p>
    <div id="chain" class="needs-script" data-run="${runId}" data-entries="/runs/${runId}/entries">
      <p id="chain-verdict" role="status">Verifying in this browser …</p>
      <div id="chain-picture" class="scrolls" tabindex="0" role="region" aria-label="Picture of the chain"></div>
      <ol id="chain-list" class="checkpoints"></ol>
      <ul id="chain-findings"></ul>
    </div>`;
}

function historyOf({ said, written }: PlanLook): Html {
  if (said.length === 0) {
    return html`<p>
      ${written === null ? 'Only a journal keeps decisions, and this inbox has none of this run.' : 'Nobody has decided anything yet.'}
    </p>`;
  }
  return html`<ol>
    ${said.map(historyLine)}
  </ol>`;
}

function historyLine({ says, role, kid, signedAt, expiresAt, keptAt, receipt, lineage }: Said): Html {
  return html`<li>
    <strong>${says}</strong> by key
    <code>${kid}</code>${role === null ? '' : html` as ${role}`}${lineage === 1 ? '' : html`, lineage ${lineage}`}:
    signed ${moment(signedAt)}, valid until ${moment(expiresAt)}, kept ${moment(keptAt)}
    <code class="small">${receipt}</code>
  </li>`;
}
