/**
 * What the inbox answers, asked over plain sockets.
 *
 * Held here:
 * - it answers under its own names only, so a name that was made to lead here gets nothing; each answer, a refusal too, has the headers
 *   that forbid scripts and styles in pages, frames, and loading from elsewhere; no page holds a script or a style
 * - it listens on this machine, or under an address that it was told; a stream that nobody reads is not kept
 * - a page of another origin, port or site can change nothing, and its scripts read nothing; a form without the token of its visit, or
 *   with that of another, is not taken; a link from elsewhere leads to the page
 * - the cookie is for this site and for no script; signing in changes it, signing out ends it; a nonce signs in once, and only the visit
 *   that it was given to; a key that was revoked is signed in no longer
 * - contents are shown to nobody but a signed-in reviewer; without one an inbox for others than this machine shows nothing at all
 * - a token of the identity provider lets its person look only from the proxy, and only with issuer, audience, times and signature right
 * - garbage of any kind is answered by less than 500 or not at all, and quoted nowhere
 */
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { denied, type Asked } from '../../src/inbox/guard';
import { identityProvider } from '../../src/inbox/oidc';
import type { Inbox } from '../../src/inbox/server';
import { signReceipt } from '../../src/rules/receipts/jws';
import { statementFromText } from '../../src/rules/receipts/statement';
import { entry, personOf, signer } from '../rules/receipts/support';
import { APPROVER } from '../support/reviewers';
import { answerOf, cli } from '../cli/support';
import { useRig } from '../support/rig';
import '../support/temporal';
import { ReviewersFile, openInbox } from './support';

const rig = useRig();

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

function ask(
  origin: string,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: http.OutgoingHttpHeaders; body?: string } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** A visit as a browser keeps it. */
class Visit {
  cookie = '';
  token = '';

  constructor(private readonly origin: string) {}

  async get(path: string): Promise<Answer> {
    return this.kept(await ask(this.origin, path, { headers: { cookie: this.cookie } }));
  }

  async post(path: string, fields: Record<string, string>, headers: http.OutgoingHttpHeaders = {}): Promise<Answer> {
    const body = new URLSearchParams({ form_token: this.token, ...fields }).toString();
    const all = { ...FORM, origin: this.origin, cookie: this.cookie, ...headers };
    return this.kept(await ask(this.origin, path, { method: 'POST', headers: all, body }));
  }

  /** The statement of a new page of sign-in, signed. */
  async signed(who: string): Promise<string> {
    const { body } = await this.get('/sign-in');
    const statement = /data-statement="([^"]*)"/.exec(body)?.[1]?.replaceAll('&quot;', '"') ?? '';
    return signReceipt(statementFromText(statement), signer(who));
  }

  private kept(answer: Answer): Answer {
    const [set] = answer.headers['set-cookie'] ?? [];
    if (set !== undefined) this.cookie = set.split(';')[0] ?? '';
    this.token = /name="form-token" content="([0-9a-f]{64})"/.exec(answer.body)?.[1] ?? this.token;
    return answer;
  }
}

let inbox: Inbox;
let reviewers: ReviewersFile;
beforeEach(async () => {
  reviewers = new ReviewersFile(rig.folder);
  reviewers.add(entry('ann', [APPROVER]));
  inbox = await openInbox(rig, { reviewers: reviewers.reviewers });
});

describe('the guard', () => {
  const OWN = new Set(['http://127.0.0.1:8484', 'http://localhost:8484']);
  const get: Asked = {
    method: 'GET',
    host: '127.0.0.1:8484',
    origin: undefined,
    site: undefined,
    mode: undefined,
    dest: undefined,
  };
  const post: Asked = { ...get, method: 'POST', origin: 'http://127.0.0.1:8484' };
  const page = { mode: 'navigate', dest: 'document' };
  it.each([
    ['its own name', get, null],
    ['its other name', { ...get, host: 'LOCALHOST:8484' }, null],
    ['a name that leads here', { ...get, host: 'evil.example:8484' }, 'host_unknown'],
    ['another port', { ...get, host: '127.0.0.1:8485' }, 'host_unknown'],
    ['no port', { ...get, host: '127.0.0.1' }, 'host_unknown'],
    ['no name', { ...get, host: undefined }, 'host_unknown'],
    ['a name with more', { ...get, host: '127.0.0.1:8484.evil.example' }, 'host_unknown'],
    ['a script of its own', { ...get, site: 'same-origin', mode: 'cors', dest: 'empty' }, null],
    ['a bookmark', { ...get, site: 'none', ...page }, null],
    ['a link from elsewhere', { ...get, site: 'cross-site', ...page }, null],
    ['a script of another site', { ...get, site: 'cross-site', mode: 'cors', dest: 'empty' }, 'origin_foreign'],
    ['a script of another port', { ...get, site: 'same-site', mode: 'no-cors', dest: 'script' }, 'origin_foreign'],
    ['a frame elsewhere', { ...get, site: 'cross-site', mode: 'navigate', dest: 'iframe' }, 'origin_foreign'],
    ['a picture elsewhere', { ...get, site: 'cross-site', mode: 'no-cors', dest: 'image' }, 'origin_foreign'],
    ['its own form', post, null],
    ['its own form, in a browser', { ...post, site: 'same-origin', ...page }, null],
    ['a form without an origin', { ...post, origin: undefined }, 'origin_foreign'],
    ['a form without any', { ...post, origin: 'null' }, 'origin_foreign'],
    ['a form of another port', { ...post, origin: 'http://127.0.0.1:9', site: 'same-site', ...page }, 'origin_foreign'],
    ['a form of another scheme', { ...post, origin: 'https://127.0.0.1:8484' }, 'origin_foreign'],
    ['a form of another site', { ...post, site: 'cross-site', ...page }, 'origin_foreign'],
    ['another method', { ...post, method: 'PUT' }, 'method_unknown'],
    ['what a browser asks first', { ...post, method: 'OPTIONS' }, 'method_unknown'],
  ] as const)('%s', (_name, asked: Asked, code) => {
    expect(denied(asked, OWN)?.code ?? null).toBe(code);
  });
});

it('answers under its own name only, with its headers on all', async () => {
  const own = new URL(inbox.origin).host;
  const answers = [
    await ask(inbox.origin, '/'),
    await ask(inbox.origin, '/sign-in'),
    await ask(inbox.origin, '/style.css'),
    await ask(inbox.origin, '/page.js'),
    await ask(inbox.origin, '/nothing'),
    await ask(inbox.origin, `/runs/run_${'0'.repeat(32)}`),
    await ask(inbox.origin, '/', { headers: { host: 'evil.example' } }),
    await ask(inbox.origin, '/sign-in', { method: 'POST', headers: { origin: 'http://evil.example' } }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404, 404, 421, 403]);
  for (const { headers, body } of answers) {
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    expect(headers).toMatchObject({ 'referrer-policy': 'same-origin', 'x-frame-options': 'DENY' });
    expect(headers['access-control-allow-origin']).toBeUndefined();
    if (!String(headers['content-type']).startsWith('text/html')) continue;
    expect(body).not.toMatch(
      /<script(?! src="\/page\.js" defer>)|<style|\sstyle=|\son[a-z]+=|javascript:|https?:\/\/(?!127)/i,
    );
  }
  const other = await ask(inbox.origin, '/sign-in', { headers: { host: `localhost:${own.split(':')[1] ?? ''}` } });
  expect([other.status, other.headers['location']]).toEqual([307, `${inbox.origin}/sign-in`]);
});

it('keeps no stream open for whom nobody tells anything', async () => {
  for (let times = 0; times < 200; times += 1) {
    expect((await ask(inbox.origin, '/live', { method: 'HEAD' })).status).toBe(200);
  }
  const first = await new Promise<string>((resolve, reject) => {
    const request = http.get(`${inbox.origin}/live`, (response) => {
      response.setEncoding('utf8').once('data', (text: string) => {
        request.destroy();
        resolve(text);
      });
    });
    request.on('error', reject);
  });
  expect(first).toMatch(/^data: [0-9a-f]{64}\n/);
});

it('listens for others only under an address that it was told', async () => {
  for (const args of [
    ['--listen', '0.0.0.0'],
    ['--origin', 'http://inbox.example.org'],
    ['--origin', 'https://inbox.example.org/x'],
    ['--proxy', '127.0.0.1'],
    ['--port', '70000'],
  ]) {
    expect([args, await refusalOf('inbox', ...args)]).toEqual([args, 'invalid_argument']);
  }
});

async function refusalOf(...args: readonly string[]): Promise<string | undefined> {
  return answerOf(await cli(...args, '--json')).error?.code;
}

it('takes forms of its own visits only', async () => {
  const [visit, other] = [new Visit(inbox.origin), new Visit(inbox.origin)];
  const first = await visit.get('/');
  expect(first.headers['set-cookie']?.[0]).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
  await other.get('/');
  expect(visit.token).not.toBe(other.token);
  expect((await visit.post('/sign-out', {})).status).toBe(303);
  for (const token of ['', 'x', other.token]) {
    expect([token, (await visit.post('/sign-out', { form_token: token })).status]).toEqual([token, 403]);
  }
  expect((await visit.post('/sign-out', {}, { origin: 'http://127.0.0.1:1' })).status).toBe(403);
  visit.cookie = `${visit.cookie.slice(0, -1)}x`; // a cookie that we did not make is nobody's
  expect((await visit.post('/sign-out', {})).status).toBe(403);
});

it('lets a reviewer in once a nonce, under a new cookie, until the key is revoked', async () => {
  const [visit, other] = [new Visit(inbox.origin), new Visit(inbox.origin)];
  const receipt = await visit.signed('ann');
  await other.get('/');
  expect((await other.post('/sign-in', { receipt })).status).toBe(409); // a nonce of another visit
  const before = visit.cookie;
  expect(await visit.post('/sign-in', { receipt })).toMatchObject({ status: 303 });
  expect(visit.cookie).not.toBe(before);
  expect((await visit.get('/')).body).toContain('Signed in with key');
  const old = new Visit(inbox.origin);
  old.cookie = before;
  expect((await old.get('/')).body).not.toContain('Signed in');
  expect((await old.post('/sign-in', { receipt })).status).toBe(409); // answered before
  const eve = await old.signed('eve');
  expect(await old.post('/sign-in', { receipt: eve })).toMatchObject({ status: 403 });
  reviewers.revoke('key-ann');
  expect((await visit.get('/')).body).not.toContain('Signed in');
});

it('shows contents to a signed-in reviewer and to nobody else', async () => {
  await rig.worker({ plugin: { policy: () => ({ approvals: 1 }), reviewers: reviewers.reviewers } });
  const secret = 'for the eyes of a reviewer only';
  const handle = await rig.start([{ mode: 'lookup', operation: { secret } }]);
  await rig.until(handle, ({ state }) => state === 'parked');
  const visit = new Visit(inbox.origin);
  const paths = ['/', `/runs/${handle.runId}`, `/runs/${handle.runId}/entries`];
  for (const path of paths) expect((await visit.get(path)).body).not.toContain(secret);
  await visit.post('/sign-in', { receipt: await visit.signed('ann') });
  const shown = await visit.get(`/runs/${handle.runId}`);
  expect(shown.body).toContain(secret);
  await visit.post('/sign-out', {});
  expect((await visit.get(`/runs/${handle.runId}`)).body).not.toContain(secret);

  // For others than this machine, nothing at all.
  const behind = await openInbox(rig, { reviewers: reviewers.reviewers, origin: 'https://inbox.example.org' });
  const [at, headers] = [`http://127.0.0.1:${behind.port}`, { host: 'inbox.example.org' }];
  for (const path of ['/', '/live', `/runs/${handle.runId}`, `/runs/${handle.runId}/entries`]) {
    const refused = await ask(at, path, { headers });
    expect([refused.status, refused.headers['location'], refused.body]).toEqual([303, '/sign-in', '']);
  }
  const { headers: given } = await ask(at, '/sign-in', { headers });
  expect(given['set-cookie']?.[0]).toMatch(/^__Host-countersign=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
  expect((await ask(at, '/', { headers: { host: `127.0.0.1:${behind.port}` } })).status).toBe(421);
});

describe('tokens of an identity provider', () => {
  const issuer = 'https://id.example.org';
  const said = { iss: issuer, aud: 'inbox', countersign_person: personOf('ann') };

  it('let their person look, from the proxy and with everything right, and nobody else', async () => {
    const jose = await import('jose');
    const [own, other] = [await jose.generateKeyPair('ES256'), await jose.generateKeyPair('ES256')];
    const keys = path.join(rig.folder, 'provider.json');
    const jwk = { ...(await jose.exportJWK(own.publicKey)), kid: 'k', alg: 'ES256' };
    writeFileSync(keys, JSON.stringify({ keys: [jwk] }));
    const options = { issuer, audience: 'inbox', keys, header: 'x-token', claim: 'countersign_person' };
    const opened = async (proxy: string): Promise<string> => {
      const provider = await identityProvider({ ...options, proxy });
      const { port } = await openInbox(rig, { provider, reviewers: reviewers.reviewers, origin: 'https://a.example' });
      return `http://127.0.0.1:${port}`;
    };
    const [proxied, direct] = [await opened('127.0.0.1'), await opened('10.0.0.1')];
    const now = Math.floor(Date.now() / 1000);
    const token = (
      more: object,
      key: Parameters<InstanceType<typeof jose.SignJWT>['sign']>[0] = own.privateKey,
    ): Promise<string> =>
      new jose.SignJWT({ exp: now + 600, ...said, ...more }).setProtectedHeader({ alg: 'ES256', kid: 'k' }).sign(key);
    const statusAt = async (at: string, value: string): Promise<number> =>
      (await ask(at, '/', { headers: { host: 'a.example', 'x-token': value } })).status;
    const good = await token({});
    expect(await statusAt(proxied, good)).toBe(200);
    expect(await statusAt(proxied, `Bearer ${good}`)).toBe(200);
    expect(await statusAt(direct, good)).toBe(303);
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${good.split('.')[1] ?? ''}.`;
    const bad = {
      issuer: await token({ iss: 'https://other.example' }),
      audience: await token({ aud: 'another' }),
      expired: await token({ exp: now - 60 }),
      'not yet': await token({ nbf: now + 600 }),
      'no end': await token({ exp: undefined }),
      'another key': await token({}, other.privateKey),
      'nobody here': await token({ countersign_person: personOf('eve') }),
      'no person': await token({ countersign_person: 7 }),
      none,
      cut: good.slice(0, -4),
      empty: '',
      long: 'x'.repeat(12_000),
    };
    for (const [name, value] of Object.entries(bad))
      expect([name, await statusAt(proxied, value)]).toEqual([name, 303]);
    reviewers.revoke('key-ann');
    expect(await statusAt(proxied, good)).toBe(303);
  });
});

it('is not moved by garbage', async () => {
  const place = fc.oneof(
    fc.webPath(),
    fc.string().map((text) => `/${encodeURIComponent(text)}`),
    fc.constantFrom(
      '/runs/',
      '/runs/x',
      '/runs/../..',
      '/runs/%00',
      '/runs/run_0/answer',
      '//',
      '/*',
      '/live/x',
      '/?a=<b>',
    ),
  );
  const body = fc.oneof(fc.string(), fc.constant('x'.repeat(40_000)), fc.constant('form_token=%FF&receipt=%00'));
  const type = fc.constantFrom('application/x-www-form-urlencoded', 'multipart/form-data', 'application/json', 'x', '');
  await fc.assert(
    fc.asyncProperty(
      place,
      body,
      type,
      fc.constantFrom('GET', 'POST', 'HEAD', 'DELETE'),
      async (at, text, kind, method) => {
        const headers = { origin: inbox.origin, 'content-type': kind, 'x-form-token': 'x' };
        const answer = await ask(inbox.origin, at, { method, headers, ...(method === 'POST' ? { body: text } : {}) });
        expect(answer.status).toBeLessThan(500);
      },
    ),
    { numRuns: 150 },
  );
  for (const raw of [
    'GET / HTTP/1.1\r\n\r\n',
    'GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n',
    '\0\0\0\r\n\r\n',
  ]) {
    const said = await spoken(inbox.origin, raw);
    expect(said === '' || /^HTTP\/1\.1 4\d\d /.test(said)).toBe(true);
  }
  expect((await ask(inbox.origin, '/')).status).toBe(200);
});

function spoken(origin: string, raw: string): Promise<string> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve) => {
    let said = '';
    const socket = net.connect({ host: hostname, port: Number(port) }, () => socket.end(raw));
    socket.setEncoding('utf8').on('data', (text: string) => (said += text));
    socket.on('error', () => undefined).on('close', () => resolve(said));
  });
}
