/**
 * Takes a client out of the pool, and ends the wait for one: by the caller's signal, by a time limit,
 * or when the database handle is closed.
 */

import type pg from 'pg';

import { onAbort } from '../abort.js';
import type { AcquireTrace } from '../diagnostics.js';
import { acquisitions, NO_PLACE, traced } from '../diagnostics.js';
import { ClosedError, ConnectionError, fromConnect, isTransient, UsageError } from '../errors.js';
import type { DatabaseContext } from './context.js';
import { isServerMessage, placeOf } from './driver.js';

/** A client of the pool; one that arrives after the wait has ended goes straight back. */
export function takeClient(
  context: DatabaseContext,
  signal: AbortSignal | undefined,
): Promise<pg.PoolClient> {
  const trace = (): AcquireTrace => ({ waiting: context.counts.waiting, ...NO_PLACE });
  return traced(acquisitions, trace, async (filled) => {
    const client = await take(context, signal);
    if (filled !== undefined) Object.assign(filled, placeOf(client));
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
  if (pool.ending) throw new UsageError('the pool was ended');
  const isFree = pool.idleCount > pool.waitingCount;
  if (isFree && signal === undefined) {
    return pool.connect().catch((error: unknown) => {
      throw fromConnect(error);
    });
  }
  context.counts.waiting += 1;
  try {
    return await waitFor(context, signal);
  } finally {
    context.counts.waiting -= 1;
  }
}

/** Waits for a client until the signal aborts, the time is over or the database handle is closed. */
function waitFor(
  context: DatabaseContext,
  signal: AbortSignal | undefined,
): Promise<pg.PoolClient> {
  const { settings, ownPool, closed } = context;
  return new Promise((resolve, reject) => {
    const state = { isOver: false };
    const end = (): void => {
      state.isOver = true;
      clearTimeout(timer);
      forgetSignal();
      forgetClosed();
    };
    const fail = (error: unknown): void => {
      if (state.isOver) return;
      end();
      reject(error);
    };
    const late = (): void => {
      fail(lateError(context));
    };
    // A pool of the caller has a time limit of its own.
    const timer = ownPool ? setTimeout(late, settings.acquireTimeoutMs) : undefined;
    const forgetSignal = onAbort(signal, () => {
      fail(signal?.reason);
    });
    const forgetClosed = onAbort(closed, () => {
      fail(new ClosedError());
    });
    connectToAny(context, state).then((client) => {
      if (state.isOver) {
        client.release();
        return;
      }
      end();
      resolve(client);
    }, fail);
  });
}

/** Tries the next host where one cannot be reached. */
async function connectToAny(
  { pool, hostCount }: DatabaseContext,
  state: { readonly isOver: boolean },
): Promise<pg.PoolClient> {
  for (let tries = 1; ; tries++) {
    try {
      return await pool.connect();
    } catch (error) {
      const read = fromConnect(error);
      const isOfHost = isTransient(read) || !isServerMessage(error);
      if (tries >= hostCount || !isOfHost || state.isOver) throw read;
    }
  }
}

function lateError({ pool, settings }: DatabaseContext): ConnectionError {
  const { acquireTimeoutMs, connectionsMax } = settings;
  const why =
    pool.totalCount < connectionsMax
      ? 'the server does not answer'
      : `all ${connectionsMax} are in use (connectionsMax)`;
  return new ConnectionError(
    `no connection within ${acquireTimeoutMs} ms (acquireTimeoutMs): ${why}`,
  );
}
