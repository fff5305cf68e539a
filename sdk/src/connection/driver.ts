/**
 * What the SDK uses of `pg` beyond its public types, all in one file: start-up parameters, the
 * messages of the wire, the transaction status and the cancel request.
 */

import type { Socket } from 'node:net';

import pg from 'pg';

import type { Place } from '../diagnostics.js';
import { detectServer } from '../server.js';

/** The state that the server reports with each ready message; null before the first. */
export type TransactionStatus = 'I' | 'T' | 'E' | null;

/** A column of an answer, as `pg` describes it. */
export interface Field {
  readonly name: string;
  /** The number of its type. */
  readonly dataTypeID: number;
}

/** What one statement answered. */
export interface DriverResult {
  readonly command: string;
  /** Null where the server's tag has no number. */
  readonly rowCount: number | null;
  readonly rows: Record<string, unknown>[];
  readonly fields?: readonly Field[];
  /** What a type parser of the caller's threw; the statement itself has run. */
  readonly parseFailure?: { readonly error: unknown };
}

/** The protocol's messages, as `pg` writes and reads them. */
export interface Wire {
  readonly stream: Socket;
  query(text: string): void;
  parse(message: { text: string; name: string }): void;
  bind(message: { statement: string; values: readonly (string | Buffer | null)[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: { portal: string }): void;
  close(message: { type: 'S'; name: string }): void;
  sync(): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
  on(event: string, listener: (message: never) => void): unknown;
  once(event: string, listener: () => void): unknown;
  removeListener(event: string, listener: () => void): unknown;
}

interface ClientInternals {
  readonly connection: Wire;
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly ssl: boolean | object;
  readonly readyForQuery: boolean;
  readonly pipeline?: boolean;
  getTransactionStatus?(): TransactionStatus;
}

const parametersOf = new WeakMap<object, Map<string, string>>();

const inside = (client: pg.ClientBase): ClientInternals => client as unknown as ClientInternals;

/** A class of clients, as a pool makes them. */
export type ClientClass = new (config?: string | pg.ClientConfig) => pg.Client;

/** A client class that remembers the parameters which the server announces at start-up. */
export function recordingParameters(Base: ClientClass): ClientClass {
  return class RecordingClient extends Base {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      const parameters = new Map<string, string>();
      parametersOf.set(this, parameters);
      inside(this).connection.on(
        'parameterStatus',
        (message: { parameterName: string; parameterValue: string }) => {
          parameters.set(message.parameterName, message.parameterValue);
        },
      );
    }
  };
}

/** Makes connections that a pool opens from now on remember their start-up parameters. */
export function recordParameters(pool: pg.Pool): void {
  const slot = pool as unknown as { Client?: ClientClass };
  if (slot.Client !== undefined) slot.Client = recordingParameters(slot.Client);
}

/** The parameters that the server announced, if this connection has recorded them. */
export function startupParameters(client: pg.ClientBase): ReadonlyMap<string, string> | undefined {
  return parametersOf.get(client);
}

/** `I` outside a transaction, `T` in one, `E` in a failed one; undefined where `pg` is too old. */
export function transactionStatus(client: pg.ClientBase): TransactionStatus | undefined {
  return inside(client).getTransactionStatus?.();
}

/** The number of the session on the server. */
export function processIdOf(client: pg.ClientBase): number | undefined {
  return inside(client).processID ?? undefined;
}

/** Which server and database a client is for; the system is known once it is connected. */
export function placeOf(client: pg.ClientBase): Place {
  const { host, port, database } = inside(client);
  const parameters = parametersOf.get(client);
  const system = parameters?.size ? detectServer(parameters).kind : undefined;
  return { server: `${host}:${port}`, system, database };
}

/** Delay of the first probe of a silent connection, in milliseconds. */
const PROBE_MS = 10_000;

/** A client like those of the pool, but outside of it; not connected yet. */
export function openClient(pool: pg.Pool): pg.Client {
  const { Client, options } = pool as unknown as { Client: ClientClass; options: pg.ClientConfig };
  // Nothing is sent on a connection that only listens: probes find out that the server is gone.
  const probing = { keepAlive: true, keepAliveInitialDelayMillis: PROBE_MS };
  const client = new Client({ ...options, ...probing, password: options.password });
  return client;
}

/** The connection's messages. */
export function wireOf(client: pg.ClientBase): Wire {
  return inside(client).connection;
}

/** True once the socket is gone. */
export function isDestroyed(client: pg.ClientBase): boolean {
  return inside(client).connection.stream.destroyed;
}

/** True for clients that pipeline by themselves: they refuse the queries that the SDK makes. */
export function pipelinesItself(client: pg.ClientBase): boolean {
  return inside(client).pipeline === true;
}

/** True for errors that the server sent: only those have a severity. */
export function isServerMessage(error: unknown): boolean {
  return error instanceof Error && typeof (error as { severity?: unknown }).severity === 'string';
}

/** True if no statement is running or waiting. */
export function isIdle(client: pg.ClientBase): boolean {
  return inside(client).readyForQuery;
}

/** Cuts the connection without a goodbye. */
export function destroy(client: pg.ClientBase): void {
  inside(client).connection.stream.destroy();
}

/**
 * Asks the server to cancel what `client` is running, on a second connection. Resolves when the
 * server has closed that connection, which it does after it has passed the request on; from then on
 * the request can no longer hit a later statement. Rejects if the server cannot be reached.
 */
export function requestCancel(client: pg.ClientBase): Promise<void> {
  const { processID, secretKey, host, port, ssl } = inside(client);
  if (processID === null || secretKey === null) {
    return Promise.reject(new Error('the server gave no key for cancel requests'));
  }
  const wire = new pg.Connection({ ssl }) as unknown as Wire;
  return new Promise((resolve, reject) => {
    const send = (): void => {
      wire.cancel(processID, secretKey);
    };
    wire.on('connect', () => {
      if (ssl === false) send();
      else wire.requestSsl();
    });
    wire.on('sslconnect', send);
    wire.on('error', reject);
    wire.on('end', () => {
      resolve();
    });
    if (host.startsWith('/')) wire.connect(`${host}/.s.PGSQL.${port}`);
    else wire.connect(port, host);
  });
}
