/** Workflow bundles, made once a process. */
import { DefaultLogger, bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';

const bundles = new Map<string, Promise<WorkflowBundle>>();

export function bundleOf(workflowsPath: string): Promise<WorkflowBundle> {
  const known = bundles.get(workflowsPath);
  if (known !== undefined) return known;
  const made = bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  bundles.set(workflowsPath, made);
  return made;
}
