#!/usr/bin/env node
/**
 * A pretend shop for the examples: payments, a warehouse and mail, all in memory, on 127.0.0.1 only.
 *
 *   POST /<collection>        201 {id, …}, or 400 when the shop will never do it (a declined card, nothing in stock)
 *   GET  /<collection>/<key>  what is held under an idempotency key (not for mails: mail cannot be asked)
 *   GET  /<collection>        {count}
 *
 * Payments answer a second request under one `Idempotency-Key` as they answered the first. The warehouse keeps the key but
 * does not mind it, and mail does not even keep it: they do again what they are asked again.
 */
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const COLLECTIONS = {
  charges: { repeats: false, asked: true },
  refunds: { repeats: false, asked: true },
  reservations: { repeats: true, asked: true },
  releases: { repeats: true, asked: true },
  mails: { repeats: true, asked: false },
};

const NEVER = {
  charges: ({ card }) => card === 'declined',
  reservations: ({ item }) => item === 'unicorn',
};

/** A piano takes its time to be carried to the door. */
const SLOW_MS = 3_000;

const held = Object.fromEntries(Object.keys(COLLECTIONS).map((name) => [name, []]));
const begun = Object.fromEntries(Object.keys(COLLECTIONS).map((name) => [name, 0]));

async function answer(request) {
  const [, name, key] = new URL(request.url, 'http://shop').pathname.split('/');
  const collection = COLLECTIONS[name];
  if (!collection) return [404, {}];
  if (request.method === 'GET' && key === undefined) return [200, { count: held[name].length, begun: begun[name] }];
  if (request.method === 'GET' && collection.asked) return [200, found(held[name].find((entry) => entry.key === key))];
  if (request.method === 'POST') return post(name, collection, request);
  return [405, {}];
}

function found(entry) {
  if (!entry) return { state: 'absent' };
  return { state: 'committed', operation_digest: entry.digest, external_id: entry.body.id, result: entry.body };
}

async function post(name, { repeats }, request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const order = JSON.parse(Buffer.concat(chunks).toString());
  const key = request.headers['idempotency-key']?.slice(1, -1);
  const before = repeats || key === undefined ? undefined : held[name].find((entry) => entry.key === key);
  if (before) return [201, before.body];
  if (NEVER[name]?.(order)) return [400, {}];
  begun[name] += 1;
  const body = { id: `${name.slice(0, -1)}-${begun[name]}` };
  if (name === 'reservations') body.shelf = `A${begun[name]}`;
  held[name].push({ key, digest: request.headers['operation-digest'], body });
  // The reply is late, not the deed: whoever gives up waiting does not know that it is done.
  if (order.item === 'piano') await delay(SLOW_MS);
  return [201, body];
}

const server = createServer((request, response) => {
  answer(request)
    .catch(() => [500, {}])
    .then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    });
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`export SHOP_URL=http://127.0.0.1:${server.address().port}\n`);
});
