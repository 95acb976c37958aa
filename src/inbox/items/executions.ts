/**
 * Executions of one type of workflow, as Temporal lists them. Invariant: it reads lists and memos only, so no worker is asked; what a memo
 * says is text of limited length, whoever wrote it.
 */
import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import type { Service } from '../../cli/service';

export type Execution = temporal.api.workflow.v1.IWorkflowExecutionInfo;

const PAGE = 500;
/** Longest texts of a memo that are shown. */
const LONGEST = 300;

/** Page by page, each as soon as it is there. */
export async function* executions({ client, soon }: Service, query: string): AsyncGenerator<Execution> {
  const { workflowService, options } = client;
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = {
      namespace: options.namespace,
      query,
      pageSize: PAGE,
      ...(nextPageToken === undefined ? {} : { nextPageToken }),
    };
    const answer = await soon(() => workflowService.listWorkflowExecutions(page));
    yield* answer.executions ?? [];
    nextPageToken = answer.nextPageToken?.length ? answer.nextPageToken : undefined;
  } while (nextPageToken !== undefined);
}

/** Empty where there is none, or none that can be read here. */
export function memoOf(execution: Execution, name: string): Readonly<Record<string, unknown>> {
  const payload = execution.memo?.fields?.[name];
  if (payload == null) return {};
  try {
    const memo: unknown = defaultPayloadConverter.fromPayload(payload);
    return typeof memo === 'object' && memo !== null ? (memo as Record<string, unknown>) : {};
  } catch {
    return {}; // written by a codec that is not known here
  }
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, LONGEST) : null;
}

/** Unix milliseconds; null while it is not known. */
export function startOf({ startTime }: Execution): number | null {
  return startTime?.seconds == null ? null : Number(startTime.seconds) * 1_000;
}
