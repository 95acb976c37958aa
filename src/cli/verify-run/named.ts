/** Runs as people name them. */
import { isRunId } from '../../rules/recovery';
import { runWorkflowId } from '../../rules/verification/run-workflow';
import { CliError } from '../failure';

/** By its id, or by its workflow as the Web UI shows it. */
export function namedVerification(text: string): string {
  const runId = text.slice(text.startsWith(runWorkflowId('')) ? runWorkflowId('').length : 0);
  if (isRunId(runId)) return runId;
  throw new CliError(
    'invalid_argument',
    'a run is named by "run_" and 32 hex digits, or by the id of its workflow',
    'run',
  );
}
