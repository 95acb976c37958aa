/**
 * `CountersignToolWorker`: a process that does the calls of tools. Invariant: for each tool in each version there is one Temporal worker,
 * which takes no more calls at once than its handler allows; a queue that has forgotten the worker is told of it again.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { Worker, type NativeConnection, type WorkerOptions } from '@temporalio/worker';
import { CARRIER_TASK_TIMEOUT_MS } from './activities/contract';
import type { ToolStanding } from './activities/tool-door';
import { REGISTER_SIGNAL } from './activities/tool-contract';
import { descriptorHash } from './adapters/tools/descriptor-hash';
import { toolEffect } from './adapters/tools/handler-sink';
import type { ToolHandler } from './adapters/tools/tool-handler';
import { CountersignPlugin, type CountersignPluginOptions } from './plugin';
import { isAllowed, type AllowedWorkers } from './rules/invocations/allowed-workers';
import { attributesOfQueue } from './rules/invocations/search-attributes';
import { isSearchable } from './search-registration';
import { queueNameOf, queueWorkflowId, toolIdOf, toolTaskQueue, DEFAULT_VERSION } from './rules/invocations/names';
import { WORKER_SLOTS } from './rules/invocations/queue-state';
import type { QueueStatus, Register, ToolQueueInput } from './workflows/queue-messages';

/** Which workers may do the calls of one tool in one version. */
export interface ToolAllowance {
  readonly tool: string;
  /** @default the tool without a version */
  readonly version?: string;
  /** @default any */
  readonly identities?: readonly string[];
  /** See `descriptorHash`. @default any */
  readonly descriptorHashes?: readonly string[];
}

export interface CountersignToolWorkerOptions extends Omit<
  CountersignPluginOptions,
  'effects' | 'launchers' | 'launchRoles' | 'standing' | 'atLaunch'
> {
  readonly connection: NativeConnection;
  /** @default 'default' */
  readonly namespace?: string;
  /** Task queue of the workers whose `workflows.ts` exports `toolQueue`: there the queues of the tools run. */
  readonly taskQueue: string;
  readonly handlers: readonly ToolHandler[];
  /** What this process is called to the server and in the ledger. Two processes never have the same. @default made of pid and host */
  readonly identity?: string;
  /** A tool that is on this list is done only by the workers that it names. @default every worker does every tool that it has */
  readonly allow?: readonly ToolAllowance[];
  /** More for each Temporal worker, such as `dataConverter`, `interceptors` or `workerDeploymentOptions`. */
  readonly worker?: Partial<
    Pick<WorkerOptions, 'dataConverter' | 'interceptors' | 'shutdownGraceTime' | 'shutdownForceTime'>
  >;
}

/** Between two looks whether the queues still know this worker. */
const PRESENCE_MS = 5_000;

interface Post {
  readonly worker: Worker;
  readonly workflowId: string;
  readonly input: ToolQueueInput;
  readonly presence: Omit<Register, 'event'>;
}

export class CountersignToolWorker {
  private readonly stopped = new AbortController();

  private constructor(
    readonly identity: string,
    private readonly taskQueue: string,
    private readonly posts: readonly Post[],
  ) {}

  /** Throws where two handlers are the same tool, or where this worker may not do one that it has. */
  static async create(options: CountersignToolWorkerOptions): Promise<CountersignToolWorker> {
    const { identity = `${process.pid}@${hostname()}/${randomUUID().slice(0, 8)}`, handlers, taskQueue } = options;
    if (handlers.length === 0) throw new Error('A tool worker needs at least one handler.');
    const names = handlers.map((handler) => queueNameOf(toolOf(handler)));
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new Error(`${twice} has two handlers; keep one of them.`);
    const standing = standingOf(identity, options);
    const posts: Post[] = [];
    for (const handler of handlers) posts.push(await postOf(handler, standing, options));
    return new CountersignToolWorker(identity, taskQueue, posts);
  }

  /** Works until `shutdown`, or until a signal ends the process's workers. Calls in hand are finished. */
  async run(): Promise<void> {
    const presences = this.posts.map((post) => this.keepPresent(post));
    try {
      await Promise.all(this.posts.map((post) => post.worker.run()));
    } catch (fault) {
      this.shutdown();
      throw fault;
    } finally {
      this.stopped.abort();
      await Promise.all(presences);
    }
  }

  /** Takes no more calls. `run` ends when those in hand have. */
  shutdown(): void {
    this.stopped.abort();
    for (const { worker } of this.posts) if (worker.getState() === 'RUNNING') worker.shutdown();
  }

  /** Says that the worker is there, again whenever its queue does not know it, and at last that it is not. */
  private async keepPresent(post: Post): Promise<void> {
    const { signal } = this.stopped;
    const over = (): boolean =>
      signal.aborted || ['STOPPING', 'DRAINING', 'DRAINED', 'STOPPED', 'FAILED'].includes(post.worker.getState());
    for (let told = false; !over();) {
      if (!(await isKnown(post, told))) told = await this.register(post, 'started');
      for (let waited = 0; waited < PRESENCE_MS && !over(); waited += 250) {
        await sleep(250, undefined, { signal }).catch(() => undefined);
      }
    }
    await this.register(post, 'stopped');
  }

  /** False when the server could not be told. */
  private async register({ worker, workflowId, input, presence }: Post, event: Register['event']): Promise<boolean> {
    const message: Register = { ...presence, event };
    const { workflow, connection, options } = clientOf(worker);
    try {
      const search = await isSearchable(connection, options.namespace);
      await workflow.signalWithStart('toolQueue', {
        workflowId,
        taskQueue: this.taskQueue,
        args: [input],
        signal: REGISTER_SIGNAL,
        signalArgs: [message],
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
        workflowTaskTimeout: CARRIER_TASK_TIMEOUT_MS,
        staticSummary: `queue of ${input.tool}@${input.version}`,
        ...(search ? { typedSearchAttributes: attributesOfQueue(toolOf(input)) } : {}),
      });
      return true;
    } catch {
      return false;
    }
  }
}

/** A queue that answers nobody just now, as while no worker carries workflows, has been told once and is not told without end. */
async function isKnown({ worker, workflowId, presence }: Post, told: boolean): Promise<boolean> {
  try {
    const { workers } = await clientOf(worker).workflow.getHandle(workflowId).query<QueueStatus>('queue');
    return workers.some(({ instance }) => instance === presence.instance);
  } catch (fault) {
    return told && (fault as Error).name !== 'WorkflowNotFoundError';
  }
}

async function postOf(
  handler: ToolHandler,
  standing: ToolStanding,
  {
    connection,
    namespace = 'default',
    taskQueue: _taskQueue,
    handlers: _handlers,
    allow: _allow,
    ...options
  }: CountersignToolWorkerOptions,
): Promise<Post> {
  const { identity } = standing;
  const { worker: more, identity: _identity, ...plugin } = options;
  const slots = handler.maxConcurrency ?? WORKER_SLOTS;
  if (!Number.isSafeInteger(slots) || slots < 1) {
    throw new Error(`maxConcurrency of ${handler.tool} must be a whole number from 1`);
  }
  const tool = toolOf(handler);
  const toolId = toolIdOf(tool);
  const worker = await Worker.create({
    ...more,
    connection,
    namespace,
    identity,
    taskQueue: toolTaskQueue(tool),
    maxConcurrentActivityTaskExecutions: slots,
    plugins: [new CountersignPlugin({ ...plugin, effects: [toolEffect(handler)], standing })],
  });
  return {
    worker,
    workflowId: queueWorkflowId(toolId) ?? '',
    input: { tool: handler.tool, version: handler.version ?? DEFAULT_VERSION },
    presence: { identity, instance: randomUUID(), slots, descriptor_hash: descriptorHash(handler) },
  };
}

function standingOf(identity: string, { handlers, allow = [] }: CountersignToolWorkerOptions): ToolStanding {
  const lists = new Map(allow.map((one) => [toolIdOf(toolOf(one)), listOf(one)]));
  const tools = handlers.map((handler) => {
    const toolId = toolIdOf(toolOf(handler));
    const known = { descriptorHash: descriptorHash(handler), allow: lists.get(toolId) ?? null };
    if (known.allow !== null && !isAllowed(known.allow, identity, known.descriptorHash)) {
      throw new Error(
        `${toolId} is not to be done by this worker (identity ${identity}, descriptor ${known.descriptorHash}); ` +
          'add it to the list "allow", or take the handler away',
      );
    }
    return [toolId, known] as const;
  });
  return { identity, tools: new Map(tools) };
}

function listOf({ identities, descriptorHashes }: ToolAllowance): AllowedWorkers {
  return {
    ...(identities === undefined ? {} : { identities }),
    ...(descriptorHashes === undefined ? {} : { descriptor_hashes: descriptorHashes }),
  };
}

function toolOf({ tool, version }: { readonly tool: string; readonly version?: string }): {
  readonly tool: string;
  readonly version: string | null;
} {
  return { tool, version: version ?? null };
}

function clientOf(worker: Worker): Client {
  const { client } = worker;
  if (client === undefined) throw new Error('A tool worker needs a connection.');
  return client;
}
