/**
 * The frozen target of a run. Invariant: a snapshot is named by what was captured, never by who captured it or when; the same
 * capture with the same content is the same snapshot, and with any other content it is refused.
 */
import { isDigest } from '../recovery';
import { Fields, type Dict } from '../fields';
import { CONTENT_BOUNDARIES, digestAt, identityDigest, isCaptureId, type ContentBoundary } from './names';

export const SNAPSHOT_DOMAIN = 'countersign.action_snapshot.v1';

/** `part`: something inside of the source, such as a passage. A part is never widened to the whole. */
export const TARGET_KINDS = ['whole', 'part'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** Where the target is found again. */
export interface Selector {
  /** Digest that stands for the document, the order, the account. */
  readonly source: string;
  readonly kind: TargetKind;
  /** Digest of a reference that outlives edits elsewhere; null when there is none. */
  readonly reference: string | null;
}

export interface ActionSnapshot {
  readonly captureId: string;
  readonly contentDigest: string;
  /** Of the text, or other content, that `selector` leads to. */
  readonly targetDigest: string;
  readonly selector: Selector;
  readonly contextBoundary: ContentBoundary;
}

export function snapshotDigest(snapshot: ActionSnapshot): string {
  return identityDigest(SNAPSHOT_DOMAIN, snapshotToRecord(snapshot));
}

export function snapshotToRecord(snapshot: ActionSnapshot): Dict {
  return {
    capture_id: snapshot.captureId,
    content_digest: snapshot.contentDigest,
    target_digest: snapshot.targetDigest,
    selector: selectorToRecord(snapshot.selector),
    context_boundary: snapshot.contextBoundary,
  };
}

export function snapshotFromRecord(value: unknown, path = 'snapshot'): ActionSnapshot {
  const at = new Fields(value, path);
  const snapshot = {
    captureId: at.text('capture_id', '"cap_" and 32 lowercase hex digits', isCaptureId),
    contentDigest: digestAt(at, 'content_digest'),
    targetDigest: digestAt(at, 'target_digest'),
    selector: selectorFromRecord(at.raw('selector'), `${path}.selector`),
    contextBoundary: at.oneOf('context_boundary', CONTENT_BOUNDARIES),
  };
  at.end();
  return snapshot;
}

export function selectorToRecord({ source, kind, reference }: Selector): Dict {
  return { source, kind, reference };
}

export function selectorFromRecord(value: unknown, path: string): Selector {
  const at = new Fields(value, path);
  const selector = {
    source: digestAt(at, 'source'),
    kind: at.oneOf('kind', TARGET_KINDS),
    reference: at.nullable('reference', (field) => at.text(field, 'a sha256 digest', isDigest)),
  };
  at.end();
  return selector;
}
