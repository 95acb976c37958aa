/**
 * Properties of an S3 address:
 * - what it says is what the store is told
 * - one with credentials, an unknown part or plain http to another machine is refused as store_invalid_path, and not quoted
 */
import { describe, expect, it } from 'vitest';
import { isS3Address, parseS3Address, s3Store } from '../../../src/adapters/stores';
import { StoreError } from '../../../src/ports';

const SECRET = 'planted-secret-4711';

describe('an S3 address', () => {
  it.each([
    ['s3://journals', { bucket: 'journals' }],
    ['s3://journals/teams/blue/', { bucket: 'journals', prefix: 'teams/blue' }],
    ['s3://journals?region=eu-central-1', { bucket: 'journals', region: 'eu-central-1' }],
    [
      's3://journals/blue?endpoint=https://s3.example.org:9000&path_style=false',
      { bucket: 'journals', prefix: 'blue', endpoint: 'https://s3.example.org:9000', pathStyle: false },
    ],
    ['s3://journals?endpoint=http://127.0.0.1:9000', { bucket: 'journals', endpoint: 'http://127.0.0.1:9000' }],
    ['s3://journals?endpoint=http://[::1]:9000', { bucket: 'journals', endpoint: 'http://[::1]:9000' }],
    [
      's3://journals?endpoint=http://s3.internal&allow_http=true',
      { bucket: 'journals', endpoint: 'http://s3.internal', allowHttp: true },
    ],
  ])('%s', (address, connection) => {
    expect(isS3Address(address)).toBe(true);
    expect(parseS3Address(address)).toEqual(connection);
    expect(s3Store(parseS3Address(address)).scope).toBe('shared');
  });

  it.each([
    `s3://key:${SECRET}@journals`,
    `s3://${SECRET.toUpperCase()}/x`,
    `s3://journals:9000/${SECRET}`,
    `s3://journals/x#${SECRET}`,
    `s3://journals?secret=${SECRET}`,
    `s3://journals?endpoint=http://${SECRET}.example.org`,
    `s3://journals?endpoint=http://127.0.0.1.${SECRET}.example.org`,
    `s3://journals?endpoint=https://key:${SECRET}@s3.example.org`,
    `s3://journals?endpoint=https://s3.example.org/${SECRET}`,
    `s3://journals?endpoint=${SECRET}`,
    `s3://journals?endpoint=ftp://${SECRET}.example.org`,
    `s3://journals?allow_http=${SECRET}`,
    `s3://journals/${SECRET}/a%20b`,
    `s3://journals//${SECRET}`,
    `s3://journals/.tmp/${SECRET}`,
    `s3://journals/${'x'.repeat(190)}/${SECRET}`,
    `https://journals/${SECRET}`,
  ])('is refused: %s', (address) => {
    const refusal = (() => {
      try {
        return s3Store(parseS3Address(address));
      } catch (fault) {
        return fault;
      }
    })();
    expect(refusal).toBeInstanceOf(StoreError);
    expect((refusal as StoreError).code).toBe('store_invalid_path');
    expect(String((refusal as StoreError).stack).toLowerCase()).not.toContain(SECRET);
  });
});
