/**
 * Single statements outside of transactions, without an abort signal, on a pool of the SDK's own: the
 * way of most statements, and the shortest one. It takes a connection, writes the statement, reads the
 * answer and gives the connection back; no queue, nothing to be held or cancelled.
 *
 * ```text
 *  statement ─► connection ─► answer ─► the caller goes on ─► its next statement, if it comes at once
 *                    ▲                                              │ else, in this turn's end
 *                    └──────────────── kept until then ◄────────────┴─► back to the pool
 * ```
 *
 * Everything else goes through `connection.ts`. Both keep the same rules: the outcome of a lost
 * connection is open, and a connection with an open transaction does not go back to the pool.
 */

import type pg from 'pg';

import type { Shared } from './connection.js';
import { encodeStatement } from './connection.js';
import type { DriverResult } from './driver.js';
import { destroy } from './driver.js';
import { ConnectionError, fromConnect, fromDriver, needsPreparing, UsageError } from './errors.js';
import type { GroupOutcome } from './pipe.js';
import { Pipe } from './pipe.js';
import type { Sql } from './sql.js';

/** A connection in our hands. */
interface Lease {
  readonly client: pg.PoolClient;
  readonly pipe: Pipe;
}

/** The single statements of one database. */
export class Singles {
  readonly #shared: Shared;
  /** A connection between two statements. */
  #kept: Lease | undefined;
  #returning = false;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** Runs a statement; rejects with an error of the SDK. */
  run(statement: Sql): Promise<DriverResult> {
    return new Promise((resolve, reject) => {
      const compiled = statement.compile();
      const wire = encodeStatement(compiled, this.#shared.settings.prepare);
      let repeats = wire.name !== undefined;
      const send = (lease: Lease): void => {
        const wasThere = !lease.pipe.ended;
        void lease.pipe.send([wire], this.#shared.parsers).then((outcome) => {
          const end = finish(lease, outcome, compiled.text, wasThere);
          if (repeats && end.unfit === false && needsPreparing(end.error)) {
            // The pipe has forgotten the prepared statement and prepares it again.
            repeats = false;
            send(lease);
            return;
          }
          this.#giveBack(lease, end.unfit);
          if (end.result !== undefined) resolve(end.result);
          else reject(asError(end.error));
        });
      };
      const kept = this.#kept;
      this.#kept = undefined;
      if (kept?.pipe.ended === false) {
        send(kept);
        return;
      }
      kept?.client.release(true);
      this.#shared.pool.connect((error, client) => {
        if (client === undefined) reject(asError(fromConnect(error)));
        else send({ client, pipe: Pipe.of(client) });
      });
    });
  }

  /** Keeps the connection for a statement that comes at once, if nobody else waits for one. */
  #giveBack(lease: Lease, unfit: Error | boolean | undefined): void {
    const isWanted = this.#shared.pool.waitingCount > 0 || this.#kept !== undefined;
    if (unfit !== undefined && unfit !== false) lease.client.release(unfit);
    else if (isWanted) lease.client.release();
    else {
      this.#kept = lease;
      if (this.#returning) return;
      this.#returning = true;
      setImmediate(() => {
        this.#returning = false;
        const kept = this.#kept;
        this.#kept = undefined;
        kept?.client.release(kept.pipe.ended);
      });
    }
  }
}

/** The error of a statement that has left a transaction open. */
export function leftOpen(): UsageError {
  return new UsageError('the statement left a transaction open; use db.transaction');
}

interface End {
  /** What was answered; undefined if there is an error. */
  readonly result?: DriverResult | undefined;
  readonly error?: unknown;
  /** The connection must not be used again, and why. */
  readonly unfit?: Error | boolean | undefined;
}

function finish(
  { client, pipe }: Lease,
  { results, failure, status }: GroupOutcome,
  text: string,
  wasSent: boolean,
): End {
  let { lost } = pipe;
  if (status === undefined) {
    const cause = failure?.error;
    lost ??= cause instanceof Error ? cause : new Error('the connection has ended');
  }
  const isOpen = status !== undefined && status !== 'I';
  if (isOpen) destroy(client);
  if (failure !== undefined) {
    const error = fromDriver(failure.error, { statement: text, lost, ambiguous: wasSent });
    return { error, unfit: lost ?? (isOpen || error instanceof ConnectionError) };
  }
  const unfit = lost ?? isOpen;
  const result = results.at(-1) ?? { command: '', rowCount: null, rows: [] };
  if (result.parseFailure !== undefined) return { error: result.parseFailure.error, unfit };
  return isOpen ? { error: leftOpen(), unfit } : { result, unfit };
}

/** Errors of the caller's own parsers may be anything: they are passed on as they are. */
function asError(error: unknown): Error {
  return error as Error;
}
