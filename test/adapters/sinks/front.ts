/** A front before a real server that changes what passes, as caches, gateways and careless servers do. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo } from 'node:net';

export interface Passing {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}
export interface Passed {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface Front {
  readonly url: string;
  /** Every request, as it came. */
  readonly requests: Passing[];
  /** Changes a request, or answers it. */
  before: (request: Passing) => Passing | Passed;
  after: (answer: Passed, request: Passing) => Passed;
  close(): Promise<void>;
}

const flat = (headers: IncomingHttpHeaders): Record<string, string> => {
  const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers;
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)]));
};

export async function startFront(target: string): Promise<Front> {
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => void pass(Buffer.concat(chunks).toString()));
    const pass = async (body: string): Promise<void> => {
      const request = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: flat(incoming.headers),
        body,
      };
      front.requests.push(request);
      const passing = front.before({ ...request, headers: { ...request.headers } });
      let answer: Passed;
      if ('status' in passing) answer = passing;
      else {
        const response = await fetch(target + passing.path, {
          method: passing.method,
          headers: passing.headers,
          ...(passing.body === '' ? {} : { body: passing.body }),
        });
        const { 'content-length': _length, ...headers } = Object.fromEntries(response.headers);
        answer = { status: response.status, headers, body: await response.text() };
      }
      const { status, headers, body: text } = front.after(answer, request);
      outgoing.writeHead(status, headers).end(text);
    };
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front: Front = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    before: (request) => request,
    after: (answer) => answer,
    close: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
  };
  return front;
}
