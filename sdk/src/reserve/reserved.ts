/**
 * `db.reserve()`: a connection of the pool for one user, until it is given back.
 *
 * Statements run one after the other, in the order of their calls. The session is theirs: settings,
 * temporary tables, advisory locks and a transaction begun by hand stay until `release`, which puts
 * the session back to its start.
 *
 * ```text
 *  reserve ─► statements, one by one ─► release ─► (ROLLBACK) ─► DISCARD ALL ─► back to the pool
 * ```
 */

import { ignore, onAbort, untilAborted } from '../abort.js';
import { attachCallSite, captureCallSite } from '../call-sites.js';
import { runOn, runText } from '../connection/autocommit.js';
import type { Connection } from '../connection/connection.js';
import type { DatabaseContext } from '../connection/context.js';
import type { DriverResult } from '../connection/driver.js';
import { processIdOf } from '../connection/driver.js';
import type { StatementRequest } from '../connection/request.js';
import { runLater } from '../connection/run-later.js';
import type { CopyWork } from '../copy/work.js';
import type { QueryTrace } from '../diagnostics.js';
import { queries, traced, traceOf } from '../diagnostics.js';
import { UsageError } from '../errors.js';
import type { QueryOptions } from '../options/index.js';
import { joinOptions, readQueryOptions } from '../options/index.js';
import type { Executor } from '../query/queryable.js';
import { makeQueryable } from '../query/queryable.js';
import type { Compiled } from '../sql/template.js';
import type { ReservedConnection } from './handle.js';

/** What a reserved connection is made of. */
export interface ReservedSource {
  readonly context: DatabaseContext;
  readonly connection: Connection;
  readonly bound: QueryOptions;
  /** Called once when the connection has been given back. */
  readonly onReleased: () => void;
}

/** Makes the handle of a connection that nothing else uses. */
export function makeReserved(source: ReservedSource): ReservedConnection {
  return new Reserved(source).handle(source.bound);
}

class Reserved {
  readonly #context: DatabaseContext;
  readonly #connection: Connection;
  readonly #onReleased: () => void;
  /** Settles when the statements so far have ended. */
  #turn: Promise<unknown> = Promise.resolve();
  #isUsed = false;
  #copying: CopyWork | undefined;
  #released: Promise<void> | undefined;

  constructor({ context, connection, onReleased }: ReservedSource) {
    this.#context = context;
    this.#connection = connection;
    this.#onReleased = onReleased;
  }

  handle(bound: QueryOptions): ReservedConnection {
    const release = (): Promise<void> => (this.#released ??= this.#release());
    const handle = {
      ...makeQueryable(this.#executor(), bound),
      processId: processIdOf(this.#connection.client),
      with: (options: QueryOptions) => this.handle(joinOptions(bound, readQueryOptions(options))),
      release,
      [Symbol.asyncDispose]: release,
    };
    return Object.freeze(handle);
  }

  #executor(): Executor {
    const run: Executor['run'] = async (statement, { signal }, { method, pick }) => {
      const callSite = captureCallSite(method);
      const compiled = statement.compile();
      try {
        const { text } = compiled;
        return pick(await this.#inTurn(text, () => this.#statement(compiled, signal), signal));
      } catch (error) {
        const { text, values } = compiled;
        throw attachCallSite(error, { text, parameters: values, callSite });
      }
    };
    return {
      features: this.#context.features,
      run,
      script: async (text, { signal }, callSite) => {
        const send = (connection: Connection): ReturnType<Connection['sendScript']> =>
          connection.sendScript(text);
        const work = { text, send, signal };
        const run = (): Promise<DriverResult> => runText(this.#connection, work, true);
        await this.#inTurn(text, run, signal).catch((error: unknown) => {
          throw attachCallSite(error, { text, parameters: [], callSite });
        });
      },
      submit: (request) => {
        runLater(request, () =>
          this.#inTurn(request.text, () => this.#writes(request), request.signal),
        );
      },
      copy: (work) => this.#copy(work),
    };
  }

  #statement(compiled: Compiled, signal: AbortSignal | undefined): Promise<DriverResult> {
    const { prepare } = this.#context.settings;
    return runOn(this.#connection, compiled, { prepare, signal, staysOpen: true });
  }

  /** One statement by itself; several in a transaction, so that all take effect or none. */
  async #writes({ statements, signal, callSite }: StatementRequest): Promise<DriverResult[]> {
    const isAlone = statements.length > 1 && !this.#connection.inTransaction;
    const results: DriverResult[] = [];
    try {
      if (isAlone) await this.#statement({ text: 'BEGIN', values: [] }, signal);
      for (const statement of statements) {
        const compiled = statement.compile();
        try {
          results.push(await this.#statement(compiled, signal));
        } catch (error) {
          const { text, values } = compiled;
          throw attachCallSite(error, { text, parameters: values, callSite });
        }
      }
      if (isAlone) await this.#statement({ text: 'COMMIT', values: [] }, signal);
      return results;
    } catch (error) {
      if (isAlone) await this.#connection.sendScript('ROLLBACK');
      throw error;
    }
  }

  async #copy(work: CopyWork): Promise<DriverResult> {
    const { text, callSite, signal } = work;
    const copy = async (): Promise<DriverResult> => {
      this.#copying = work;
      try {
        return await runText(this.#connection, work, true);
      } finally {
        this.#copying = undefined;
      }
    };
    return this.#inTurn(text, copy, signal).catch((error: unknown) => {
      throw attachCallSite(error, { text, parameters: [], callSite });
    });
  }

  /** Runs work when everything before it has ended; the signal ends the wait. */
  #inTurn<T>(text: string, work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (this.#released !== undefined) {
      return Promise.reject(new UsageError('the reserved connection has been given back'));
    }
    if (this.#copying !== undefined) {
      const message = 'a COPY is under way on this connection: end it first';
      return Promise.reject(new UsageError(message));
    }
    const { counts, settings } = this.#context;
    counts.statements += 1;
    const makeTrace = (): QueryTrace => ({ ...traceOf(text), ...this.#connection.place });
    const before = this.#turn;
    const result = traced(queries, makeTrace, async (trace) => {
      const startMs = trace === undefined ? 0 : settings.scheduler.now();
      await untilAborted(before, signal);
      this.#isUsed = true;
      if (trace !== undefined) trace.waitMs = settings.scheduler.now() - startMs;
      return work();
    });
    this.#turn = Promise.allSettled([before, result]);
    return result;
  }

  async #release(): Promise<void> {
    // Statements are waited for; the rest of a COPY is not.
    const forget = onAbort(this.#context.closed, () => {
      this.#connection.cut();
    });
    this.#copying?.stop.abort(new UsageError('the reserved connection was given back'));
    await this.#turn;
    if (this.#isUsed && !this.#connection.unfit) await this.#connection.reset().catch(ignore);
    forget();
    this.#connection.release();
    this.#onReleased();
  }
}
