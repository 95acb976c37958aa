/**
 * What this browser says of each checkpoint of a run. Invariant: a checkpoint is valid only when the rules' own verifier went through the
 * lineage up to it, the stored witnesses derive it, and nothing that was found speaks against it.
 */
import { Findings, type Finding } from '../../verify/findings';
import { Mentions } from '../../verify/mentions';
import { verifyRun } from '../../verify/run';
import { entriesView, type SentRun } from './entries-view';

export interface ShownCheckpoint {
  readonly lineage: number;
  readonly sequence: number;
  readonly phase: string;
  readonly digest: string;
  readonly valid: boolean;
  /** What speaks against it, in words. */
  readonly why: readonly string[];
}

export interface Verdict {
  readonly valid: boolean;
  /** Made small: its checkpoints are gone, and only its record is left. */
  readonly retired: boolean;
  readonly checkpoints: readonly ShownCheckpoint[];
  readonly findings: readonly Finding[];
}

const PLACE = /\/lineage-([0-9]{4,})\/checkpoint-([0-9]{20})\.json$/;

export async function verdictOf(run: SentRun): Promise<Verdict> {
  const findings = new Findings(true);
  const whole = { journalId: run.journal_id, claimOf: null, mentions: new Mentions() };
  const report = await verifyRun(entriesView(run), findings, run.run_id, run.run_id, whole);
  const { kept } = findings;
  const ends = new Map(
    report.lineages.map(({ lineage, valid, head }) => [lineage ?? 0, valid ? Infinity : (head?.sequence ?? -1)]),
  );
  const checkpoints = run.entries.flatMap(([path, text]): ShownCheckpoint[] => {
    const [, lineage, sequence] = PLACE.exec(path) ?? [];
    if (lineage === undefined || sequence === undefined) return [];
    const at = { lineage: Number(lineage), sequence: Number(sequence) };
    const { phase, digest } = read(text);
    const why = kept.filter((finding) => speaksOf(finding, path, digest)).map(({ message }) => message);
    const reached = at.sequence <= (ends.get(at.lineage) ?? -1);
    if (!reached && why.length === 0) why.push('the chain is broken before it');
    return [{ ...at, phase, digest, valid: reached && why.length === 0, why }];
  });
  const retired = report.lineages.some(({ justified }) => justified === 'retired');
  return { valid: report.valid && report.justified && findings.failures === 0, retired, checkpoints, findings: kept };
}

/** Of the checkpoint itself, or of a witness that should lead to it. */
function speaksOf({ path }: Finding, checkpoint: string, digest: string): boolean {
  return path === checkpoint || (digest !== '' && path.includes('/witnesses/') && path.includes(digest.slice(7)));
}

/** Only to be shown: whether it is so, the verifier says. */
function read(text: string): { readonly phase: string; readonly digest: string } {
  try {
    const { phase, checkpoint_digest: digest } = JSON.parse(text) as Record<string, unknown>;
    return { phase: typeof phase === 'string' ? phase : '', digest: typeof digest === 'string' ? digest : '' };
  } catch {
    return { phase: 'unreadable', digest: '' };
  }
}
