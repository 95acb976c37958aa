/**
 * Properties of what the SDK's errors are taken for:
 * - absent only by the name NoSuchKey; a bare 404, and one that speaks of the bucket, are something else
 * - not sent only where no request can have left; whatever else has no status is lost
 * - whatever a server says, nothing of its words is carried along
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { S3_FAULTS, type S3FaultKind, s3Fault } from '../../../src/adapters/s3/s3-fault';

const answered = (name: string, httpStatusCode: number): object => ({ name, $metadata: { httpStatusCode } });

describe('an error of the SDK', () => {
  it.each<[S3FaultKind, object]>([
    ['absent', answered('NoSuchKey', 404)],
    ['no_bucket', answered('NoSuchBucket', 404)],
    ['lost', answered('NotFound', 404)],
    ['lost', answered('NoSuchVersion', 404)],
    ['lost', answered('NoSuchKey', 200)],
    ['exists', answered('PreconditionFailed', 412)],
    ['exists', answered('Unknown', 412)],
    ['contended', answered('ConditionalRequestConflict', 409)],
    ['in_the_way', answered('ObjectParentIsFile', 409)],
    ['denied', answered('Forbidden', 403)],
    ['too_large', answered('EntityTooLarge', 400)],
    ['full', answered('Unknown', 507)],
    ['not_supported', answered('NotImplemented', 501)],
    ['busy', answered('SlowDown', 503)],
    ['busy', answered('Unknown', 502)],
    ['lost', answered('RequestTimeout', 400)],
    ['rejected', answered('Unknown', 400)],
    ['lost', answered('Unknown', 302)],
    ['not_sent', { code: 'ECONNREFUSED', syscall: 'connect' }],
    ['not_sent', { code: 'ENOTFOUND', syscall: 'getaddrinfo' }],
    ['not_sent', { code: 'EHOSTUNREACH', syscall: 'connect' }],
    ['lost', { code: 'EHOSTUNREACH', syscall: 'write' }],
    ['lost', { code: 'ETIMEDOUT', syscall: 'read' }],
    ['lost', { code: 'ECONNRESET', syscall: 'read' }],
    ['lost', { name: 'AbortError' }],
    ['lost', { name: 'constructor', code: 'toString' }],
    ['no_credentials', { name: 'CredentialsProviderError' }],
  ])('is %s: %o', (kind, error) => {
    expect(s3Fault(error).kind).toBe(kind);
  });

  it('is of a known kind and tells nothing that it was given, whatever that is', () => {
    const word = fc.string({ minLength: 8 }).map((text) => `planted ${text}`);
    const error = fc.record(
      {
        name: word,
        message: word,
        code: word,
        syscall: word,
        $metadata: fc.record({ httpStatusCode: fc.integer({ min: 100, max: 599 }) }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(error, (given) => {
        const fault = s3Fault(given);
        expect(S3_FAULTS).toContain(fault.kind);
        expect(JSON.stringify([fault, fault.message, fault.detail, String(fault.cause)])).not.toContain('planted');
      }),
    );
  });
});
