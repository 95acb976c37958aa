/**
 * One session: where it stands, what it asks of people, its calls, and all that happened as one line of time. Invariant: codes, names and
 * times only; what a call is about is shown where it is decided.
 */
import { timesOfEntry, wordsOfEntry } from '../../cli/timeline-row';
import type { Approval } from '../../rules/invocations/approval';
import type { LedgerRow } from '../../rules/invocations/ledger';
import type { TimelineEntry } from '../../rules/invocations/timeline';
import type { InvocationStatus } from '../../rules/invocations/vocabulary';
import type { Seen } from '../live';
import type { SessionLook } from '../session-look';
import { moment, type Page } from './layout';
import { faultNote } from './notes';
import { recordVerdict } from './record-verdict';
import { html, type Html } from './template';
import { CALL_WORDS, EVENT_WORDS, SESSION_WORDS } from './words';

/** Entries that a page shows: those before them are told by the command line. */
export const MOST_SHOWN = 1_000;

export function sessionPage({ value: look, at, fault }: Seen<SessionLook>): Page {
  const { session, view, head } = look;
  const asked = [...view.approvals.values()].filter(({ status }) => status === 'pending');
  return {
    title: `Session ${session}`,
    live: `/sessions/${session}/live`,
    main: html`<h1>Session ${session}</h1>
      <section id="state" data-part aria-label="State">
        ${faultNote(fault, at)}
        <p class="lead">
          <strong>${SESSION_WORDS[view.status]}</strong>${view.ended?.code == null ? '' : html` (${view.ended.code})`},
          turn ${view.turn}.
        </p>
        <dl class="facts">
          <dt>Agent</dt>
          <dd>version <code>${view.started?.agentVersion}</code></dd>
          <dt>Started</dt>
          <dd>${view.started === null ? '' : moment(view.started.at)}</dd>
          <dt>Tokens</dt>
          <dd>${view.tokens}</dd>
          <dt>Head</dt>
          <dd>${head.sequence}, <code>${head.digest}</code></dd>
        </dl>
      </section>
      <section aria-labelledby="asked-title">
        <h2 id="asked-title">What is asked</h2>
        <div id="asked" data-part>
          ${
            asked.length === 0
              ? html`<p>No approval is asked of anybody.</p>`
              : html`<ul>
                  ${asked.map((one) => askedLine(one, look))}
                </ul>`
          }
        </div>
      </section>
      <section aria-labelledby="calls-title">
        <h2 id="calls-title">Its calls</h2>
        <div id="calls" data-part>${callsOf(look)}</div>
      </section>
      <section aria-labelledby="timeline-title">
        <h2 id="timeline-title">Timeline</h2>
        ${recordVerdict('session', session, `/sessions/${session}/entries`)}
        <div id="timeline" data-part>${timelineOf(look)}</div>
      </section>`,
  };
}

function askedLine({ callId, limit, route, approvals, votes, rule, expiresAt }: Approval, look: SessionLook): Html {
  const about =
    callId === null ? html`the limit of ${limit}` : callLink(callId, look.view.calls.get(callId)?.runId ?? null);
  return html`<li>
    ${about}: ${approvals} of ${route ?? 'any reviewer'}, as rule <code>${rule}</code> wants it; ${votes.length}
    there${expiresAt === null ? '' : html`, until ${moment(expiresAt)}`}
  </li>`;
}

function callLink(callId: string, runId: string | null): Html {
  return runId === null
    ? html`<code>${callId}</code>`
    : html`<a href="/runs/${runId}?call=${callId}"><code>${callId}</code></a>`;
}

/** How bad it looks. */
const LOOKS: Record<InvocationStatus, string> = {
  pending: 'pending',
  queued: 'pending',
  dispatched: 'pending',
  awaiting_approval: 'unknown',
  indeterminate: 'doubt',
  succeeded: 'committed',
  failed: 'failed',
};

function callsOf({ calls, view }: SessionLook): Html {
  if (calls.length === 0) return html`<p>The agent has called no tool yet.</p>`;
  const latest = calls.slice(-MOST_SHOWN);
  return html`${left(calls.length - latest.length, 'calls')}
    <table class="items story">
      <caption class="hidden">
        Calls, in the order in which the agent made them
      </caption>
      <thead>
        <tr>
          <th scope="col">Call</th>
          <th scope="col">Tool</th>
          <th scope="col">State</th>
          <th scope="col">Why</th>
          <th scope="col">Attempts</th>
          <th scope="col">Worker</th>
        </tr>
      </thead>
      <tbody>
        ${latest.map((row) => callRow(row, view.calls.get(row.call_id)?.runId ?? null))}
      </tbody>
    </table>`;
}

function callRow(
  { call_id: callId, tool, version, status, error_code, attempt, worker_identity }: LedgerRow,
  runId: string | null,
): Html {
  return html`<tr>
    <th scope="row" data-label="Call">${callLink(callId, runId)}</th>
    <td data-label="Tool">${tool}@${version}</td>
    <td data-label="State"><span class="state ${LOOKS[status]}">${CALL_WORDS[status]}</span></td>
    <td data-label="Why">${error_code}</td>
    <td data-label="Attempts">${attempt}</td>
    <td data-label="Worker">${worker_identity}</td>
  </tr>`;
}

function timelineOf({ timeline }: SessionLook): Html {
  const latest = timeline.slice(-MOST_SHOWN);
  return html`${left(timeline.length - latest.length, 'entries')}
    <table class="items story">
      <caption class="hidden">
        What happened, in the order of time
      </caption>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">What</th>
          <th scope="col">Call</th>
          <th scope="col">With</th>
          <th scope="col">Took</th>
        </tr>
      </thead>
      <tbody id="entries">
        ${latest.map(entryRow)}
      </tbody>
    </table>`;
}

function entryRow(entry: TimelineEntry): Html {
  return html`<tr>
    <td data-label="When">${moment(entry.at)}</td>
    <th scope="row" data-label="What">${EVENT_WORDS[entry.type]} <code class="small">${entry.type}</code></th>
    <td data-label="Call">${entry.callId === null ? '' : html`<code>${entry.callId}</code>`}</td>
    <td data-label="With">${wordsOfEntry(entry)}</td>
    <td data-label="Took">${timesOfEntry(entry)}</td>
  </tr>`;
}

function left(count: number, what: string): Html | string {
  return count === 0
    ? ''
    : html`<p class="notice">
        ${count} earlier ${what} are not shown; <code>npx countersign sessions inspect</code> tells all.
      </p>`;
}
