/**
 * A server that announces itself as BraidDB and takes every statement, to see what arrives in which
 * flight. Only for what no server that can be built here shows.
 */

import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';

/** The server, and what it has received. */
export interface FakeBraid extends AsyncDisposable {
  readonly url: string;
  /** The statements before each Sync, in their order; those of the SDK's own questions left out. */
  readonly flights: string[][];
}

function message(type: string, ...parts: (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const head = Buffer.alloc(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const int16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const int32 = (value: number): Buffer =>
  Buffer.from([0, value >> 16, (value >> 8) & 255, value & 255]);

/** The answer to the question for settings: which of them the server has. */
function settingsRow(hasTraceparent: boolean): Buffer {
  const columns = [
    ['tokens', 16, 'f'],
    ['traces', 16, hasTraceparent ? 't' : 'f'],
    ['now_ms', 701, '1000'],
  ] as const;
  const fields = columns.map(([name, type]) =>
    Buffer.concat([
      Buffer.from(`${name}\0`),
      int32(0),
      int16(0),
      int32(type),
      int16(8),
      int32(0),
      int16(0),
    ]),
  );
  const values = columns.map(([, , text]) =>
    Buffer.concat([int32(text.length), Buffer.from(text)]),
  );
  return Buffer.concat([
    message('T', int16(columns.length), ...fields),
    message('D', int16(columns.length), ...values),
  ]);
}

/** Starts the server. */
export async function startFakeBraid(hasTraceparent: boolean): Promise<FakeBraid> {
  const flights: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    new Session(socket, flights, hasTraceparent).listen();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgresql://root@127.0.0.1:${port}/d`,
    flights,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Session {
  readonly #socket: Socket;
  readonly #flights: string[][];
  readonly #hasTraceparent: boolean;
  #received = Buffer.alloc(0);
  #isStarted = false;
  #flight: string[] = [];
  #status = 'I';

  constructor(socket: Socket, flights: string[][], hasTraceparent: boolean) {
    this.#socket = socket;
    this.#flights = flights;
    this.#hasTraceparent = hasTraceparent;
  }

  listen(): void {
    this.#socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      while (this.#readOne());
    });
  }

  #readOne(): boolean {
    const head = this.#isStarted ? 1 : 0;
    if (this.#received.length < head + 4) return false;
    const end = head + this.#received.readInt32BE(head);
    if (this.#received.length < end) return false;
    const type = this.#isStarted ? this.#received.toString('latin1', 0, 1) : 'start';
    const body = this.#received.subarray(head + 4, end);
    this.#received = this.#received.subarray(end);
    this.#answer(type, body);
    return true;
  }

  #answer(type: string, body: Buffer): void {
    if (type === 'start') {
      this.#isStarted = true;
      const version = message('S', 'braid_version\0', '0.1.0\0');
      this.#socket.write(Buffer.concat([message('R', int32(0)), version, this.#ready()]));
    }
    if (type === 'P') {
      const [, text = ''] = body.toString().split('\0');
      this.#flight.push(text);
      this.#socket.write(message('1'));
    }
    if (type === 'B') this.#socket.write(message('2'));
    if (type === 'E') this.#socket.write(this.#run(this.#flight.at(-1) ?? ''));
    if (type !== 'S') return;
    const flight = this.#flight.filter((text) => !text.includes('current_setting'));
    if (flight.length > 0) this.#flights.push(flight);
    this.#flight = [];
    this.#socket.write(this.#ready());
  }

  #run(text: string): Buffer {
    if (text.startsWith('BEGIN')) this.#status = 'T';
    if (text.startsWith('COMMIT')) this.#status = 'I';
    const [command = ''] = text.split(' ');
    const rows = text.includes('current_setting') ? [settingsRow(this.#hasTraceparent)] : [];
    return Buffer.concat([...rows, message('C', `${command}\0`)]);
  }

  #ready(): Buffer {
    return message('Z', this.#status);
  }
}
