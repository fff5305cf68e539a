/**
 * What became of a COMMIT whose answer never came.
 *
 * The transaction carries a token. When the connection is lost, another one asks the server:
 *
 * ```text
 *  SELECT braid_commit_status($1) ─┬─ committed ─► success
 *        ▲                         ├─ aborted ───► final: CommitAbortedError, run again
 *        │                         ├─ pending ───► pause, ask again
 *        └── no connection: pause ─┴─ unknown ───► CommitUnknownError
 * ```
 *
 * Asks until the transaction's deadline or abort, and graceMs longer, so that an abort during
 * COMMIT still gets its answer where the server is there.
 */

import { ignore, onAbort } from '../abort.js';
import { runOn } from '../connection/autocommit.js';
import type { DatabaseContext } from '../connection/context.js';
import { Connection } from '../connection/connection.js';
import { publishCommitLost } from '../diagnostics.js';
import type { CommitUnknownError } from '../errors.js';
import { ClosedError, CommitAbortedError, ConnectionError, DatabaseError } from '../errors.js';
import { backoffMs } from './retry.js';

const PAUSES = { backoffBaseMs: 20, backoffMaxMs: 500 };

/** Resolves if the transaction has committed; rejects with what else is known. */
export async function resolveCommit(
  context: DatabaseContext,
  token: string | undefined,
  lost: CommitUnknownError,
  signal: AbortSignal,
): Promise<void> {
  const { now } = context.settings.scheduler;
  const startMs = now();
  context.counts.commitsLost += 1;
  const asked = { count: 0 };
  const outcome = token === undefined ? 'unknown' : await ask(context, token, signal, asked);
  const event = { outcome, asked: asked.count, elapsedMs: now() - startMs, token, error: lost };
  publishCommitLost(event);
  if (outcome === 'committed') return;
  if (outcome === 'unknown') throw lost;
  throw new CommitAbortedError('the connection was lost during COMMIT, nothing took effect', lost);
}

async function ask(
  context: DatabaseContext,
  token: string,
  signal: AbortSignal,
  asked: { count: number },
): Promise<'committed' | 'aborted' | 'unknown'> {
  const { scheduler, graceMs } = context.settings;
  const stop = new AbortController();
  const done = new AbortController();
  const expire = (): void => {
    scheduler.sleep(graceMs, done.signal).then(() => {
      stop.abort();
    }, ignore);
  };
  const forget = onAbort(signal, expire);
  if (signal.aborted) expire();
  try {
    for (;;) {
      asked.count += 1;
      const status = await askOnce(context, token, stop.signal);
      if (status === 'committed' || status === 'aborted' || status === 'unknown') return status;
      await scheduler.sleep(backoffMs(PAUSES, asked.count, scheduler.random), stop.signal);
    }
  } catch (error) {
    // Given up, or the server cannot answer such a question.
    if (stop.signal.aborted || error instanceof DatabaseError) return 'unknown';
    if (error instanceof ClosedError) return 'unknown';
    throw error;
  } finally {
    forget();
    done.abort();
  }
}

/** The server's answer; undefined while it cannot be reached. */
async function askOnce(
  context: DatabaseContext,
  token: string,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const connection = await Connection.acquire(context, signal);
    try {
      const statement = { text: 'SELECT braid_commit_status($1) AS status', values: [token] };
      const { prepare } = context.settings;
      const { rows } = await runOn(connection, statement, { prepare, signal });
      return rows[0]?.status;
    } finally {
      connection.release();
    }
  } catch (error) {
    if (error instanceof ConnectionError) return undefined;
    throw error;
  }
}
