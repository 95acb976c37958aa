/** A service in this process, for the modules that `sink-check` is tried on: it keeps one row a key, or one for whatever arrives. */
import { createServer } from 'node:http';

export const startService = async (careless) => {
  const rows = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname } = new URL(request.url, 'http://service.example');
      const key = pathname.split('/')[2];
      const known = rows.find((row) => row.key === key);
      const answer = (status, body) => response.writeHead(status).end(JSON.stringify(body));
      if (request.method === 'GET') {
        if (!known) return answer(200, { state: 'absent' });
        return answer(200, { state: 'committed', operation_digest: known.digest, external_id: known.id });
      }
      const asked = JSON.parse(request.headers['idempotency-key']);
      const digest = request.headers['operation-digest'];
      const earlier = careless ? undefined : rows.find((row) => row.key === asked);
      if (earlier && earlier.digest !== digest) return answer(422, {});
      const row = earlier ?? { key: asked, digest, id: `row-${rows.length + 1}` };
      if (!earlier) rows.push(row);
      return answer(earlier ? 200 : 201, { id: row.id });
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    fixture: {
      target: { url: `http://127.0.0.1:${server.address().port}` },
      patienceMs: 300,
      operation: (text) => ({ note: text }),
      writes: ({ idempotencyKey }) => rows.filter(({ key }) => key === idempotencyKey).length,
      close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
    },
  };
};

export const sinkAt = (sinks, url) =>
  sinks.httpSink({
    name: 'shelf',
    url: `${url}/rows`,
    digestHeader: 'operation-digest',
    lookup: { url: `${url}/rows/{key}` },
    deadlineMs: 3000,
    settleMs: 300,
  });
