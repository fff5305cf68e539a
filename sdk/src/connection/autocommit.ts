/**
 * Statements outside of transactions: each commits by itself.
 *
 * The shortest way to the server: it takes a connection, writes the statement, reads the answer and
 * gives the connection back. It has no queue and holds nothing back.
 *
 * ```text
 *  statement ─► connection ─► answer ─► the caller goes on ─► its next statement, if it comes at once
 *                    ▲                                              │ else, at the end of this turn
 *                    └──────────────── kept until then ◄────────────┴─► back to the pool
 * ```
 */

import { onAbort } from '../abort.js';
import type { OnPlace, QueryTrace } from '../diagnostics.js';
import { queries, traced, traceOf } from '../diagnostics.js';
import { needsPreparing, UsageError, withText } from '../errors.js';
import { isAtomic } from '../sql/clauses.js';
import type { Compiled } from '../sql/template.js';
import type { DatabaseContext } from './context.js';
import { abortReasonOr, Connection } from './connection.js';
import type { DriverResult } from './driver.js';
import type { GroupOutcome } from './group.js';
import { lastResult } from './group.js';
import type { WireStatement } from './prepared.js';
import { encodeStatement } from './prepared.js';
import type { SendText } from './request.js';
import { traceSetting } from './trace-context.js';

type Use = (connection: Connection) => Promise<DriverResult>;

/** Runs the single statements and scripts of one database. */
export class AutocommitRunner {
  readonly #context: DatabaseContext;
  /** The connection of the last statement, kept until the end of this turn of the event loop. */
  #kept: Connection | undefined;
  #isReturning = false;

  constructor(context: DatabaseContext) {
    this.#context = context;
  }

  /** Runs one statement. */
  run(statement: Compiled, signal?: AbortSignal, onPlace?: OnPlace): Promise<DriverResult> {
    const context = this.#context;
    const { prepare, traceStatements } = context.settings;
    const run: Use = (connection) => {
      const isNamed = traceStatements && isAtomic(statement.text);
      const before = isNamed ? traceSetting(context) : [];
      return runOn(connection, statement, { prepare, signal, before });
    };
    return this.#use(statement.text, signal, run, onPlace);
  }

  /** Runs a text that may hold several statements; returns the last result. */
  async script(text: string, signal?: AbortSignal): Promise<DriverResult> {
    const send: SendText = (connection) => connection.sendScript(text);
    return this.text({ text, send, signal });
  }

  /** Runs a text that is sent in a way of its own. */
  text(work: TextWork): Promise<DriverResult> {
    return this.#use(work.text, work.signal, (connection) => runText(connection, work, false));
  }

  /** Uses a connection for one text. */
  #use(
    text: string,
    signal: AbortSignal | undefined,
    use: Use,
    onPlace?: OnPlace,
  ): Promise<DriverResult> {
    const context = this.#context;
    context.counts.statements += 1;
    const makeTrace = (): QueryTrace => traceOf(text);
    return traced(queries, makeTrace, async (trace) => {
      const startMs = trace === undefined ? 0 : context.settings.scheduler.now();
      const connection = this.#takeKept() ?? (await Connection.acquire(context, signal));
      onPlace?.(connection.place);
      if (trace !== undefined) {
        Object.assign(trace, connection.place);
        trace.waitMs = context.settings.scheduler.now() - startMs;
      }
      try {
        const result = await use(connection);
        if (trace !== undefined) trace.rows = result.rowCount ?? undefined;
        return result;
      } finally {
        this.#giveBack(connection);
      }
    });
  }

  #takeKept(): Connection | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    if (kept?.unfit !== true) return kept;
    kept.release();
    return undefined;
  }

  /** Keeps the connection for a statement that comes at once, unless another call waits for one. */
  #giveBack(connection: Connection): void {
    const { ownPool, pool } = this.#context;
    const isWanted = !ownPool || pool.waitingCount > 0 || this.#kept !== undefined;
    if (isWanted || connection.unfit) {
      connection.release();
      return;
    }
    this.#kept = connection;
    if (this.#isReturning) return;
    this.#isReturning = true;
    setImmediate(() => {
      this.#isReturning = false;
      const kept = this.#kept;
      this.#kept = undefined;
      kept?.release();
    });
  }
}

/** A text of statements on its way. */
export interface TextWork {
  readonly text: string;
  readonly send: SendText;
  readonly signal: AbortSignal | undefined;
  /** False if nothing can have taken effect when the connection is lost. Default: true. */
  readonly mayRun?: (() => boolean) | undefined;
}

/** Runs a text on a connection that is idle; `staysOpen`: it may leave a transaction open. */
export async function runText(
  connection: Connection,
  { text, send, signal, mayRun }: TextWork,
  staysOpen: boolean,
): Promise<DriverResult> {
  const isSent = !connection.ended;
  const outcome = await answerOf(connection, () => send(connection), signal);
  const ran = isSent && (mayRun?.() ?? true);
  return readOutcome(connection, outcome, { text, mayRun: ran, signal, staysOpen });
}

/** How one statement is run on a connection. */
export interface RunOptions {
  readonly prepare?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The statement may leave a transaction open: the connection has one user. */
  readonly staysOpen?: boolean | undefined;
  /** Settings of this statement alone, in front of it and in the same flight. */
  readonly before?: readonly string[] | undefined;
}

/** Runs one statement on a connection that is idle. */
export async function runOn(
  connection: Connection,
  statement: Compiled,
  { prepare = false, signal, staysOpen = false, before = [] }: RunOptions = {},
): Promise<DriverResult> {
  const wire = encodeStatement(statement, prepare);
  const mayRun = !connection.ended;
  const settings = before.map((text): WireStatement => ({ text, values: [], discard: true }));
  const send = (): Promise<GroupOutcome> => connection.send([...settings, wire]);
  let outcome = await answerOf(connection, send, signal);
  if (wire.name !== undefined && outcome.status === 'I' && needsPreparing(outcome.failure?.error)) {
    // The pipeline has forgotten the prepared statement and prepares it again.
    outcome = await answerOf(connection, send, signal);
  }
  return readOutcome(connection, outcome, { text: statement.text, mayRun, signal, staysOpen });
}

/** Sends and waits for the answer; the signal cancels what is running on the server. */
async function answerOf(
  connection: Connection,
  send: () => Promise<GroupOutcome>,
  signal: AbortSignal | undefined,
): Promise<GroupOutcome> {
  if (signal === undefined) return send();
  signal.throwIfAborted();
  const answer = send();
  let cancelling: Promise<void> | undefined;
  const stopListening = onAbort(signal, () => {
    cancelling = connection.cancel([answer]);
  });
  const outcome = await answer;
  stopListening();
  await cancelling;
  return outcome;
}

/** What the outcome of an autocommit statement is read with. */
interface Sent {
  readonly text: string;
  /** The statement has been sent: it may have taken effect if the connection is lost. */
  readonly mayRun: boolean;
  readonly signal: AbortSignal | undefined;
  readonly staysOpen: boolean;
}

/** The last result, or the error of the statement. */
function readOutcome(
  connection: Connection,
  { results, failure }: GroupOutcome,
  { text, mayRun, signal, staysOpen }: Sent,
): DriverResult {
  // The next user of the connection would be inside the transaction.
  const isLeftOpen = !staysOpen && connection.inTransaction;
  if (isLeftOpen) connection.cut();
  if (failure !== undefined) {
    throw abortReasonOr(connection.translate(failure.error, text, mayRun), signal);
  }
  const unreadable = results.find((result) => result.parseFailure !== undefined);
  if (unreadable !== undefined) throw unreadable.parseFailure?.error;
  if (isLeftOpen) {
    throw new UsageError(
      withText('the statement left a transaction open; use db.transaction', text),
    );
  }
  return lastResult(results);
}
