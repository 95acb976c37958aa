/**
 * One verification run: its jobs with their leases, what it asks, its results, and all that happened in order. Invariant: the page starts
 * and authorizes nothing; it leads to the commands that do.
 */
import type { Obligation } from '../../rules/verification/obligations';
import type { Seen } from '../live';
import { hexOf } from '../items/verification';
import type { LookedJob, RunLook } from '../run-look';
import { jobName, shortOf, storyOf, type StoryLine } from '../run-story';
import { moment, type Page } from './layout';
import { faultNote } from './notes';
import { recordVerdict } from './record-verdict';
import { html, NOTHING, type Html } from './template';
import { JOB_REASON_WORDS, JOB_WORDS, LIFECYCLE_WORDS, OBLIGATION_WORDS } from './words';

export function runPage({ value: look, at, fault }: Seen<RunLook>, owed: readonly Obligation[] | null): Page {
  const { runId, book } = look;
  const { run, digest } = book.must;
  return {
    title: `Run ${runId}`,
    live: `/checks/${runId}/live`,
    main: html`<h1>A run of checks</h1>
      <section id="state" data-part aria-label="State">
        ${faultNote(fault, at)}
        ${book.outcome === null && look.status === null ? html`<p class="notice">No worker answers for this run now. What follows is what the journal says.</p>` : ''}
        <p class="lead">
          <strong>${book.outcome ?? 'open'}</strong
          >${look.status === null ? '' : `, ${look.status.phase.replaceAll('_', ' ')}`}.
        </p>
        <dl class="facts">
          <dt>Run</dt>
          <dd><code>${runId}</code>, ${run.kind}</dd>
          <dt>Digest</dt>
          <dd><code>${digest}</code></dd>
          <dt>Document</dt>
          <dd><code>${run.snapshot.selector.source}</code>, ${run.snapshot.selector.kind}</dd>
        </dl>
      </section>
      <section aria-labelledby="asked-title">
        <h2 id="asked-title">What is asked</h2>
        <div id="asked" data-part>${askedOf(look)}</div>
      </section>
      <section aria-labelledby="jobs-title">
        <h2 id="jobs-title">Its launches</h2>
        <div id="jobs" data-part>${jobsOf(look)}</div>
      </section>
      <section aria-labelledby="results-title">
        <h2 id="results-title">Its results</h2>
        <div id="results" data-part>${resultsOf(look, owed)}</div>
      </section>
      <section aria-labelledby="timeline-title">
        <h2 id="timeline-title">Timeline</h2>
        ${recordVerdict('run', runId, `/checks/${runId}/entries`)}
        <div id="timeline" data-part>${timelineOf(look)}</div>
      </section>`,
  };
}

/** What a receipt would fix, in the order in which a person reads it. */
const FIXED = ['provider', 'model', 'cost_ceiling', 'content_boundary', 'context_digest', 'plan_digest'] as const;

function askedOf({ status, runId }: RunLook): Html {
  const wants = status?.wants ?? null;
  if (wants === null) return html`<p>No launch waits for anybody.</p>`;
  return html`<p>
      A person is to authorize one launch, until ${moment(wants.until)}. It is made once, and never tried again.
    </p>
    <dl class="facts">
      ${FIXED.map(
        (field) =>
          html`<dt>${field.replaceAll('_', ' ')}</dt>
            <dd>${String(wants.claims[field])}</dd>`,
      )}
    </dl>
    <pre class="command" tabindex="0" aria-label="Command that authorizes it">
npx countersign verify-run authorize ${runId} --key NAME</pre>`;
}

function jobsOf({ jobs, book }: RunLook): Html {
  if (jobs.length === 0) return html`<p>It launches nothing: all of its checks run in the workers.</p>`;
  return html`<table class="items story">
    <caption class="hidden">
      Launches, in their order
    </caption>
    <thead>
      <tr>
        <th scope="col">Job</th>
        <th scope="col">State</th>
        <th scope="col">Why it ended</th>
        <th scope="col">Lease</th>
        <th scope="col">Submission</th>
      </tr>
    </thead>
    <tbody>
      ${jobs.map((job) => jobRow(job, book))}
    </tbody>
  </table>`;
}

const LOOKS: Readonly<Record<string, string>> = { completed: 'committed', failed: 'failed', unavailable: 'failed' };

function jobRow({ planned, slot }: LookedJob, book: RunLook['book']): Html {
  const { executor, jobId } = planned;
  const job = book.jobs.get(jobId);
  const state = job?.state ?? 'planned';
  const until = book.receipts.get(jobId)?.expiresAt ?? null;
  return html`<tr>
    <th scope="row" data-label="Job">
      ${jobName(planned)} <code class="small">${executor.provider} ${executor.model}</code>
    </th>
    <td data-label="State"><span class="state ${LOOKS[state] ?? 'pending'}">${JOB_WORDS[state]}</span></td>
    <td data-label="Why it ended">
      ${job?.reason == null ? '' : html`${JOB_REASON_WORDS[job.reason]} ${job.refusal === null ? '' : html`<code>${job.refusal}</code>`}`}
    </td>
    <td data-label="Lease">
      ${until === null ? 'not authorized' : html`authorized until ${moment(until)}`}${slot === null ? '' : html`; ${slot.state} ${moment(slot.openedAt)}, for ${slot.deadlineMs} ms`}
    </td>
    <td data-label="Submission">${job?.submission == null ? '' : html`<code>${shortOf(job.submission)}</code>`}</td>
  </tr>`;
}

function resultsOf({ book }: RunLook, owed: readonly Obligation[] | null): Html {
  const proposals = [...book.proposals()];
  return html`${book.results.length === 0 ? html`<p>None yet.</p>` : NOTHING}
    <ul>
      ${book.results.map(({ digest, result: { check, outcome } }) => html`<li><strong>${outcome.replaceAll('_', ' ')}</strong>: <code>${check.check}</code> of <code>${check.criterion}</code> <code class="small">${shortOf(digest)}</code></li>`)}
      ${proposals.map(([id, addresses]) => html`<li>proposal <code>${id}</code> addresses ${addresses.length === 1 ? '1 result' : `${addresses.length} results`}</li>`)}
      ${(owed ?? []).map(({ intentId, state }) => html`<li><a href="/rechecks/${hexOf(intentId)}">A recheck</a>: ${OBLIGATION_WORDS[state]}</li>`)}
    </ul>
    ${owed === null ? html`<p class="notice">Whether a recheck is owed cannot be said: the journal does not read as it should.</p>` : ''}`;
}

function timelineOf(look: RunLook): Html {
  return html`<table class="items story">
    <caption class="hidden">
      What happened, in the order of the records
    </caption>
    <thead>
      <tr>
        <th scope="col">Record</th>
        <th scope="col">What</th>
        <th scope="col">Job</th>
        <th scope="col">With</th>
        <th scope="col">When</th>
      </tr>
    </thead>
    <tbody id="entries">
      ${storyOf(look).map(storyRow)}
    </tbody>
  </table>`;
}

function storyRow({ sequence, type, job, said, at, event }: StoryLine): Html {
  const why = event.type === 'job_moved' && event.reason !== null ? ` ${JOB_REASON_WORDS[event.reason]}` : '';
  return html`<tr>
    <td data-label="Record">${sequence}</td>
    <th scope="row" data-label="What">${LIFECYCLE_WORDS[type]} <code class="small">${type}</code></th>
    <td data-label="Job">${job}</td>
    <td data-label="With">${said}${why === '' ? '' : html`<strong>${why}</strong>`}</td>
    <td data-label="When">${at === null ? '' : moment(at)}</td>
  </tr>`;
}
