/**
 * What the SDK uses of `pg` beyond its public types, all in one file: start-up parameters, the
 * cancel request, and the moment when a connection is ready again after an error.
 */

import type { Socket } from 'node:net';

import pg from 'pg';

/** The state that the server reports with each ready message; null before the first. */
export type TransactionStatus = 'I' | 'T' | 'E' | null;

/** A result as `pg` gives it. */
export type DriverResult = pg.QueryResult<Record<string, unknown>>;

interface Wire {
  readonly stream: Socket;
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
  readonly ssl: boolean | object;
  readonly readyForQuery: boolean;
  getTransactionStatus?(): TransactionStatus;
}

const parametersOf = new WeakMap<object, Map<string, string>>();

const inside = (client: pg.ClientBase): ClientInternals => client as unknown as ClientInternals;

type ClientClass = new (config?: string | pg.ClientConfig) => pg.Client;

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

/**
 * Resolves when the server is ready for the next statement or the connection has ended. After an
 * error `pg` reports the error first and this a moment later.
 */
export async function ready(client: pg.ClientBase): Promise<void> {
  const { connection, readyForQuery } = inside(client);
  if (readyForQuery || connection.stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      connection.removeListener('readyForQuery', done);
      connection.removeListener('end', done);
      resolve();
    };
    connection.once('readyForQuery', done);
    connection.once('end', done);
  });
  // `pg` handles the same message in a listener of its own, which may run after this one.
  await Promise.resolve();
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
