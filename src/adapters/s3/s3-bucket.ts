/**
 * One bucket on one S3 server: the few requests that stores and sinks make.
 *
 * Invariant: a request leaves at most once (the SDK's own retries are off) and ends within its time, whatever the server does; every
 * failure leaves as an `S3Fault`. The SDK is loaded when the first bucket is made, and none of its types is seen outside.
 */
import type * as Sdk from '@aws-sdk/client-s3';
import { optionalPeer } from '../optional-peer';
import { type S3Connection, type S3Credentials } from './s3-connection';
import { S3Fault, s3Fault } from './s3-fault';

export interface S3Limits {
  /** Longest time of one request, in milliseconds. */
  readonly timeoutMs: number;
  /** Largest object that is read, in bytes. */
  readonly maxBytes: number;
}

export interface S3NewObject {
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** An object without its bytes. */
export interface S3ObjectHead {
  readonly metadata: Readonly<Record<string, string>>;
  readonly etag: string | null;
  readonly versionId: string | null;
}

export interface S3Version {
  readonly id: string;
  /** The mark of a deletion, which has no object. */
  readonly deletion: boolean;
}

export interface S3Page {
  /** Keys, and prefixes up to the next slash. */
  readonly keys: readonly string[];
  /** Absent when this is the last page. */
  readonly next?: string | undefined;
}

const CONNECT_WITHIN_MS = 3_000;
const MAX_SOCKETS = 64;
/** An idle connection is closed before a server is likely to: a request on one that is just being closed is lost. */
const MAX_IDLE_MS = 4_000;
const SILENT = { trace() {}, debug() {}, info() {}, warn() {}, error() {} };

export class S3Bucket {
  readonly #sdk: typeof Sdk;
  readonly #client: Sdk.S3Client;
  readonly #name: string;
  readonly #limits: S3Limits;

  constructor(adapter: string, connection: S3Connection, limits: S3Limits) {
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    this.#sdk = optionalPeer(adapter, '@aws-sdk/client-s3', () => require('@aws-sdk/client-s3') as typeof Sdk);
    const { bucket, endpoint, region, credentials, pathStyle } = connection;
    const agent = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: MAX_IDLE_MS };
    this.#client = new this.#sdk.S3Client({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? (endpoint === undefined ? {} : { region: 'us-east-1' }) : { region }),
      ...(credentials === undefined ? {} : { credentials: () => ask(credentials) }),
      forcePathStyle: pathStyle ?? endpoint !== undefined,
      maxAttempts: 1,
      followRegionRedirects: false,
      logger: SILENT,
      requestHandler: { connectionTimeout: CONNECT_WITHIN_MS, httpAgent: agent, httpsAgent: agent, logger: SILENT },
    });
    this.#client.middlewareStack.add(pastCaches, { step: 'build', name: 'countersign-past-caches' });
    this.#name = bucket;
    this.#limits = limits;
  }

  /** Puts an object where none is. Throws `exists` when one is there, on a server that keeps the condition. */
  putNew(Key: string, { body, contentType, metadata }: S3NewObject, signal?: AbortSignal): Promise<S3ObjectHead> {
    return this.#run(signal, async (options) => {
      const told = await this.#client.send(
        new this.#sdk.PutObjectCommand({
          Bucket: this.#name,
          Key,
          Body: body,
          ContentType: contentType,
          Metadata: { ...metadata },
          IfNoneMatch: '*',
        }),
        options,
      );
      return { metadata, ...namesOf(told) };
    });
  }

  /** Throws `absent` when the server says that there is no such key. */
  get(Key: string, signal?: AbortSignal): Promise<S3ObjectHead & { readonly body: Uint8Array }> {
    return this.#run(signal, async (options) => {
      const told = await this.#client.send(new this.#sdk.GetObjectCommand({ Bucket: this.#name, Key }), options);
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of told.Body as AsyncIterable<Uint8Array>) {
        size += chunk.length;
        if (size > this.#limits.maxBytes) throw new S3Fault('too_large'); // leaving the loop ends the answer
        chunks.push(chunk);
      }
      if (told.ContentLength !== undefined && told.ContentLength !== size) throw new S3Fault('lost');
      return { body: new Uint8Array(Buffer.concat(chunks)), metadata: told.Metadata ?? {}, ...foundNames(told) };
    });
  }

  /** An object without its bytes; throws `absent` only when the server says so by name, which its answer to HEAD cannot. */
  async head(Key: string, signal?: AbortSignal, VersionId?: string): Promise<S3ObjectHead> {
    const which = { Bucket: this.#name, Key, ...(VersionId === undefined ? {} : { VersionId }) };
    try {
      return await this.#run(signal, async (options) => {
        const told = await this.#client.send(new this.#sdk.HeadObjectCommand(which), options);
        return { metadata: told.Metadata ?? {}, ...foundNames(told) };
      });
    } catch (fault) {
      if (!(fault instanceof S3Fault) || fault.status !== 404) throw fault;
    }
    return this.#run(signal, async (options) => {
      const told = await this.#client.send(new this.#sdk.GetObjectCommand(which), options);
      (told.Body as unknown as { destroy(): void }).destroy(); // it came between the two
      return { metadata: told.Metadata ?? {}, ...foundNames(told) };
    });
  }

  /** Keys directly below a prefix that ends with a slash, one page of them, from the first after `after`. */
  list(
    prefix: string,
    from: { readonly after?: string | undefined; readonly next?: string | undefined },
  ): Promise<S3Page> {
    return this.#run(undefined, async (options) => {
      const told = await this.#client.send(
        new this.#sdk.ListObjectsV2Command({
          Bucket: this.#name,
          Prefix: prefix,
          Delimiter: '/',
          ...(from.next === undefined ? { StartAfter: from.after } : { ContinuationToken: from.next }),
        }),
        options,
      );
      if (told.IsTruncated === true && !told.NextContinuationToken) throw new S3Fault('lost');
      const keys = [
        ...(told.Contents ?? []).map((found) => found.Key),
        ...(told.CommonPrefixes ?? []).map((f) => f.Prefix),
      ];
      return {
        keys: keys.filter((key) => key !== undefined),
        next: told.IsTruncated === true ? told.NextContinuationToken : undefined,
      };
    });
  }

  /** `kept`: the bucket keeps versions, so what was under the key is still readable by whoever asks for it. */
  delete(Key: string, VersionId?: string): Promise<{ readonly kept: boolean }> {
    return this.#run(undefined, async (options) => {
      const command = new this.#sdk.DeleteObjectCommand({
        Bucket: this.#name,
        Key,
        ...(VersionId ? { VersionId } : {}),
      });
      const told = await this.#client.send(command, options);
      return { kept: told.VersionId !== undefined || told.DeleteMarker === true };
    });
  }

  /** What a bucket that keeps versions has of a key: the newest of them when there are many. */
  versions(Key: string, signal?: AbortSignal): Promise<readonly S3Version[]> {
    return this.#run(signal, async (options) => {
      const command = new this.#sdk.ListObjectVersionsCommand({ Bucket: this.#name, Prefix: Key });
      const told = await this.#client.send(command, options);
      const found = [
        ...(told.Versions ?? []).map((version) => ({ ...version, deletion: false })),
        ...(told.DeleteMarkers ?? []).map((mark) => ({ ...mark, deletion: true })),
      ];
      return found.flatMap(({ Key: key, VersionId: id, deletion }) => (key === Key && id ? [{ id, deletion }] : []));
    });
  }

  async #run<T>(
    signal: AbortSignal | undefined,
    call: (options: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    let stop = (): void => undefined;
    const stopped = new Promise<never>((_resolve, reject) => {
      stop = () => {
        reject(new S3Fault('lost'));
        controller.abort();
      };
    });
    stopped.catch(() => undefined);
    const timer = setTimeout(stop, this.#limits.timeoutMs);
    signal?.addEventListener('abort', stop, { once: true });
    try {
      if (signal?.aborted === true) throw new S3Fault('not_sent');
      const running = call({ abortSignal: controller.signal });
      running.catch(() => undefined); // what comes of it after the end of its time is not an outcome
      return await Promise.race([running, stopped]);
    } catch (error) {
      throw s3Fault(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }
}

function namesOf(told: {
  ETag?: string | undefined;
  VersionId?: string | undefined;
}): Pick<S3ObjectHead, 'etag' | 'versionId'> {
  return { etag: told.ETag ?? null, versionId: told.VersionId ?? null };
}

/** A page of anything answers 200 as well; an object has a tag and a time. */
function foundNames(told: {
  ETag?: string | undefined;
  VersionId?: string | undefined;
  LastModified?: Date | undefined;
}): Pick<S3ObjectHead, 'etag' | 'versionId'> {
  if (told.ETag === undefined || told.LastModified === undefined) throw new S3Fault('lost', { status: 200 });
  return namesOf(told);
}

/** What is asked is asked of the server itself. On a PUT, the same header would become a property of the object. */
function pastCaches<Step, Told>(next: (step: Step) => Promise<Told>): (step: Step) => Promise<Told> {
  return (step) => {
    const { request } = step as { request?: { method: string; headers: Record<string, string> } };
    if (request !== undefined && request.method !== 'PUT') request.headers['cache-control'] = 'no-store';
    return next(step);
  };
}

/** What an operator's callback throws could quote a secret, so it is not passed on. */
async function ask(credentials: NonNullable<S3Connection['credentials']>): Promise<S3Credentials> {
  try {
    return await credentials();
  } catch {
    throw new S3Fault('no_credentials');
  }
}
