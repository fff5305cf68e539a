/**
 * A TCP proxy that cuts connections at a chosen moment: how a lost answer is made on purpose.
 */

import type { AddressInfo, Socket } from 'node:net';
import { connect as connectTcp, createServer } from 'node:net';

/**
 * What to do with bytes that the client sends. `cut before`: the server gets nothing of them; `cut
 * inside`: only their first half; `cut after`: all, but its answer is lost; `cut answered`: the
 * client gets the first piece of the answer, then the connection ends.
 */
export type Verdict =
  'pass' | 'cut before' | 'cut inside' | 'cut after' | 'cut answered' | 'swallow' | 'hold';

/** A running proxy. */
export interface Proxy extends AsyncDisposable {
  /** The URL of the server with the proxy's address. */
  readonly url: string;
  /** Decides about each chunk from the client; may be replaced at any time. */
  judge: (chunk: Buffer) => Verdict;
  /** Cuts every open connection. */
  cutAll(): void;
}

/** Starts a proxy in front of the server at `target`, at a free port if none is given. */
export async function startProxy(target: string, ownPort = 0): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const { hostname, port } = new URL(target);
  const server = createServer((client) => {
    const upstream = connectTcp(Number(port), hostname);
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        sockets.delete(socket);
        cut();
      });
    }
    client.on('data', (chunk) => {
      const verdict = proxy.judge(chunk);
      if (verdict === 'cut before') {
        cut();
        return;
      }
      if (verdict === 'swallow') return;
      if (verdict === 'cut inside') {
        client.destroy();
        upstream.end(chunk.subarray(0, chunk.length >> 1));
        return;
      }
      if (verdict === 'cut answered') {
        upstream.once('data', () => {
          client.end(() => {
            cut();
          });
        });
      }
      // Reads nothing more: the client's buffers fill up.
      if (verdict === 'hold') client.pause();
      upstream.write(chunk);
      // After: the server gets the bytes and works on them, its answer never arrives.
      if (verdict === 'cut after') {
        client.destroy();
        upstream.removeListener('data', forward);
        upstream.once('data', () => upstream.destroy());
      }
    });
    const forward = (chunk: Buffer): void => {
      client.write(chunk);
    };
    upstream.on('data', forward);
    client.removeAllListeners('close');
    client.on('close', () => sockets.delete(client));
  });
  await new Promise<void>((resolve) => server.listen(ownPort, '127.0.0.1', resolve));
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const proxy: Proxy = {
    url: url.toString(),
    judge: () => 'pass',
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      proxy.cutAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return proxy;
}
