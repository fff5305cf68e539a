/**
 * Takes a client out of the pool, and ends the wait for one: by the caller's signal, by a time limit,
 * or when the database handle is closed.
 */

import type pg from 'pg';

import { ignore, onAbort } from '../abort.js';
import type { AcquireTrace } from '../diagnostics.js';
import { acquisitions, traced } from '../diagnostics.js';
import { ClosedError, ConnectionError, fromConnect, isTransient } from '../errors.js';
import type { DatabaseContext } from './context.js';
import { isServerMessage, serverOf } from './driver.js';

/** A client of the pool; one that arrives after the wait has ended goes straight back. */
export function takeClient(
  context: DatabaseContext,
  signal: AbortSignal | undefined,
): Promise<pg.PoolClient> {
  const trace = (): AcquireTrace => ({ waiting: context.counts.waiting, server: undefined });
  return traced(acquisitions, trace, async (filled) => {
    const client = await take(context, signal);
    if (filled !== undefined) filled.server = serverOf(client);
    return client;
  });
}

async function take(
  context: DatabaseContext,
  signal: AbortSignal | undefined,
): Promise<pg.PoolClient> {
  signal?.throwIfAborted();
  if (context.closed.aborted) throw new ClosedError();
  const { pool } = context;
  const isFree = pool.idleCount > pool.waitingCount;
  if (isFree && signal === undefined) {
    return pool.connect().catch((error: unknown) => {
      throw fromConnect(error);
    });
  }
  context.counts.waiting += 1;
  try {
    return await new Wait(context, signal).client;
  } finally {
    context.counts.waiting -= 1;
  }
}

class Wait {
  readonly client: Promise<pg.PoolClient>;
  readonly #context: DatabaseContext;
  readonly #over = new AbortController();
  #reject: (error: unknown) => void = ignore;

  constructor(context: DatabaseContext, signal: AbortSignal | undefined) {
    this.#context = context;
    const { settings, ownPool, closed } = context;
    const forgetSignal = onAbort(signal, () => {
      this.#end(signal?.reason);
    });
    const forgetClosed = onAbort(closed, () => {
      this.#end(new ClosedError());
    });
    const connected = this.#connect();
    const stopped = new Promise<never>((_, reject) => (this.#reject = reject));
    this.client = Promise.race([connected, stopped]).finally(() => {
      this.#over.abort('over');
      forgetSignal();
      forgetClosed();
    });
    // A pool of the caller has a time limit of its own.
    if (ownPool) void this.#limit(settings.acquireTimeoutMs);
  }

  #end(error: unknown): void {
    this.#over.abort('over');
    this.#reject(error);
  }

  /** Tries the next host where one cannot be reached. */
  async #connect(): Promise<pg.PoolClient> {
    const { pool, hostCount } = this.#context;
    const { signal } = this.#over;
    for (let tries = 1; ; tries++) {
      try {
        const client = await pool.connect();
        if (signal.aborted) client.release();
        return client;
      } catch (error) {
        const read = fromConnect(error);
        const isOfHost = isTransient(read) || !isServerMessage(error);
        if (tries >= hostCount || !isOfHost || signal.aborted) throw read;
      }
    }
  }

  async #limit(ms: number): Promise<void> {
    const { scheduler, connectionsMax } = this.#context.settings;
    const isLate = await scheduler.sleep(ms, this.#over.signal).then(
      () => true,
      () => false,
    );
    if (!isLate) return;
    const { totalCount } = this.#context.pool;
    const why =
      totalCount < connectionsMax
        ? 'the server does not answer'
        : `all ${connectionsMax} are in use (connectionsMax)`;
    this.#end(new ConnectionError(`no connection within ${ms} ms (acquireTimeoutMs): ${why}`));
  }
}
