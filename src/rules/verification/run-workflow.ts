/** Under which id Temporal carries a run. Invariant: it follows from the run alone, so the same run is the same workflow. */
export function runWorkflowId(runId: string): string {
  return `countersign/verify/${runId}`;
}
