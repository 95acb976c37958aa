/**
 * Properties of a plan whose effect, journal and contents are all in S3, on a real Temporal server, with its worker killed by
 * SIGKILL in the middle of a PUT:
 * - the object is there once, in a bucket that would show a second one: where the PUT was answered to nobody, it is found; where it
 *   lands after that of the next worker, it is refused
 * - no person is asked, and the journal in the bucket verifies
 */
import http from 'node:http';
import { type AddressInfo } from 'node:net';
import { ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { afterEach, expect, it, vi } from 'vitest';
import { initJournal } from '../../../src';
import { s3Sink } from '../../../src/adapters/sinks';
import { parseS3Address, s3ContentStore, s3Store } from '../../../src/adapters/stores';
import { PlanClient } from '../../../src/client';
import { storeView, verifyJournal } from '../../../src/verify';
import { useRig } from '../../support/rig';
import { describeWith } from '../../systems/available';
import { type S3Server } from '../../systems/s3-server';
import { startVersitygw } from '../../systems/versitygw';
import { killedInSend, startWith, workWith } from './killed-worker';

const OPERATION = { key: 'reports/7', body: 'Everything went well.' };
const LIMITS = { name: 'reports', deadlineMs: 5_000, settleMs: 600_000 };

afterEach(() => vi.unstubAllEnvs());

describeWith(
  'versitygw with versions',
  () => startVersitygw({ versions: true }),
  (server) => {
    const rig = useRig();

    async function begin(): Promise<{ bucket: string; journal: string; contents: string }> {
      vi.stubEnv('AWS_ACCESS_KEY_ID', server.access.accessKeyId);
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.access.secretAccessKey);
      const kept = `s3://${await server.makeBucket()}`;
      const [journal, contents] = ['journal', 'contents'].map((name) => `${kept}/${name}?endpoint=${server.endpoint}`);
      rig.journal = s3Store(parseS3Address(journal!));
      rig.contents = s3ContentStore(parseS3Address(contents!));
      rig.journalId = (await initJournal(rig.journal)).journalId;
      rig.plans = new PlanClient({ client: rig.client, contents: rig.contents, taskQueue: rig.taskQueue });
      return { bucket: await server.makeBucket({ versioned: true }), journal: journal!, contents: contents! };
    }

    const isSound = async (bucket: string): Promise<void> => {
      const { Versions = [] } = await server.client.send(
        new ListObjectVersionsCommand({ Bucket: bucket, Prefix: OPERATION.key }),
      );
      expect(Versions).toHaveLength(1);
      expect((await verifyJournal(storeView(rig.journal), { strict: true })).valid).toBe(true);
    };

    it('is put once and found', async () => {
      const { bucket } = await begin();
      await workWith(rig, s3Sink({ ...LIMITS, bucket, endpoint: server.endpoint }));
      expect((await (await startWith(rig, OPERATION)).result()).status).toBe('completed');
      await isSound(bucket);
    });

    it.each(['answered to nobody', 'landing late'] as const)(
      'killed in the middle of a PUT that is %s',
      async (fate) => {
        const { bucket, ...stores } = await begin();
        const held = await holdPut(server, `/${bucket}/${OPERATION.key}`, fate);
        try {
          const options = { ...LIMITS, bucket, endpoint: held.endpoint };
          const next = s3Sink({ ...LIMITS, bucket, endpoint: server.endpoint });
          const handle = await killedInSend(rig, { sink: 's3', options, ...stores }, OPERATION, held.struck, next);
          expect((await handle.result()).status).toBe('completed');
          expect(await held.release()).toBe(fate === 'landing late' ? 412 : 200);
          await isSound(bucket);
        } finally {
          held.end();
        }
      },
    );
  },
);

/** A way to the server on which one PUT is held, before it arrives or before it is answered. */
async function holdPut(server: S3Server, path: string, fate: 'answered to nobody' | 'landing late') {
  let struck = (): void => undefined;
  let landed = (_status: number): void => undefined;
  let release = (): void => undefined;
  const isStruck = new Promise<void>((resolve) => (struck = resolve));
  const hasLanded = new Promise<number>((resolve) => (landed = resolve));
  const isReleased = new Promise<void>((resolve) => (release = resolve));
  const forward = (incoming: http.IncomingMessage, body: Buffer): Promise<http.IncomingMessage> =>
    new Promise((resolve, reject) => {
      const { method, url, headers } = incoming;
      http.request(`${server.endpoint}${url}`, { method, headers }, resolve).once('error', reject).end(body);
    });
  const proxy = http.createServer((incoming, outgoing) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
      const holds = incoming.method === 'PUT' && incoming.url?.startsWith(path) === true;
      if (holds && fate === 'landing late') {
        struck();
        await isReleased;
      }
      const answer = await forward(incoming, Buffer.concat(chunks));
      if (holds) {
        landed(answer.statusCode ?? 0);
        struck();
        return; // the sender is dead, or will be
      }
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    })().catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    struck: isStruck,
    /** Lets it land, and answers with the server's word for it. */
    release: () => {
      release();
      return hasLanded;
    },
    end: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
