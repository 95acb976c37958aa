/**
 * Who the worker of a job is: a credential that says which job it is for, and of which only the digest is kept. Invariant: a
 * record holds nothing by which anybody could come as that worker; what a credential says is believed once its digest is there.
 */
import { canonicalJson, isDigest, sha256Digest } from '../recovery';
import { Fields, parseRecord } from '../fields';
import { isJobId } from '../verification/names';

export const WORKER_PASS_SCHEMA_VERSION = 'countersign.worker_pass.v1';
const OWNER = /^own_[0-9a-f]{32}$/;
const CREDENTIAL = /^wrk_([0-9a-f]{32})_([0-9a-f]{32})_[0-9a-f]{64}$/;

/** Written with the slot, by its owner, before the launch. */
export interface WorkerPass {
  readonly jobId: string;
  readonly owner: string;
  readonly credentialDigest: string;
}

/** `secret`: 64 random hex digits. */
export function credentialOf(runId: string, jobId: string, secret: string): string {
  return `wrk_${runId.slice('run_'.length)}_${jobId}_${secret}`;
}

/** The job that a credential speaks of; null for a text that is none. */
export function jobOfCredential(credential: string): { readonly runId: string; readonly jobId: string } | null {
  const [, run, jobId] = CREDENTIAL.exec(credential) ?? [];
  return run === undefined || jobId === undefined ? null : { runId: `run_${run}`, jobId };
}

export function credentialDigest(credential: string): string {
  return sha256Digest(credential);
}

export function passToText({ jobId, owner, credentialDigest: digest }: WorkerPass): string {
  return canonicalJson({
    schema_version: WORKER_PASS_SCHEMA_VERSION,
    job_id: jobId,
    owner,
    credential_digest: digest,
  });
}

export function passFromBytes(bytes: Uint8Array | string): WorkerPass {
  return parseRecord(bytes, 'worker_pass', (value) => {
    const at = new Fields(value, 'worker_pass');
    at.oneOf('schema_version', [WORKER_PASS_SCHEMA_VERSION]);
    const pass = {
      jobId: at.text('job_id', '32 lowercase hex digits', isJobId),
      owner: at.text('owner', 'an owner token', (text) => OWNER.test(text)),
      credentialDigest: at.text('credential_digest', 'a sha256 digest', isDigest),
    };
    at.end();
    return pass;
  });
}
