/** A workflow interceptor as tracing uses one: it puts a header on everything that leaves the workflow. */
import { defaultPayloadConverter } from '@temporalio/common';
import { workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';

const traced = <Input extends { headers: Record<string, unknown> }>(input: Input): Input => ({
  ...input,
  headers: { ...input.headers, trace: defaultPayloadConverter.toPayload(workflowInfo().workflowId) },
});

export const interceptors: WorkflowInterceptorsFactory = () => ({
  outbound: [
    {
      scheduleActivity: (input, next) => next(traced(input)),
      scheduleLocalActivity: (input, next) => next(traced(input)),
      startChildWorkflowExecution: (input, next) => next(traced(input)),
    },
  ],
});
