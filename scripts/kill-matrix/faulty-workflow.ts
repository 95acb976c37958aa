/**
 * A defect in workflow code, as a bad release would have it: the answer of an activity makes it throw a plain `Error`, which
 * fails the workflow task, not the workflow. Invariant: it changes nothing that a replay by sound code would miss.
 */
import type { WorkflowInterceptors } from '@temporalio/workflow';

export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      async scheduleActivity(input, next) {
        await next(input);
        throw new Error('a defect of this release');
      },
    },
  ],
});
