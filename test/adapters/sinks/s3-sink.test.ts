/**
 * Properties of the S3 sink against real servers (versitygw, with versions and without, and S3Mock):
 * - it keeps every promise of the kit; writes are counted as versions of the object, so that an overwrite would count
 * - what stands under the name counts as ours by key and digest only; another's object is refused and stays as it was
 * - deleted or replaced where versions are kept, an effect stays committed
 * - a server that overwrites is found out before the first send, and nothing is sent to it
 * - an operation that names no object safely is refused before anything leaves
 * - 16 senders with bodies that are refused before they are read: one object, and whoever was not answered finds it
 */
import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, ListObjectVersionsCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { s3Sink, type S3SinkOptions } from '../../../src/adapters/sinks';
import type { EffectSink, SinkAnswer, SinkItem } from '../../../src/ports';
import { sinkConformance, type SinkFixture } from '../../../src/testing';
import { conforms } from '../../support/conformance';
import { describeWith } from '../../systems/available';
import { type S3Server } from '../../systems/s3-server';
import { startS3Mock } from '../../systems/s3mock';
import { startVersitygw } from '../../systems/versitygw';
import { makeItem, SECRET, sendAndTell, within } from './support';

const OTHER_DIGEST = 'b'.repeat(64);

const options = (server: S3Server, bucket: string, more: Partial<S3SinkOptions> = {}): S3SinkOptions => ({
  name: 'objects',
  ...server.settings,
  bucket,
  ...more,
});

const answerOf = async (sink: EffectSink, item: SinkItem): Promise<SinkAnswer | undefined> =>
  (await sink.observe([item], within()))[0];

describeWith(
  'versitygw with versions',
  () => startVersitygw({ versions: true }),
  (server) => {
    describe('the kit', () => {
      const fixture = async (): Promise<SinkFixture> => {
        const bucket = await server.makeBucket({ versioned: true });
        place = bucket;
        return {
          patienceMs: 600,
          marginMs: 3_000,
          target: { url: server.endpoint },
          secrets: [server.access.secretAccessKey],
          operation: (text) => ({ body: text }),
          refused: (text) => ({ body: text, key: '../outside' }),
          writes: ({ idempotencyKey }) => versions(server, bucket, idempotencyKey),
        };
      };
      let place = '';
      const likeWorker = async ({ url }: { url: string }): Promise<EffectSink> => {
        const sink = s3Sink(options(server, place, { endpoint: url, deadlineMs: 5_000, settleMs: 1_500 }));
        await sink.probe?.();
        return sink;
      };
      conforms(sinkConformance(likeWorker, fixture), {
        duplicate_rows: /no second write can be made/,
        expired_key: /cannot be aged/,
        ignored_filter: /filters by nothing/,
      });
    });

    it.each(['deleted', 'replaced', 'replaced and deleted'])(
      'says committed of an object that was %s',
      async (fate) => {
        const bucket = await server.makeBucket({ versioned: true });
        const sink = s3Sink(options(server, bucket));
        const item = makeItem({ key: 'reports/1', body: 'ours' });
        const at = { Bucket: bucket, Key: 'reports/1' };
        expect(await sendAndTell(sink, item)).toMatchObject({ outcome: 'accepted', externalId: null });
        if (fate.includes('replaced')) await server.client.send(new PutObjectCommand({ ...at, Body: 'theirs' }));
        if (fate.includes('deleted')) await server.client.send(new DeleteObjectCommand(at));
        expect(await answerOf(sink, item)).toMatchObject({ state: 'committed', operationDigest: item.operationDigest });
        expect(await answerOf(sink, makeItem(item.operation))).toEqual({ state: 'absent' });
      },
    );

    it('says absent of a name under which somebody else’s object was deleted', async () => {
      const bucket = await server.makeBucket({ versioned: true });
      const sink = s3Sink(options(server, bucket));
      await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'used', Body: 'theirs' }));
      await server.client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'used' }));
      const item = makeItem({ key: 'used', body: 'ours' });
      expect(await answerOf(sink, item)).toEqual({ state: 'absent' });
      // This server puts nothing on a mark of deletion, as S3 itself would; so nothing is said of what became of it.
      expect(await sendAndTell(sink, item)).toBe('unexpected_status');
      expect(await answerOf(sink, item)).toEqual({ state: 'absent' });
    });
  },
);

describeWith('versitygw', startVersitygw, (server) => {
  it('puts the bytes with their type and metadata, and finds them again with another client', async () => {
    const bucket = await server.makeBucket();
    const body = randomBytes(1_000);
    const operation = {
      key: 'a/b c/ä.bin',
      base64: body.toString('base64'),
      contentType: 'image/png',
      metadata: { case: '7' },
    };
    const item = makeItem(operation);
    const [one, other] = [
      s3Sink(options(server, bucket, { prefix: 'out' })),
      s3Sink(options(server, bucket, { prefix: 'out' })),
    ];
    expect(one.enforcesKey).toBe('no');
    const sent = await sendAndTell(one, item);
    expect(one.enforcesKey).toBe('always');
    expect(sent).toMatchObject({ outcome: 'accepted', result: { key: 'out/a/b c/ä.bin' } });
    expect(await sendAndTell(other, item)).toEqual(sent);
    expect(await answerOf(other, item)).toMatchObject({ state: 'committed', operationDigest: item.operationDigest });
    const stored = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'out/a/b c/ä.bin' }));
    expect(Buffer.from(await stored.Body!.transformToByteArray())).toEqual(body);
    expect([stored.ContentType, stored.Metadata?.['case']]).toEqual(['image/png', '7']);
  });

  it.each([
    ['somebody else’s object', {}],
    ['the object of another effect', { 'countersign-key': 'another', 'countersign-digest': 'a'.repeat(64) }],
    ['an object with only half of our marks', { 'countersign-digest': 'a'.repeat(64) }],
  ])('refuses where there is %s, and leaves it', async (_what, Metadata: Record<string, string>) => {
    const bucket = await server.makeBucket();
    const sink = s3Sink(options(server, bucket));
    await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'taken', Body: 'theirs', Metadata }));
    const item = makeItem({ key: 'taken', body: 'ours' });
    expect(await answerOf(sink, item)).toEqual({ state: 'absent' });
    expect(await sendAndTell(sink, item)).toEqual({ outcome: 'refused', code: 'object_exists' });
    const { Body } = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'taken' }));
    expect(await Body?.transformToString()).toBe('theirs');
  });

  it('tells an operation under the same key that is another one, and takes it for no success', async () => {
    const bucket = await server.makeBucket();
    const sink = s3Sink(options(server, bucket));
    const item = makeItem({ key: 'one', body: 'first' });
    await sendAndTell(sink, item);
    const changed = { ...item, operation: { key: 'one', body: SECRET }, operationDigest: OTHER_DIGEST };
    expect(await sendAndTell(sink, changed)).toBe('key_reused');
    expect(await answerOf(sink, changed)).toMatchObject({ state: 'committed', operationDigest: item.operationDigest });
  });

  it('does not take a missing bucket for a missing object', async () => {
    const sink = s3Sink(options(server, 'no-such-bucket'));
    const item = makeItem({ body: SECRET });
    expect(await answerOf(sink, item)).toEqual({ state: 'unknown' });
    expect(await sendAndTell(sink, item)).toEqual({ outcome: 'not_sent' });
    await expect(sink.probe?.()).rejects.toMatchObject({ code: 'unexpected_status' });
  });

  it.each<[string, unknown]>([
    ['no object', 'text'],
    ['no body', { key: 'a' }],
    ['two bodies', { body: 'a', base64: 'YQ==' }],
    ['a body that is no text', { body: 5 }],
    ['base64 that is none', { base64: 'YQ=' }],
    ['an unknown field', { body: 'a', acl: 'public-read' }],
    ['an empty name', { key: '', body: 'a' }],
    ['a name that leads outside', { key: '../a', body: 'a' }],
    ['a name with an empty segment', { key: 'a//b', body: 'a' }],
    ['a name that begins at the root', { key: '/a', body: 'a' }],
    ['a name that is a folder', { key: 'a/', body: 'a' }],
    ['a name with a line break', { key: 'a\nb', body: 'a' }],
    ['half of a character in a name', { key: 'a\ud800', body: 'a' }],
    ['a name that is too long', { key: 'ä'.repeat(600), body: 'a' }],
    ['metadata like ours', { body: 'a', metadata: { 'countersign-key': 'x' } }],
    ['metadata in a header of its own', { body: 'a', metadata: { 'a\r\nx-amz-acl': 'x' } }],
    ['metadata with a line break', { body: 'a', metadata: { a: 'x\r\ny' } }],
    ['metadata that would come back changed', { body: 'a', metadata: { a: ' x' } }],
    ['too much metadata', { body: 'a', metadata: { a: 'x'.repeat(1_600) } }],
    ['a content type with a line break', { body: 'a', contentType: 'text/plain\r\nx: y' }],
  ])('refuses %s', async (_what, operation) => {
    const sink = s3Sink(options(server, 'nobody-asks'));
    expect(await sendAndTell(sink, makeItem(operation))).toEqual({ outcome: 'refused', code: 'invalid_operation' });
  });

  it('says not_sent where nobody listens, and unknown where nobody answers', async () => {
    const bucket = await server.makeBucket();
    const gone = s3Sink(options(server, bucket, { endpoint: 'http://127.0.0.1:1' }));
    expect(await sendAndTell(gone, makeItem({ body: SECRET }))).toEqual({ outcome: 'not_sent' });
    const sink = s3Sink(options(server, bucket));
    const item = makeItem({ body: SECRET });
    await sink.probe?.();
    server.freeze();
    try {
      expect(await sendAndTell(sink, item, AbortSignal.timeout(500))).toBe('deadline_passed');
      expect(await sink.observe([item], within(AbortSignal.timeout(200)))).toEqual([{ state: 'unknown' }]);
    } finally {
      server.thaw();
    }
    expect(await sendAndTell(sink, item)).toMatchObject({ outcome: 'accepted' });
  });

  it(
    'makes one object of 16 senders with 3 MB each, whose bodies are refused unread',
    { timeout: 120_000 },
    async () => {
      const bucket = await server.makeBucket();
      const item = makeItem({ base64: randomBytes(3_000_000).toString('base64') });
      const sinks = Array.from({ length: 16 }, () => s3Sink(options(server, bucket)));
      await Promise.all(sinks.map((sink) => sink.probe?.()));
      const outcomes = await Promise.all(sinks.map((sink) => sendAndTell(sink, item)));
      const told = new Set(outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : outcome.outcome)));
      for (const sink of sinks) {
        expect(await answerOf(sink, item)).toMatchObject({ state: 'committed', operationDigest: item.operationDigest });
      }
      expect([...told].filter((word) => word !== 'accepted' && word !== 'connection_lost')).toEqual([]);
    },
  );
});

describeWith('S3Mock, which overwrites', startS3Mock, (server) => {
  it('is found out by the probe, and nothing is sent to it', async () => {
    const bucket = await server.makeBucket();
    const sink = s3Sink(options(server, bucket));
    const item = makeItem({ key: 'theirs', body: 'ours' });
    await server.client.send(new PutObjectCommand({ Bucket: bucket, Key: 'theirs', Body: 'theirs' }));
    await expect(sink.probe?.()).rejects.toMatchObject({ code: 'probe_failed' });
    expect(await sendAndTell(sink, item)).toEqual({ outcome: 'not_sent' });
    expect(await sendAndTell(s3Sink(options(server, bucket)), item)).toEqual({ outcome: 'not_sent' });
    expect(sink.enforcesKey).toBe('no');
    const { Body } = await server.client.send(new GetObjectCommand({ Bucket: bucket, Key: 'theirs' }));
    expect(await Body?.transformToString()).toBe('theirs');
  });
});

async function versions(server: S3Server, Bucket: string, key: string): Promise<number> {
  const told = await server.client.send(new ListObjectVersionsCommand({ Bucket, Prefix: key }));
  return (told.Versions ?? []).filter(({ Key }) => Key === key).length;
}
