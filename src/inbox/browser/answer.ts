/**
 * Signing an answer to what a plan asks. Invariant: the statement is made of what the page shows, and is about its journal, run, lineage,
 * plan and head; once the plan has moved on, the page signs nothing more.
 */
import type { ApprovalDecision, Claims, Resolution } from '../../rules/receipts/claims';
import { statementToText } from '../../rules/receipts/statement';
import { byId, partOf, say } from './page-parts';
import type { LivePage } from './live';
import { ownKey, type OwnKey } from './own-key';
import { post } from './server';

/** As `answer-section.ts` writes it. */
interface Asked {
  readonly journalId: string;
  readonly runId: string;
  readonly lineage: number;
  readonly planDigest: string;
  readonly headDigest: string;
  readonly asksApproval: boolean;
  /** Of each rule; null is any. */
  readonly roles: readonly (readonly string[] | null)[];
  readonly resolutions: readonly Resolution[];
  readonly doubtful: readonly string[];
  readonly reviewers: readonly { readonly kid: string; readonly roles: readonly string[]; readonly revoked: boolean }[];
}

/** Said of the head while no worker answers. */
const UNKNOWN = 'unknown';
const MARKS: ReadonlySet<string> = new Set(['mark_committed', 'mark_absent']);

export async function answerWithOwnKey(live: LivePage): Promise<void> {
  const place = byId('answer');
  if (place === null) return;
  let stale = false;
  live.onChange((fresh) => {
    const now = fresh.getElementById('answer')?.dataset['head'] ?? UNKNOWN;
    if (now === UNKNOWN || now === place.dataset['head']) return;
    if (place.dataset['question'] === undefined) return location.reload(); // nothing is lost: nothing was asked
    stale = true;
    showStale(place);
  });
  const text = place.dataset['question'];
  if (text === undefined) return;
  const asked = JSON.parse(text) as Asked;
  const form = partOf<HTMLFormElement>('own-answer');
  const key = await ownKey().catch(() => null);
  showRoles(asked, key);
  form.addEventListener('change', () => showFields(form));
  partOf('show-statement').addEventListener('click', () => {
    if (!form.reportValidity()) return;
    partOf('statement-place').hidden = false;
    partOf('statement').textContent = `npx countersign keys sign NAME <<'END'\n${statementOf(form, asked)}\nEND`;
    partOf('statement').focus();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (key !== null && !stale) void signAndSend(form, asked, key);
  });
  if (key === null) partOf<HTMLButtonElement>('sign-and-send').disabled = true;
}

async function signAndSend(form: HTMLFormElement, asked: Asked, key: OwnKey): Promise<void> {
  const fields = partOf<HTMLFieldSetElement>('own-fields');
  const state = partOf('answer-state');
  try {
    const receipt = await key.sign(statementOf(form, asked));
    fields.disabled = true;
    say(state, 'Handing over …');
    const answer = await post(form.dataset['action'] ?? '', { receipt, head: asked.headDigest });
    say(
      state,
      answer.ok ? answer.message : `${answer.message} (${answer.code ?? 'refused'})`,
      answer.ok ? 'verified' : 'refuted',
    );
    fields.disabled = answer.ok;
  } catch (fault) {
    say(
      state,
      `This cannot be signed: ${fault instanceof Error ? fault.message : 'the key does not answer'}`,
      'refuted',
    );
    fields.disabled = false;
  }
}

function statementOf(form: HTMLFormElement, asked: Asked): string {
  const filled = new FormData(form);
  const decision = String(filled.get('decision') ?? '');
  const { journalId, runId, lineage, planDigest } = asked;
  const iat = Math.floor(Date.now() / 1000);
  const common = {
    journalId,
    runId,
    lineage,
    planDigest,
    role: String(filled.get('role') ?? ''),
    jti: `nonce_${[...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
    iat,
    exp: iat + Number(filled.get('valid_for')),
  };
  if (decision === 'approve' || decision === 'reject') {
    return statementToText({ kind: 'approval', ...common, decision: decision satisfies ApprovalDecision });
  }
  const actionIds = MARKS.has(decision) ? filled.getAll('action').map(String) : [];
  const external =
    decision === 'mark_committed' && actionIds.length === 1 ? String(filled.get('external_id') ?? '') : '';
  const claims: Claims = {
    kind: 'resolution',
    ...common,
    headDigest: asked.headDigest,
    resolution: decision as Resolution,
    actionIds,
    externalId: external === '' ? null : external,
  };
  return statementToText(claims);
}

/** The roles of the key that may decide here; of a key that is not known, every role that may. */
function showRoles({ roles, reviewers }: Asked, key: OwnKey | null): void {
  const known = reviewers.find(({ kid }) => kid === key?.kid);
  const able = (role: string): boolean =>
    roles.length === 0 || roles.some((some) => some === null || some.includes(role));
  const all = [...new Set([...roles.flatMap((some) => some ?? []), ...reviewers.flatMap((one) => one.roles)])];
  const offered = (known?.roles ?? all).filter(able);
  const select = partOf<HTMLSelectElement>('role');
  select.replaceChildren(...offered.map((role) => new Option(role, role)));
  const state = partOf('own-key-state');
  if (key === null)
    say(state, 'This browser has no key of yours. Make one on the page that signs you in, or sign elsewhere.');
  else if (known === undefined) say(state, `The workers do not know key ${key.kid} yet.`);
  else if (known.revoked) say(state, `Key ${key.kid} was revoked.`);
  else if (offered.length === 0) say(state, `Key ${key.kid} holds no role that may decide here.`);
  else say(state, `Key ${key.kid}`);
}

function showFields(form: HTMLFormElement): void {
  const doubtful = byId('doubtful');
  if (doubtful === null) return;
  const filled = new FormData(form);
  const decision = String(filled.get('decision') ?? '');
  doubtful.hidden = !MARKS.has(decision);
  partOf('external').hidden = decision !== 'mark_committed' || filled.getAll('action').length !== 1;
  const twice = byId('twice');
  if (twice === null) return;
  twice.hidden = decision !== 'mark_absent';
  for (const input of twice.querySelectorAll('input')) input.required = !twice.hidden;
}

function showStale(place: HTMLElement): void {
  const notice = byId('stale');
  if (notice !== null) notice.hidden = false;
  for (const button of place.querySelectorAll<HTMLButtonElement>('button')) button.disabled = true;
}
