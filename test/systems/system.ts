/**
 * What starting a real system comes to: it runs, or it cannot be had here. Invariant: nothing of a test runner is needed for it, so
 * that scripts start the same systems as tests.
 */

/** Why a system cannot be had, and what to install: one sentence. */
export interface Missing {
  readonly missing: string;
}

export interface Running {
  /** Ends every process of the system and removes what it kept on disk. */
  end(): Promise<void>;
}

export function isMissing(system: object): system is Missing {
  return 'missing' in system;
}

/** Whether a system that cannot be had is a failure, as in CI. */
export const allSystemsDemanded = (): boolean => process.env['COUNTERSIGN_SYSTEMS'] === 'all';
