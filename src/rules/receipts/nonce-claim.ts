/**
 * Nonce claims: that a receipt was used. Invariant: a nonce of a key is claimed for one decision in one lineage of one run, by
 * put-if-absent; the identical claim succeeds again, any other is a replay.
 */
import { canonicalJson, isDigest, isRunId, sha256Hex } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { isNonce } from './names';

export interface NonceClaim {
  readonly nonce: string;
  readonly runId: string;
  readonly lineage: number;
  /** Digest of what was decided. */
  readonly actionDigest: string;
}

/** 64 hex digits: the name under which the claim of a nonce stands in `claims/`. A nonce has one length, so no two pairs share a name. */
export function nonceName(kid: string, nonce: string): string {
  return sha256Hex(`${kid}/${nonce}`);
}

export function claimToText(claim: NonceClaim): string {
  return canonicalJson({
    nonce: claim.nonce,
    run_id: claim.runId,
    lineage: claim.lineage,
    action_digest: claim.actionDigest,
  });
}

export function claimFromBytes(bytes: Uint8Array | string): NonceClaim {
  return parseRecord(bytes, 'nonce_claim', (value) => {
    const at = new Fields(value, 'nonce_claim');
    const claim = {
      nonce: at.text('nonce', '"nonce_" and 32 lowercase hex digits', isNonce),
      runId: at.text('run_id', 'a run id', isRunId),
      lineage: at.count('lineage'),
      actionDigest: at.text('action_digest', 'a sha256 digest', isDigest),
    };
    at.end();
    return claim;
  });
}
