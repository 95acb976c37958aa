/** A wire to a server that tests can cut, slow down, or make deaf on the way back. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Milliseconds that each piece of an answer is held back. */
  delayMs: number;
  /** Answers are swallowed; requests still arrive. */
  deaf: boolean;
  /** Ends all connections, and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let refusing = false;
  const server = createServer((near) => {
    if (refusing) return void near.resetAndDestroy();
    const far = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    near.on('data', (data) => far.write(data));
    far.on('data', (data) => {
      if (proxy.deaf) return;
      if (proxy.delayMs === 0) near.write(data);
      else setTimeout(() => near.write(data), proxy.delayMs);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    delayMs: 0,
    deaf: false,
    cut: () => {
      refusing = true;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    mend: () => void (refusing = false),
    close: async () => {
      proxy.cut();
      await new Promise((closed) => server.close(closed));
    },
  };
  return proxy;
}
