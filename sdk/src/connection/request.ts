/**
 * A statement request: what one call of a query method runs, from the call to the answer.
 *
 * A request is usually one statement. It holds several where they belong together: BEGIN with its
 * savepoint, or an insert of more values than one statement can carry. Until it is sent, the caller
 * may still change it: a write can be asked for its rows, a read can get a locking clause.
 *
 * ```text
 *  call ─► waiting ─────────────────► sent ─► answered: results, or an error
 *            ▲ requestResult(), lock()
 * ```
 *
 * The public types `Write` and `RowWrite` and the promises of `query` and `one` are views of a
 * request. `StatementQueue` holds requests in order and sends them.
 */

import { ignore } from '../abort.js';
import type { CallSite, SentStatement } from '../call-sites.js';
import { UsageError } from '../errors.js';
import { withReturning } from '../sql/builders.js';
import { withClause, withReturningNothing } from '../sql/clauses.js';
import type { Compiled } from '../sql/template.js';
import { Sql } from '../sql/template.js';
import type { Connection } from './connection.js';
import type { DriverResult } from './driver.js';
import type { GroupOutcome } from './group.js';
import type { WireStatement } from './prepared.js';

/**
 * When a request is sent. `opening`: in front of the next request. `unawaited`: with the next
 * request, or at the end of this turn of the event loop. `awaited` and `script`: at once.
 */
export type Delivery = 'opening' | 'unawaited' | 'awaited' | 'script';

/** What the owner of a request (a transaction, or a `db`) does as the request goes on. */
export interface RequestHooks {
  /** Throws if the request must not be sent any more; called just before it is sent. */
  readonly guard?: (() => void) | undefined;
  /** Gets the texts that are being sent, in the order of the wire. */
  readonly onSend?: ((texts: readonly string[]) => void) | undefined;
  /** Gets the number of last statements that the server skipped after an earlier one failed. */
  readonly onSkip?: ((count: number) => void) | undefined;
  /** Called at once after success, before the next group is sent. */
  readonly onSuccess?: (() => void) | undefined;
  /** Called at once after a failure; `place` is the failed statement's. Returns the error to report. */
  readonly onFailure?: ((error: unknown, place: number) => unknown) | undefined;
  /** Resolves when `await` on an unawaited write may go on. Default: when it is answered. */
  readonly accept?: (() => Promise<void>) | undefined;
  /** Sends the request even if the opening has failed: the way out of a transaction. */
  readonly isRollback?: boolean | undefined;
}

/** Sends a text of statements in a way of its own. Never rejects. */
export type SendText = (connection: Connection) => Promise<GroupOutcome>;

/** Where a request comes from. */
export interface RequestOrigin {
  readonly delivery: Delivery;
  readonly signal?: AbortSignal | undefined;
  readonly callSite?: CallSite | undefined;
  /** How a script is sent. Default: as a query whose rows are dropped. */
  readonly send?: SendText | undefined;
}

/** The statements of one call. */
export class StatementRequest {
  readonly signal: AbortSignal | undefined;
  readonly callSite: CallSite | undefined;
  readonly send: SendText | undefined;
  /** One result for each statement; for a script one for each statement of its text. */
  readonly results: Promise<readonly DriverResult[]>;
  hooks: RequestHooks = {};
  /** Too late for changes. */
  isSent = false;
  /** The statements as they travel; empty for a script. */
  wire: readonly WireStatement[] = [];
  /** Called when the server's answer, or the lack of one, no longer concerns an abort signal. */
  stopListening: () => void = ignore;
  /** Called when the delivery has changed. */
  onChange: () => void = ignore;
  readonly #statements: readonly (Sql | string)[];
  #delivery: Delivery;
  #compiled: readonly Compiled[] = [];
  /** The columns to return; an empty list returns all. */
  #returning: readonly string[] | undefined;
  #lockClause: string | undefined;
  #isResultRequested = false;
  #isObserved = false;
  #resolve: (results: readonly DriverResult[]) => void = ignore;
  #reject: (error: unknown) => void = ignore;

  /** Strings are fixed texts of the SDK, or the text of a script. */
  constructor(statements: readonly (Sql | string)[], origin: RequestOrigin) {
    this.#statements = statements;
    this.#delivery = origin.delivery;
    this.signal = origin.signal;
    this.callSite = origin.callSite;
    this.send = origin.send;
    this.results = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A failure that nobody awaits is reported elsewhere: at the barrier, or by `db`.
    this.results.catch(ignore);
  }

  get delivery(): Delivery {
    return this.#delivery;
  }

  /** True once the caller has asked for the result of a write. */
  get isResultRequested(): boolean {
    return this.#isResultRequested;
  }

  /** True once the caller has awaited the request or asked for its result. */
  get isObserved(): boolean {
    return this.#isObserved;
  }

  /** True for a write of no rows: there is nothing to send. */
  get isEmpty(): boolean {
    return this.#statements.length === 0;
  }

  /** The text of the first statement. */
  get text(): string {
    const [first] = this.#statements;
    return typeof first === 'string' ? first : (first?.compile().text ?? '');
  }

  /** The statements, with RETURNING where rows were asked for. */
  get statements(): readonly Sql[] {
    const returning = this.#returning;
    return this.#statements.map((statement) => {
      const piece = typeof statement === 'string' ? Sql.fromParts([statement]) : statement;
      return returning === undefined ? piece : withReturning(piece, returning);
    });
  }

  /** Fixes texts and values; `returningNothing`: the server acknowledges writes before they run. */
  compile(returningNothing: boolean): readonly Compiled[] {
    const isBare = this.#delivery === 'unawaited' && returningNothing;
    const finish = (compiled: Compiled): Compiled => {
      const { text } = compiled;
      if (this.#lockClause !== undefined)
        return { ...compiled, text: withClause(text, this.#lockClause) };
      return isBare ? { ...compiled, text: withReturningNothing(text) } : compiled;
    };
    const fixed = this.#statements.every((statement) => typeof statement === 'string');
    this.#compiled = fixed
      ? this.#statements.map((text) => ({ text, values: [] }))
      : this.statements.map((statement) => finish(statement.compile()));
    return this.#compiled;
  }

  /** The statement at this place as it was sent. */
  sentStatement(place: number): SentStatement {
    const { text, values } = this.#compiled[place] ?? { text: this.text, values: [] };
    return { text, parameters: values, callSite: this.callSite };
  }

  /** Adds a locking clause; throws if the statement has one, or has been sent. */
  lock(strength: string, clause: string): void {
    if (this.isSent) throw new UsageError(`${strength}: the statement has been sent already`);
    if (this.#lockClause !== undefined) {
      throw new UsageError(`the statement has ${this.#lockClause}`);
    }
    this.#lockClause = clause;
  }

  /** What `await` on a write waits for. */
  async accepted(): Promise<void> {
    this.#isObserved = true;
    if (this.hooks.accept === undefined) await this.results;
    else await this.hooks.accept();
  }

  /** Makes a write an ordinary statement that is waited for; `returning` asks for its rows. */
  requestResult(returning?: readonly string[]): Promise<readonly DriverResult[]> {
    if (this.#isResultRequested) throw new UsageError('the result was asked for before');
    if (this.isSent) {
      throw new UsageError('ask for the result in the same expression: the write has been sent');
    }
    this.#isResultRequested = true;
    this.#isObserved = true;
    this.#returning = returning;
    this.#delivery = 'awaited';
    this.onChange();
    return this.results;
  }

  /** Ends the request with the server's results. */
  succeed(results: readonly DriverResult[]): void {
    const unreadable = results.find((result) => result.parseFailure !== undefined);
    this.hooks.onSuccess?.();
    if (unreadable === undefined) this.#resolve(results);
    else this.#reject(unreadable.parseFailure?.error);
  }

  /** Ends the request with an error, at the statement of this place. */
  fail(error: unknown, place = 0): void {
    this.stopListening();
    this.#reject(this.hooks.onFailure?.(error, place) ?? error);
  }
}
