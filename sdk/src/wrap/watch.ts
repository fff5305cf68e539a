/**
 * What a connection of `pg` reports while another library uses it.
 *
 * Libraries wrap the errors of `pg`, and some hide them. The connection itself reports its loss,
 * the errors of the server, and whether COMMIT has committed or rolled back.
 */

import type pg from 'pg';

import { isServerMessage, wireOf } from '../connection/driver.js';
import { BraidError, causes, DatabaseError, fromDriver, lostConnection } from '../errors.js';

/** How `pg` reports that a connection has ended. */
const LOSS = /connection terminated|connection error|client was closed|not queryable/i;

/** The server refuses statements until the end of a failed transaction. */
const FAILED_TRANSACTION = '25P02';

/** True if `pg` reports by this error that a connection has ended, or could not be made. */
export function reportsLoss(error: Error): boolean {
  return LOSS.test(error.message);
}

/** Watches one connection for the time of one transaction. */
export class ConnectionWatch {
  readonly #client: pg.ClientBase;
  readonly #reportsLoss: (error: Error) => boolean;
  #lost: Error | undefined;
  #lastTag = '';
  #lastError: Error | undefined;

  constructor(client: pg.ClientBase, isLossOfLibrary: (error: Error) => boolean) {
    this.#client = client;
    this.#reportsLoss = (error) => reportsLoss(error) || isLossOfLibrary(error);
    client.on('error', this.#onLost);
    const wire = wireOf(client);
    wire.on('commandComplete', this.#onTag);
    wire.on('errorMessage', this.#onError);
  }

  /** What ended the connection; undefined while it lasts. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  /** Throws if the connection has ended. */
  checkConnected(): void {
    if (this.#lost !== undefined) throw lostConnection(this.#lost);
  }

  /** True once the server has answered that it has committed. */
  get committed(): boolean {
    return this.#lastTag === 'COMMIT';
  }

  /** The error that has failed a transaction whose COMMIT rolled back. */
  get rolledBack(): Error | undefined {
    if (this.#lastTag !== 'ROLLBACK') return undefined;
    const message = 'the transaction had failed, so COMMIT rolled it back';
    const fields = { code: FAILED_TRANSACTION, message, severity: 'ERROR' };
    return this.#lastError ?? new DatabaseError(fields);
  }

  /**
   * The error of the SDK for what a library, or the function of the caller, has thrown; the error
   * as it is where it comes neither from the server nor from the loss of this connection.
   */
  translate(error: unknown): unknown {
    for (const link of causes(error)) {
      if (link instanceof BraidError) return error;
      if (isServerMessage(link)) return fromDriver(link);
      const lost = this.#lost;
      if (lost === undefined || !(link instanceof Error)) continue;
      if (link === lost || this.#reportsLoss(link)) return lostConnection(lost);
    }
    return error;
  }

  /** Stops watching. */
  stop(): void {
    this.#client.removeListener('error', this.#onLost);
    const wire = wireOf(this.#client);
    wire.removeListener('commandComplete', this.#onTag as () => void);
    wire.removeListener('errorMessage', this.#onError as () => void);
  }

  readonly #onLost = (error: Error): void => {
    this.#lost ??= error;
  };

  readonly #onTag = ({ text }: { readonly text: string }): void => {
    this.#lastTag = text;
  };

  readonly #onError = (error: Error & { readonly code?: string }): void => {
    if (error.code !== FAILED_TRANSACTION) this.#lastError = error;
  };
}
