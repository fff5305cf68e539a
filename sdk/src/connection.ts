/**
 * One connection, taken out of the pool for a statement or a transaction.
 *
 * Statements run in the order of the calls. One whose answer somebody waits for is sent at once,
 * and the next one follows its answer; writes that nobody waits for are held for a moment, travel
 * together with whatever comes next, and are not waited for:
 *
 * ```text
 *  calls:  begin   select      insert  insert  insert      commit
 *  wire:   [begin, select] ──► answer          [insert, insert, insert, commit] ──► answer
 *                              (held until the next call, or the end of this turn of the event loop)
 * ```
 *
 * The rules that must always hold:
 * - Nothing is sent behind an opening (BEGIN …) in another group before that has been answered:
 *   if it failed, the rest would run outside the transaction.
 * - At most one statement with an abort signal of its own is under way, so that a cancel request
 *   never hits another one.
 * - A connection goes back to the pool only if nothing of this use can reach the next one.
 *
 * ```text
 *  abort ──► cancel request on a second connection ──► the server stops the statement ──► 57014
 *                  │                                                                        │
 *                  └── closed by the server ── both, then the connection may be used again ─┘
 *                  (no answer within graceMs: the connection is cut and thrown away)
 * ```
 */

import { createHash } from 'node:crypto';

import type pg from 'pg';

import { ignore, onAbort, untilAborted } from './abort.js';
import type { DriverResult } from './driver.js';
import { destroy, pipelinesItself, requestCancel, transactionStatus } from './driver.js';
import {
  ConnectionError,
  DatabaseError,
  fromConnect,
  fromDriver,
  lostConnection,
  needsPreparing,
  OptionError,
} from './errors.js';
import type { Settings } from './options.js';
import { encodeParameter } from './parameters.js';
import type { TypeParsers } from './parsers.js';
import type { GroupOutcome, WireStatement } from './pipe.js';
import { Pipe } from './pipe.js';
import { settlesWithin } from './scheduler.js';
import type { Features } from './server.js';
import type { Compiled } from './sql.js';

/** What every connection of a `db` shares. */
export interface Shared {
  readonly pool: pg.Pool;
  /** Nobody but the SDK uses the pool's connections. */
  readonly ownPool: boolean;
  readonly settings: Settings;
  readonly parsers: TypeParsers;
  readonly features: Features;
}

/** How one statement is run. */
export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** True outside a transaction: a lost connection leaves the outcome open. */
  readonly autocommit?: boolean | undefined;
  /** Throws if the statement must not be sent any more; called when its turn comes. */
  readonly guard?: (() => void) | undefined;
  /** Told what is being sent, in the order of the wire. */
  readonly onSend?: ((texts: readonly string[]) => void) | undefined;
  /** Told how many of its last statements the server has skipped because one before had failed. */
  readonly onSkip?: ((count: number) => void) | undefined;
  /** Told at once that it succeeded, before anything behind it is sent. */
  readonly onSuccess?: (() => void) | undefined;
  /** Told at once that it failed; returns the error to reject with. */
  readonly onFailure?: ((error: unknown) => unknown) | undefined;
  /** Sent even if an opening has failed: the way out of a transaction. */
  readonly always?: boolean | undefined;
}

/** A statement, or what will make one when its turn comes. */
export type Source = Compiled | (() => Compiled);

/** A write that has been handed over and may still be changed, as long as it is not sent. */
export interface Ticket {
  /** True once it is on its way: too late for changes. */
  readonly sent: boolean;
  /** Its result; nobody needs to look. */
  readonly result: Promise<DriverResult>;
  /** Makes it a statement that is sent at once and waited for. */
  awaited(): void;
}

type Kind = 'opening' | 'write' | 'awaited' | 'script';

interface Entry {
  kind: Kind;
  readonly sources: readonly Source[];
  /** The text of a script. */
  readonly text: string;
  readonly options: RunOptions;
  readonly resolve: (results: readonly DriverResult[]) => void;
  readonly reject: (error: unknown) => void;
  state: 'waiting' | 'sent';
  statements: readonly WireStatement[];
  forget: () => void;
}

const QUERY_CANCELED = '57014';

/** Beyond this many texts nothing more is prepared: programs that build SQL would fill the server. */
const PREPARED_MAX = 500;

/** Held writes go out when there are this many. */
const HELD_MAX = 128;

/** More writes than this without an answer make the next one wait. */
const UNANSWERED_MAX = 1024;

const preparedNames = new Map<string, string>();

/** A connection in use. */
export class Connection {
  readonly #client: pg.PoolClient;
  readonly #shared: Shared;
  readonly #pipe: Pipe;
  readonly #onLost: (error: Error) => void;
  #queue: Entry[] = [];
  /** Answers that the server still owes. */
  readonly #answers = new Set<Promise<unknown>>();
  /** The same, until their statements have been settled. */
  readonly #running = new Set<Promise<unknown>>();
  #unanswered = 0;
  #blocked = false;
  #flushDue = false;
  #immediate: NodeJS.Immediate | undefined;
  #pumpScheduled = false;
  #cancelling: Promise<void> | undefined;
  #broken: { readonly error: unknown } | undefined;
  #waiters: (() => void)[] = [];
  #lost: Error | undefined;
  #unfit = false;

  private constructor(client: pg.PoolClient, shared: Shared) {
    this.#client = client;
    this.#shared = shared;
    this.#pipe = shared.ownPool ? Pipe.of(client) : new Pipe(client);
    this.#onLost = (error) => {
      this.#lost ??= error;
    };
    client.on('error', this.#onLost);
  }

  /** Takes a connection out of the pool; waits for one until the signal aborts. */
  static async acquire(shared: Shared, signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const pending = shared.pool.connect();
    try {
      const client = await untilAborted(pending, signal);
      if (pipelinesItself(client)) {
        client.release();
        throw new OptionError('pool', 'the SDK pipelines itself: make the pool without `pipeline`');
      }
      return new Connection(client, shared);
    } catch (error) {
      if (signal?.aborted !== true) throw fromConnect(error);
      // Whatever arrives late goes straight back.
      pending.then((client) => {
        client.release();
      }, ignore);
      throw signal.reason;
    }
  }

  /** The client of `pg` underneath, for its start-up parameters. */
  get client(): pg.ClientBase {
    return this.#client;
  }

  /** True once the connection has ended. */
  get lost(): boolean {
    return this.#lost !== undefined;
  }

  /** True as long as nothing has been asked for but an opening that is not sent yet. */
  get untouched(): boolean {
    const [first] = this.#queue;
    return first?.kind === 'opening' && this.#queue.every(({ kind }) => kind === 'opening');
  }

  /** True once what opens a transaction has failed: nothing more is sent inside it. */
  get broken(): boolean {
    return this.#broken !== undefined;
  }

  /** Runs a statement with parameters. */
  async run(source: Source, options: RunOptions = {}): Promise<DriverResult> {
    const results = this.#enqueue('awaited', [source], options).results;
    if (options.autocommit !== true || !this.#shared.settings.prepare) return only(await results);
    const repeated = results.catch((error: unknown) => {
      // The pipe has forgotten the prepared statement and prepares it again.
      if (!needsPreparing(error)) throw error;
      return this.#enqueue('awaited', [source], options).results;
    });
    return only(await repeated);
  }

  /** Runs statements that travel together; the first failure ends them. */
  all(texts: readonly string[], options: RunOptions = {}): Promise<readonly DriverResult[]> {
    return this.#enqueue('awaited', texts.map(bare), options).results;
  }

  /** Puts statements in front of whatever is sent next. Their failure becomes that one's. */
  open(texts: readonly string[], options: RunOptions = {}): void {
    this.#enqueue('opening', texts.map(bare), options).results.catch(ignore);
  }

  /** Takes a write that nobody waits for, unless its ticket says so later. */
  write(source: Source, options: RunOptions): Ticket {
    const { entry, results } = this.#enqueue('write', [source], options);
    const result = results.then(only);
    result.catch(ignore);
    return {
      get sent() {
        return entry.state === 'sent';
      },
      result,
      awaited: () => {
        entry.kind = 'awaited';
        this.#schedule();
      },
    };
  }

  /** Resolves at once, or when enough writes have been answered to take more. */
  async room(): Promise<void> {
    while (this.#unanswered >= UNANSWERED_MAX && !this.lost) await this.#change();
  }

  /** Runs text without parameters; may hold several statements. Returns the last result. */
  async script(text: string, options: RunOptions = {}): Promise<DriverResult> {
    return only(await this.#enqueue('script', [], options, text).results);
  }

  /** Resolves when everything that was asked for has been answered. */
  async idle(): Promise<void> {
    this.#flushDue = true;
    this.#schedule();
    const busy = (): boolean =>
      this.#running.size > 0 ||
      this.#cancelling !== undefined ||
      this.#queue.some((entry) => entry.kind !== 'opening');
    while (busy()) await this.#change();
    this.#flushDue = false;
  }

  /** True if the server refuses statements until a rollback, or may. */
  get failed(): boolean {
    const status = transactionStatus(this.#client);
    return status !== 'I' && status !== 'T';
  }

  /** True if a transaction may still be open on the server. Call when idle. */
  get inTransaction(): boolean {
    return !this.lost && transactionStatus(this.#client) !== 'I';
  }

  /** Cuts the connection; what is running on it fails. */
  cut(): void {
    this.#unfit = true;
    destroy(this.#client);
  }

  /** Gives the connection back, or throws it away if it is lost or not fit for the next use. */
  release(): void {
    for (const entry of this.#queue.splice(0)) {
      this.#refuse(entry, new ConnectionError('the connection has been given back'));
    }
    if (this.#running.size > 0) this.cut();
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    if (!this.#shared.ownPool) this.#pipe.close();
    this.#client.release(this.#lost ?? this.#unfit);
    this.#client.removeListener('error', this.#onLost);
  }

  #enqueue(
    kind: Kind,
    sources: readonly Source[],
    options: RunOptions,
    text = '',
  ): { entry: Entry; results: Promise<readonly DriverResult[]> } {
    const { promise: results, resolve, reject } = makePromise<readonly DriverResult[]>();
    const entry: Entry = {
      ...{ kind, sources, text, options, resolve, reject },
      ...{ state: 'waiting', statements: [], forget: ignore },
    };
    this.#queue.push(entry);
    // A statement that waits for its turn is given up at once when its signal aborts.
    entry.forget = onAbort(options.signal, () => {
      this.#queue = this.#queue.filter((other) => other !== entry);
      this.#refuse(entry, options.signal?.reason);
      this.#notify();
    });
    this.#schedule();
    return { entry, results };
  }

  #schedule(): void {
    if (this.#pumpScheduled) return;
    this.#pumpScheduled = true;
    // Later in the same turn, so that `.forUpdate()` and `.count()` behind a call still reach it.
    queueMicrotask(() => {
      this.#pumpScheduled = false;
      this.#pump();
    });
  }

  /** Sends what may be sent now. */
  #pump(): void {
    while (!this.#blocked && this.#cancelling === undefined && this.#due()) {
      const group = this.#nextGroup();
      if (group.length === 0) break;
      this.#send(group);
    }
    if (!this.#flushDue && this.#queue.some(({ kind }) => kind === 'write')) {
      this.#immediate ??= setImmediate(() => {
        this.#immediate = undefined;
        if (this.#queue.length === 0) return;
        this.#flushDue = true;
        this.#pump();
        this.#flushDue = false;
      });
    }
    this.#notify();
  }

  /** Something in the queue is worth a group, with all that stands before it. */
  #due(): boolean {
    let writes = 0;
    for (const { kind } of this.#queue) {
      if (kind === 'awaited' || kind === 'script') return true;
      if (kind === 'write') writes += 1;
    }
    return writes >= (this.#flushDue ? 1 : HELD_MAX);
  }

  /** Takes the next group out of the queue: writes, and at most one statement that is awaited. */
  #nextGroup(): Entry[] {
    const group: Entry[] = [];
    for (;;) {
      const [entry] = this.#queue;
      if (entry === undefined || (entry.kind === 'script' && group.length > 0)) break;
      this.#queue.shift();
      if (!this.#admit(entry)) continue;
      group.push(entry);
      if (entry.kind === 'awaited' || entry.kind === 'script') return group;
    }
    if (group.every((entry) => entry.kind === 'opening') && this.#queue.length === 0) {
      this.#queue = group;
      return [];
    }
    return group;
  }

  /** Makes an entry ready to be sent; refuses it if it must not be. */
  #admit(entry: Entry): boolean {
    const { options } = entry;
    try {
      options.signal?.throwIfAborted();
      if (this.#lost !== undefined) throw lostConnection(this.#lost);
      if (this.#broken !== undefined && options.always !== true) throw this.#broken.error;
      options.guard?.();
      if (entry.kind !== 'opening' || entry.statements.length === 0) {
        entry.statements = entry.sources.map((source) => this.#encode(source, entry.kind));
      }
      return true;
    } catch (error) {
      this.#refuse(entry, error);
      return false;
    }
  }

  #encode(source: Source, kind: Kind): WireStatement {
    const compiled = typeof source === 'function' ? source() : source;
    const discard = kind === 'write' || kind === 'opening';
    // What an opening sets is another text each time: kept prepared, it would fill the server.
    const prepare = this.#shared.settings.prepare && !(kind === 'opening' && isSetting(compiled));
    return encodeStatement(compiled, prepare, discard);
  }

  #send(group: readonly Entry[]): void {
    const last = group.at(-1);
    const blocking = last?.kind !== 'write' || group[0]?.kind === 'opening';
    this.#blocked = blocking;
    for (const entry of group) {
      entry.state = 'sent';
      entry.options.onSend?.(
        entry.kind === 'script' ? [entry.text] : entry.statements.map(({ text }) => text),
      );
      entry.forget();
      entry.forget = onAbort(entry.options.signal, () => {
        this.#cancelling ??= this.#cancel();
      });
    }
    this.#unanswered += group.length;
    const answer =
      last?.kind === 'script'
        ? this.#pipe.script(last.text, this.#shared.parsers)
        : this.#pipe.send(
            group.flatMap(({ statements }) => statements),
            this.#shared.parsers,
          );
    const settled = answer.then(async (outcome) => {
      while (this.#cancelling !== undefined) await this.#cancelling;
      this.#running.delete(settled);
      this.#unanswered -= group.length;
      if (blocking) this.#blocked = false;
      this.#settle(group, outcome);
      this.#pump();
    });
    this.#running.add(settled);
    this.#answers.add(answer);
    void answer.then(() => this.#answers.delete(answer));
  }

  #settle(group: readonly Entry[], { results, failure, status }: GroupOutcome): void {
    if (status === undefined) {
      const error = failure?.error;
      this.#lost ??= error instanceof Error ? error : new Error('the connection has ended');
    }
    const total = group.reduce((sum, { statements }) => sum + statements.length, 0);
    // An error behind the last result belongs to the last statement: the commit at the Sync failed.
    const failedAt = Math.min(results.length, Math.max(total - 1, 0));
    let start = 0;
    let reported: { readonly error: unknown } | undefined;
    for (const entry of group) {
      const end = entry.kind === 'script' ? results.length : start + entry.statements.length;
      entry.forget();
      if (failure === undefined || (end <= failedAt && entry.kind !== 'script')) {
        succeed(entry, results.slice(start, end));
      } else {
        const ran = Math.max(failedAt + 1 - start, 0);
        entry.options.onSkip?.(Math.max(entry.statements.length - ran, 0));
        reported ??= { error: this.#translate(entry, failure.error, failedAt - start) };
        this.#fail(entry, reported.error);
      }
      start = end;
    }
  }

  #translate(entry: Entry, error: unknown, place: number): unknown {
    const failure = fromDriver(error, {
      statement: entry.kind === 'script' ? entry.text : entry.statements[place]?.text,
      lost: this.#lost,
      ambiguous: entry.options.autocommit,
    });
    if (failure instanceof ConnectionError) this.#unfit = true;
    return failure;
  }

  #fail(entry: Entry, error: unknown): void {
    const { signal } = entry.options;
    const cancelled =
      signal?.aborted === true &&
      (error instanceof ConnectionError ||
        (error instanceof DatabaseError && error.code === QUERY_CANCELED));
    if (entry.kind === 'opening') this.#broken ??= { error };
    this.#refuse(entry, cancelled ? signal.reason : error);
  }

  #refuse(entry: Entry, error: unknown): void {
    entry.forget();
    entry.reject(entry.options.onFailure?.(error) ?? error);
  }

  /** Cancels what is running; resolves when it is safe to go on with this connection. */
  async #cancel(): Promise<void> {
    const { scheduler, graceMs } = this.#shared.settings;
    const request = requestCancel(this.#client);
    // A request that cannot be delivered, or that nobody acts upon, ends with the connection.
    const delivered = request.then(
      () => true,
      () => false,
    );
    const all = Promise.allSettled([request, ...this.#answers]);
    if (!(await settlesWithin(scheduler, graceMs, all)) || !(await delivered)) this.cut();
    await Promise.allSettled(this.#answers);
    this.#cancelling = undefined;
    this.#pump();
  }

  /** Resolves at the next change of what is queued or running. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #notify(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }
}

function succeed(entry: Entry, results: readonly DriverResult[]): void {
  const failed = results.find((result) => result.parseFailure !== undefined);
  entry.options.onSuccess?.();
  if (failed === undefined) entry.resolve(results);
  else entry.reject(failed.parseFailure?.error);
}

function only(results: readonly DriverResult[]): DriverResult {
  return results.at(-1) ?? { command: '', rowCount: null, rows: [] };
}

function isSetting({ text }: Compiled): boolean {
  return text.startsWith('SET ');
}

function bare(text: string): Compiled {
  return { text, values: [] };
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

function makePromise<T>(): Deferred<T> {
  let resolve: (value: T) => void = ignore;
  let reject: (error: unknown) => void = ignore;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** A statement as it travels; throws if a parameter cannot. */
export function encodeStatement(
  { text, values }: Compiled,
  prepare: boolean,
  discard = false,
): WireStatement {
  const name = prepare ? preparedName(text) : undefined;
  return { text, values: values.map(encodeParameter), name, discard };
}

function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined) return known;
  if (preparedNames.size >= PREPARED_MAX) return undefined;
  const name = `braid_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  preparedNames.set(text, name);
  return name;
}
