/**
 * One run folder: plan, epochs, slots, witnesses and lineages, checked against each other. Invariant: everything that a
 * driver writes for a run is looked at, and anything else in the folder is a finding.
 */
import { type EntryKind, type RecoveryCheckpoint, type RetiredJournalRecord } from '../rules/recovery';
import { parseRecord } from '../rules/fields';
import { contentJson } from '../rules/plans/content-json';
import { effectRecords, openingCheckpoint, planFromRecord, planToRecord, type GovernedPlan } from '../rules/plans/plan';
import { groundFault } from '../rules/receipts/grounds';
import { lineageName, openingWitness } from '../rules/receipts/lineage-record';
import { rederiveChain } from '../rules/sends/rederive';
import type { Slot } from '../rules/sends/slot';
import { deriveNext, type Witness } from '../rules/sends/witness';
import { rememberChain, type ChainDigests } from './chain-digests';
import { contradictions } from './claims';
import { firstDifference } from './difference';
import { Findings, type Divergence } from './findings';
import { LIFECYCLE_FOLDER } from '../activities/run-files';
import { readJobs } from './jobs';
import { readLifecycle } from './lifecycle';
import { verifyLineage, type LineageReport, type LinkCheck } from './lineage';
import { Mentions } from './mentions';
import { readReceipts, type ClaimOf, type RunReceipts } from './receipts';
import { callRunOf, claimsOf } from './session-calls';
import { SESSION_PARTS, readDemands, readSession } from './sessions';
import { SlotHeads, readEffectSlots, readEpochs, readSlots } from './slots';
import { joined, readRecord, type Entry, type JournalView } from './view';
import { claimedDigest, justify, storedWitnesses, type Justification } from './witnesses';

export interface RunReport {
  readonly path: string;
  readonly runId: string | null;
  readonly planDigest: string | null;
  readonly lineages: readonly LineageReport[];
  readonly valid: boolean;
  readonly justified: boolean;
  readonly epochs: number;
  readonly slots: { readonly begun: number; readonly closed: number; readonly ended: number };
  readonly receipts: number;
  /** Authorized launches. */
  readonly jobs: number;
  /** Records of a verification run. */
  readonly records: number;
  /** The session that it is; null of every other run. */
  readonly session: string | null;
  /** Events of a session. */
  readonly events: number;
}

const LINEAGE = /^lineage-([0-9]{4,})$/;
const PARTS: Readonly<Record<string, EntryKind>> = {
  'plan.json': 'file',
  witnesses: 'directory',
  epochs: 'directory',
  sends: 'directory',
  receipts: 'directory',
  resolutions: 'directory',
  lineages: 'directory',
  jobs: 'directory',
  lifecycle: 'directory',
  demands: 'directory',
  ...SESSION_PARTS,
};
const PLAN_FORMAT = {
  read: (bytes: Uint8Array) => parseRecord(bytes, 'plan', planFromRecord),
  text: (plan: GovernedPlan) => contentJson(planToRecord(plan)),
};

/** The journal that a run is of. */
interface Whole {
  readonly journalId: string | null;
  readonly claimOf: ClaimOf | null;
  /** Told of what this run says that is of interest to others. */
  readonly mentions: Mentions;
}

/** A run by itself: nothing says which journal it is of, nor which nonces were claimed. */
const noJournal = (): Whole => ({ journalId: null, claimOf: null, mentions: new Mentions() });

export function looksLikeRun(entries: readonly Entry[]): boolean {
  return entries.some(({ name }) => name in PARTS || LINEAGE.test(name));
}

const WITHOUT_PLAN: readonly string[] = ['jobs', LIFECYCLE_FOLDER, ...Object.keys(SESSION_PARTS)];

/** A run that launches or verifies, or is a session, and carries no plan. */
function hasNoPlan(entries: readonly Entry[]): boolean {
  return entries.length > 0 && entries.every(({ name, kind }) => WITHOUT_PLAN.includes(name) && kind === PARTS[name]);
}

function reportWithoutPlan(
  folder: string,
  runId: string | null,
  counts: Pick<RunReport, 'jobs' | 'records' | 'session' | 'events'>,
  valid: boolean,
): RunReport {
  const slots = { begun: 0, closed: 0, ended: 0 };
  const path = folder === '' ? '.' : folder;
  const none = { planDigest: null, lineages: [], epochs: 0, slots, receipts: 0 };
  return { ...none, path, runId, valid, justified: true, ...counts };
}

export async function verifyRun(
  view: JournalView,
  findings: Findings,
  folder: string,
  expectedRunId: string | null,
  whole: Whole = noJournal(),
  chains: ChainDigests | null = null,
): Promise<RunReport> {
  const faultsBefore = findings.faults;
  const entries = (await view.list(folder)) ?? [];
  const lifecycle = await readLifecycle(view, findings, folder, whole.journalId, expectedRunId);
  if (lifecycle !== null) whole.mentions.lifecycles.push(lifecycle);
  const jobs = await readJobs(view, findings, joined(folder, 'jobs'), expectedRunId, whole.claimOf);
  const events = await readSession(view, findings, folder, entries, expectedRunId);
  whole.mentions.claims.push(...claimsOf(folder, events ?? []));
  const session = events?.[0]?.sessionId ?? null;
  const counts = { jobs, records: lifecycle?.records ?? 0, session, events: events?.length ?? 0 };
  if (hasNoPlan(entries)) return reportWithoutPlan(folder, expectedRunId, counts, findings.faults === faultsBefore);
  const plan = await readPlan(view, findings, folder, entries, expectedRunId);
  const effects = plan === null ? null : effectRecords(plan);
  // Slots first: whatever a slot names was there before it, so a plan that runs meanwhile is not suspected.
  const slots = await readSlots(view, findings, joined(folder, 'sends'), effects);
  const epochs = await readEpochs(view, findings, joined(folder, 'epochs'));
  const heads = new SlotHeads(findings, joined(folder, 'sends'), slots, epochs);
  await readDemands(view, findings, folder, plan);
  await checkWitnessNames(view, findings, joined(folder, 'witnesses'));

  const receipts = await readReceipts(view, findings, folder, plan, whole.claimOf);
  const lineages: LineageReport[] = [];
  const unreadable = new Set<number>();
  let left: RecoveryCheckpoint | null = null;
  for (const number of lineageNumbers(entries, findings, folder)) {
    const path = joined(folder, lineageFolder(number));
    const people = { receipts, journalId: whole.journalId };
    const check: RunLinks = new RunLinks(view, findings, folder, plan, number, slots, heads, people, left);
    const report = await verifyLineage(view, findings, path, number, check);
    if (chains !== null) await rememberChain(view, chains, expectedRunId ?? plan?.runId ?? '', check.digests, report);
    if (!report.valid || report.justified === 'retired') unreadable.add(number);
    lineages.push(report);
    left = check.left;
  }
  heads.finish(unreadable);
  const call = callRunOf(folder, plan, slots, lineages, receipts);
  if (call !== null) whole.mentions.calls.set(call.runId, call);
  const all = [...slots.values()].flat();
  return {
    path: folder === '' ? '.' : folder,
    runId: plan?.runId ?? expectedRunId,
    planDigest: plan?.planDigest ?? null,
    lineages,
    valid: findings.faults === faultsBefore && lineages.every((lineage) => lineage.valid),
    justified: lineages.every(({ justified }) => justified === 'yes' || justified === 'retired'),
    epochs,
    slots: {
      begun: all.filter(({ record }) => record.state === 'begun').length,
      closed: all.filter(({ record }) => record.state === 'closed').length,
      ended: all.filter(({ end }) => end !== null).length,
    },
    receipts: receipts.count,
    ...counts,
  };
}

async function readPlan(
  view: JournalView,
  findings: Findings,
  folder: string,
  entries: readonly Entry[],
  expectedRunId: string | null,
): Promise<GovernedPlan | null> {
  const entry = entries.find(({ name }) => name === 'plan.json');
  if (entry === undefined) {
    findings.add('plan_missing', folder);
    return null;
  }
  const plan = await readRecord({ view, findings }, 'plan_invalid', folder, entry, PLAN_FORMAT);
  if (plan !== null && expectedRunId !== null && plan.runId !== expectedRunId) {
    findings.add('plan_misplaced', joined(folder, entry.name));
  }
  return plan;
}

/** Numbers of the lineages in order. What is neither a lineage nor another part of a run is a finding. */
function lineageNumbers(entries: readonly Entry[], findings: Findings, folder: string): readonly number[] {
  const numbers: number[] = [];
  for (const { name, kind } of entries) {
    const digits = LINEAGE.exec(name)?.[1];
    const number = Number(digits);
    if (digits !== undefined && kind === 'directory' && lineageFolder(number) === name) numbers.push(number);
    else if (PARTS[name] !== kind) findings.add('entry_unexpected', joined(folder, name));
  }
  numbers.sort((a, b) => a - b);
  const gap = numbers.findIndex((number, index) => number !== index + 1);
  if (gap >= 0) findings.add('lineage_missing', joined(folder, lineageFolder(gap + 1)));
  return numbers;
}

function lineageFolder(number: number): string {
  return `lineage-${lineageName(number)}`;
}

async function checkWitnessNames(view: JournalView, findings: Findings, folder: string): Promise<void> {
  for (const { name, kind } of (await view.list(folder)) ?? []) {
    if (kind !== 'directory' || !/^[0-9a-f]{64}$/.test(name)) findings.add('entry_unexpected', joined(folder, name));
  }
}

/** What a run knows about the links of one of its lineages. */
class RunLinks implements LinkCheck {
  readonly digests: string[] = [];
  /** The checkpoint at which the next lineage left this one. */
  left: RecoveryCheckpoint | null = null;
  private readonly opening: RecoveryCheckpoint | null;
  private readonly leaves: number | undefined;
  private last: { readonly after: string; readonly digest: string; readonly justification: Justification } | null =
    null;

  constructor(
    private readonly view: JournalView,
    private readonly findings: Findings,
    private readonly folder: string,
    private readonly plan: GovernedPlan | null,
    private readonly lineage: number,
    private readonly slots: Map<string, readonly Slot[]>,
    private readonly heads: SlotHeads,
    private readonly people: { readonly receipts: RunReceipts; readonly journalId: string | null },
    /** The checkpoint at which this lineage left the one before it. */
    private readonly from: RecoveryCheckpoint | null,
  ) {
    const record = people.receipts.lineages.get(lineage);
    this.leaves = people.receipts.lineages.get(lineage + 1)?.from.sequence;
    if (lineage === 1) this.opening = plan === null ? null : openingCheckpoint(plan);
    else if (record === undefined || from === null || from.checkpointDigest !== record.from.digest) this.opening = null;
    else this.opening = deriveNext(from, openingWitness(from, record)).checkpoint;
  }

  async expected(previous: RecoveryCheckpoint | null, bytes: Uint8Array): Promise<RecoveryCheckpoint | null> {
    if (previous === null) return this.opening;
    const digest = claimedDigest(bytes);
    return digest === null ? null : (await this.justified(previous, digest)).derived;
  }

  /** Asked before the file is read and again after it: the second answer is that of the first. */
  private async justified(previous: RecoveryCheckpoint, digest: string): Promise<Justification> {
    const after = previous.checkpointDigest;
    if (this.last?.after === after && this.last.digest === digest) return this.last.justification;
    const justification = await justify(this.view, this.findings, this.folder, previous, digest);
    this.last = { after, digest, justification };
    return justification;
  }

  async link(
    previous: RecoveryCheckpoint | null,
    next: RecoveryCheckpoint,
    path: string,
  ): ReturnType<LinkCheck['link']> {
    this.heads.meet(this.lineage, next);
    this.digests.push(next.checkpointDigest);
    if (Number(next.sequence) === this.leaves) this.left = next;
    if (previous === null) return this.first(next, path);
    const { findings } = this;
    const justified = await this.justified(previous, next.checkpointDigest);
    const { stored, faults, notCanonical } = justified;
    const witnesses = justified.witnesses.filter((witness) => this.isFounded(witness, previous, path));
    let divergence: Divergence | null = null;
    for (const { path: place, detail, derivesOther } of faults) {
      const apart = derivesOther === null ? null : firstDifference(derivesOther, next);
      divergence ??= apart;
      findings.add('witness_invalid', place, detail, apart);
    }
    for (const place of notCanonical) findings.add('not_canonical', place);
    if (witnesses.length === 0) {
      if (!stored) findings.add('witness_missing', path);
      const apart = divergence ?? without(next);
      findings.add('checkpoint_unjustified', path, null, apart);
      return { justified: false, divergence: apart };
    }
    const { words } = this.people.receipts;
    for (const witness of witnesses) {
      const slotsOf = (key: string): readonly Slot[] => this.slots.get(key) ?? [];
      const suspects = contradictions(this.lineage, previous, witness, slotsOf, words);
      if (suspects.length === 0) continue;
      await this.readAgain(suspects.map(({ key }) => key));
      for (const { ordinal, basis } of contradictions(this.lineage, previous, witness, slotsOf, words)) {
        findings.add('proof_contradicted', path, `effect ${ordinal}: ${basis}`);
      }
    }
    return { justified: true, divergence: null };
  }

  async retired(record: RetiredJournalRecord): Promise<readonly RecoveryCheckpoint[] | null> {
    if (this.opening === null) return null;
    const witnesses = await storedWitnesses(this.view, this.findings, joined(this.folder, 'witnesses'));
    return rederiveChain(this.opening, witnesses, record);
  }

  /** Whether the stored receipts uphold what this step says of people. */
  private isFounded(witness: Witness, head: RecoveryCheckpoint, path: string, lineage = this.lineage): boolean {
    const { journalId, receipts } = this.people;
    const fault = groundFault(witness, { journalId, lineage, head }, receipts);
    if (fault !== null) this.findings.add('decision_unfounded', path, fault);
    return fault === null;
  }

  /** Checkpoint 0 follows from the plan alone; in a later lineage, from its opening record and the checkpoint that it left. */
  private first(checkpoint: RecoveryCheckpoint, path: string): Awaited<ReturnType<LinkCheck['link']>> {
    const { opening, plan, from } = this;
    const record = this.people.receipts.lineages.get(this.lineage);
    if (this.lineage > 1 && (opening === null || record === undefined || from === null)) {
      this.findings.add('lineage_unopened', path);
      return { justified: false, divergence: null };
    }
    if (opening === null || plan === null) return { justified: false, divergence: null };
    const divergence = firstDifference(opening, checkpoint);
    if (divergence === null) {
      if (record === undefined || from === null) return { justified: true, divergence };
      return { justified: this.isFounded(openingWitness(from, record), from, path, record.from.lineage), divergence };
    }
    const foreign = checkpoint.planDigest !== plan.planDigest || checkpoint.runId !== plan.runId;
    const code = this.lineage > 1 ? 'lineage_unopened' : 'checkpoint_unjustified';
    this.findings.add(foreign ? 'lineage_foreign' : code, path, null, divergence);
    return { justified: false, divergence };
  }

  /** A driver may have gone on since the slots were read. */
  private async readAgain(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const aside = new Findings(false);
      const folder = joined(this.folder, `sends/${key}`);
      this.slots.set(key, await readEffectSlots(this.view, aside, folder));
    }
  }
}

function without(next: RecoveryCheckpoint): { sequence: number; field: string; expected: null; actual: string } {
  return { sequence: Number(next.sequence), field: 'witness', expected: null, actual: next.checkpointDigest };
}
