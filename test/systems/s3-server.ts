/** What tests see of a running S3 server, of whatever make. Invariant: it listens on 127.0.0.1 only. */
import { setTimeout as delay } from 'node:timers/promises';
import { CreateBucketCommand, PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3';
import { type Running } from './system';
import { type ServerProcess } from './server-process';

export const ACCESS = { accessKeyId: 'tests', secretAccessKey: 'tests-secret' };
export const REGION = 'us-east-1';

export class S3Server implements Running {
  readonly region = REGION;
  readonly access = ACCESS;
  /** The SDK itself, for looks past the adapter. */
  readonly client: S3Client;
  #buckets = 0;

  constructor(readonly server: ServerProcess) {
    this.client = new S3Client({
      endpoint: this.endpoint,
      region: REGION,
      credentials: ACCESS,
      forcePathStyle: true,
      maxAttempts: 1,
    });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  /** Makes a bucket with a name of its own, and gives the name back. */
  async makeBucket({ versioned = false } = {}): Promise<string> {
    const Bucket = `bucket-${process.pid}-${(this.#buckets += 1)}`;
    await this.client.send(new CreateBucketCommand({ Bucket }));
    if (versioned) {
      await this.client.send(
        new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }),
      );
    }
    return Bucket;
  }

  /** What every store and sink of these tests is told about the server. */
  get settings(): { endpoint: string; region: string; credentials: () => Promise<typeof ACCESS> } {
    return { endpoint: this.endpoint, region: this.region, credentials: () => Promise.resolve(this.access) };
  }

  kill = (): Promise<void> => this.server.kill();
  start = (): Promise<void> => this.server.start();
  freeze = (): void => this.server.freeze();
  thaw = (): void => this.server.thaw();

  async end(): Promise<void> {
    this.client.destroy();
    await this.server.end();
  }
}

/** Any HTTP answer will do: who may not list buckets is told so. */
export async function answersHttp(port: number): Promise<boolean> {
  const reply = await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2_000) }).catch(() => null);
  if (reply === null) await delay(50);
  return reply !== null;
}
