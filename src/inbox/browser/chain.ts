/** The chain of a plan as a picture and as a list. Invariant: both say of each checkpoint what this browser found, and nothing that it was told. */
import { PHASE_WORDS, wordsFor } from '../pages/words';
import { byId, element, partOf, say } from './page-parts';
import type { LivePage } from './live';
import { fetchJson } from './server';
import type { SentRun } from './entries-view';
import { verdictOf, type ShownCheckpoint, type Verdict } from './verdicts';

export async function showChain(live: LivePage): Promise<void> {
  const place = byId('chain');
  if (place === null) return;
  let verifying = false;
  let again = false;
  const verify = async (): Promise<void> => {
    again = verifying;
    if (verifying) return;
    verifying = true;
    await verifyNow(place.dataset['entries'] ?? '');
    verifying = false;
    if (again) void verify();
  };
  live.onChange(() => void verify());
  await verify();
}

async function verifyNow(path: string): Promise<void> {
  const verdict = partOf('chain-verdict');
  try {
    const found = await verdictOf((await fetchJson(path)) as SentRun);
    say(verdict, wordsOf(found), found.valid ? 'verified' : 'refuted');
    partOf('chain-picture').replaceChildren(picture(found.checkpoints));
    partOf('chain-list').replaceChildren(...found.checkpoints.map(line));
    const others = found.findings.map(({ path, message }) => element('li', `${path}: ${message}`));
    partOf('chain-findings').replaceChildren(...others);
  } catch {
    // What was verified stays: it is about checkpoints that never change.
    if (verdict.className === '') say(verdict, 'The chain cannot be had now, so nothing is verified.');
  }
}

function wordsOf({ valid, retired, checkpoints }: Verdict): string {
  const invalid = checkpoints.filter((checkpoint) => !checkpoint.valid).length;
  if (!valid)
    return `✗ This browser found ${invalid === 0 ? 'faults beside its checkpoints' : `${invalid} invalid of ${checkpoints.length} checkpoints`}.`;
  if (retired) return '✓ This browser verified what is left of it: the run was made small after its end.';
  if (checkpoints.length === 1) return '✓ This browser verified its one checkpoint, which follows from the plan.';
  return `✓ This browser verified all ${checkpoints.length} checkpoints, each from the one before it and its witness.`;
}

function line({ lineage, sequence, phase, digest, valid, why }: ShownCheckpoint): HTMLElement {
  const item = element(
    'li',
    `${lineage === 1 ? '' : `lineage ${lineage}, `}${sequence}: ${wordsFor(PHASE_WORDS, phase)}, `,
  );
  item.append(element('span', valid ? '✓ valid' : `✗ invalid: ${why.join('; ')}`, valid ? 'verified' : 'refuted'), ' ');
  item.append(element('code', digest, 'small'));
  return item;
}

const SVG = 'http://www.w3.org/2000/svg';
const BOX = { width: 132, height: 66, gap: 34, margin: 6 } as const;

/** A row a lineage, a box a checkpoint. */
function picture(checkpoints: readonly ShownCheckpoint[]): SVGElement {
  const lineages = [...new Set(checkpoints.map(({ lineage }) => lineage))];
  const longest = Math.max(
    0,
    ...lineages.map((lineage) => checkpoints.filter((one) => one.lineage === lineage).length),
  );
  const width = 2 * BOX.margin + Math.max(1, longest) * (BOX.width + BOX.gap) - BOX.gap;
  const height = 2 * BOX.margin + Math.max(1, lineages.length) * (BOX.height + BOX.gap) - BOX.gap;
  const svg = shape('svg', { class: 'chain', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
  const invalid = checkpoints.filter(({ valid }) => !valid).length;
  svg.setAttribute(
    'aria-label',
    `${checkpoints.length} checkpoints in ${lineages.length} lineages, ${invalid} invalid; listed below`,
  );
  for (const [row, lineage] of lineages.entries()) {
    const chain = checkpoints.filter((one) => one.lineage === lineage);
    for (const [column, checkpoint] of chain.entries()) svg.append(box(checkpoint, column, row));
  }
  return svg;
}

function box({ sequence, phase, digest, valid }: ShownCheckpoint, column: number, row: number): SVGElement {
  const x = BOX.margin + column * (BOX.width + BOX.gap);
  const y = BOX.margin + row * (BOX.height + BOX.gap);
  const group = shape('g', { class: valid ? 'valid' : 'invalid' });
  if (column > 0) {
    const middle = y + BOX.height / 2;
    const tip = `M${x - BOX.gap} ${middle}H${x - 2}m-7 -5l7 5l-7 5`;
    group.append(shape('path', { class: 'link', d: tip }));
  }
  group.append(shape('rect', { class: 'box', x, y, width: BOX.width, height: BOX.height, rx: 8 }));
  const lines = [
    ['', `${sequence} ${wordsFor(PHASE_WORDS, phase)}`],
    ['', digest.slice(7, 17)],
    ['verdict', valid ? '✓ valid' : '✗ invalid'],
  ] as const;
  for (const [index, [className, text]] of lines.entries()) {
    const written = shape('text', { x: x + 10, y: y + 19 + index * 19, class: className });
    written.textContent = text;
    group.append(written);
  }
  return group;
}

function shape(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
  return made;
}
