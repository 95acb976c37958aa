/** A bank that books whatever it is told, as often as it is told. It can be made to book and never answer. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Bank {
  readonly url: string;
  /** To whom something was paid, in order. */
  readonly booked: readonly string[];
  /** The next payment to somebody is booked, and not answered. Resolves when that has happened. */
  silentAbout(to: string): Promise<void>;
  close(): void;
}

export async function openBank(): Promise<Bank> {
  const booked: string[] = [];
  const silent = new Map<string, () => void>();
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part: Buffer) => (text += part.toString('utf8')));
    request.on('end', () => {
      const { to } = JSON.parse(text) as { to: string };
      booked.push(to);
      const happened = silent.get(to);
      silent.delete(to);
      if (happened === undefined) response.end(JSON.stringify({ booking: booked.length }));
      else happened();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    booked,
    silentAbout: (to) => new Promise((resolve) => void silent.set(to, resolve)),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
