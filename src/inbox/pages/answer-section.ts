/**
 * Where a person answers: by the key in this browser, or by a receipt that was signed elsewhere. Invariant: the answer carries the head
 * that was shown; the page signs nothing, and offers only what some door would take.
 */
import type { Question } from '../../client';
import type { PlanLook } from '../plan-look';
import type { Viewer } from './layout';
import { html, NOTHING, type Html } from './template';
import { waysOn } from './ways-on';

/** What the script needs to make a statement, of what the page shows. */
export function questionForScript(question: Question): string {
  const { journalId, runId, lineage, planDigest, headDigest, asksApproval, rules, resolutions, doubtful, keys } =
    question;
  const reviewers = keys.keys.map(({ kid, roles, revoked }) => ({ kid, roles, revoked }));
  const roles = rules.map((rule) => rule.roles ?? null);
  return JSON.stringify({
    journalId,
    runId,
    lineage,
    planDigest,
    headDigest,
    asksApproval,
    roles,
    resolutions,
    doubtful,
    reviewers,
  });
}

export function answerSection(look: PlanLook, { formToken }: Viewer): Html {
  const { question, status, runId, plan, call } = look;
  if (question === null) return html`<div id="answer" data-head="${status === null ? 'unknown' : 'none'}"></div>`;
  const { asksApproval, headDigest, doubtful } = question;
  const effects = plan.effects.map(({ actionId, toolId }, ordinal) => ({ actionId, toolId, ordinal }));
  const inDoubt = effects.filter(({ actionId }) => doubtful.includes(actionId));
  return html`<section
    id="answer"
    aria-labelledby="answer-title"
    data-head="${headDigest}"
    data-question="${questionForScript(question)}"
  >
    <h2 id="answer-title">Your answer</h2>
    <p id="stale" class="notice bad" role="alert" hidden>
      The plan has moved on since this page was made. What you see above is new;
      <a href="/runs/${runId}">look at it again</a> before you answer.
    </p>
    <form id="own-answer" class="card needs-script" data-action="/runs/${runId}/answer">
      <fieldset id="own-fields">
        <legend>Sign with the key in this browser</legend>
        <p id="own-key-state" role="status">Looking for a key …</p>
        <div class="choices" role="radiogroup" aria-label="Decision">
          ${asksApproval ? choice('approve', 'Approve') : ''}
          ${asksApproval ? choice('reject', call === null ? 'Reject: end the plan' : 'Reject: the call is not made') : ''}
          ${waysOn(look).map(({ resolution, words }) => choice(resolution, words))}
        </div>
        ${inDoubt.length === 0 ? NOTHING : doubtFields(inDoubt, call !== null)}
        <p>
          <label for="role">In the role</label>
          <select id="role" name="role"></select>
        </p>
        <p>
          <label for="valid-for">Valid for</label>
          <select id="valid-for" name="valid_for">
            <option value="900">15 minutes</option>
            <option value="3600" selected>1 hour</option>
            <option value="86400">1 day</option>
            <option value="604800">7 days</option>
          </select>
        </p>
        <div class="row">
          <button id="sign-and-send">Sign and hand over</button>
          <button id="show-statement" type="button" class="quiet">Sign it elsewhere</button>
        </div>
        <p id="answer-state" role="status"></p>
      </fieldset>
      <div id="statement-place" hidden>
        <p>Sign this, and paste what comes out below:</p>
        <pre id="statement" class="command" tabindex="0" aria-label="Command that signs it"></pre>
      </div>
    </form>
    <form id="pasted-answer" class="card" method="post" action="/runs/${runId}/answer">
      <fieldset>
        <legend>Hand over a receipt that was signed elsewhere</legend>
        <p class="without-script">
          Make one with
          <code
            >npx countersign ${asksApproval ? 'approvals approve' : 'reviews resolve'} ${runId} --key NAME --out
            FILE</code
          >.
        </p>
        <input type="hidden" name="form_token" value="${formToken}" />
        <input type="hidden" name="head" value="${headDigest}" />
        <label for="receipt">Receipt</label>
        <textarea
          id="receipt"
          name="receipt"
          rows="3"
          required
          spellcheck="false"
          autocomplete="off"
          maxlength="8192"
        ></textarea>
        <button>Hand over</button>
      </fieldset>
    </form>
  </section>`;
}

function choice(value: string, label: string): Html {
  return html`<label class="choice"><input type="radio" name="decision" value="${value}" required /> ${label}</label>`;
}

/** A call is one effect: there is nothing to choose among, and sent again it may be done twice. */
function doubtFields(
  effects: readonly { readonly actionId: string; readonly toolId: string; readonly ordinal: number }[],
  isCall: boolean,
): Html {
  const checked = isCall ? html`checked` : '';
  return html`<div id="doubtful" hidden>
    <div role="group" aria-label="Effects that you speak of" ${isCall ? html`hidden` : ''}>
      ${effects.map(({ actionId, toolId, ordinal }) => html`<label class="choice"><input type="checkbox" name="action" value="${actionId}" ${checked} /> ${ordinal}: ${toolId}</label>`)}
    </div>
    ${
      isCall
        ? html`<p id="twice" hidden>
            <label class="choice"
              ><input type="checkbox" name="may_run_twice" /> I know that it may have happened, and may then happen
              twice</label
            >
          </p>`
        : ''
    }
    <p id="external" hidden>
      <label for="external-id">What its sink calls it, if you know</label>
      <input id="external-id" name="external_id" maxlength="512" autocomplete="off" spellcheck="false" />
    </p>
  </div>`;
}
