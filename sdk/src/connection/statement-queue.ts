/**
 * The statements of a transaction, in order, on one connection.
 *
 * Requests run in the order of the calls. An awaited request is sent at once, and the next one
 * follows its answer. Unawaited writes are held for a moment, travel together with the next
 * request, and are not waited for:
 *
 * ```text
 *  calls:  begin   select      insert  insert  insert      commit
 *  wire:   [begin, select] ──► answer          [insert, insert, insert, commit] ──► answer
 *                              (held until the next call, or the end of this turn of the event loop)
 * ```
 *
 * The rules that must always hold:
 * - Nothing follows an opening (BEGIN …) in another group before the opening has been answered:
 *   if it failed, the rest would run outside the transaction.
 * - At most one statement with an abort signal of its own is under way, so that a cancel request
 *   never hits another one.
 * - A connection goes back to the pool only if nothing of this use can reach the next one.
 */

import { onAbort } from '../abort.js';
import { ConnectionError, lostConnection } from '../errors.js';
import type { Connection } from './connection.js';
import type { DatabaseContext } from './context.js';
import { abortReasonOr } from './connection.js';
import type { GroupOutcome } from './group.js';
import type { WireStatement } from './prepared.js';
import { encodeStatement } from './prepared.js';
import type { StatementRequest } from './request.js';

/** Held writes that are sent without waiting for the end of the turn. */
const HELD_MAX = 128;

/** Unanswered requests after which the next write waits. */
const UNANSWERED_MAX = 1024;

/** The queue of one connection in use. */
export class StatementQueue {
  readonly connection: Connection;
  readonly #context: DatabaseContext;
  #waiting: StatementRequest[] = [];
  /** Answers that the server still owes. */
  readonly #answers = new Set<Promise<unknown>>();
  /** The same, until their requests have been settled. */
  readonly #running = new Set<Promise<unknown>>();
  #unanswered = 0;
  /** The next group must wait for the answer to the last one. */
  #blocked = false;
  #flushDue = false;
  #immediate: NodeJS.Immediate | undefined;
  #pumpScheduled = false;
  #cancelling: Promise<void> | undefined;
  #openingFailure: { readonly error: unknown } | undefined;
  #waiters: (() => void)[] = [];

  constructor(connection: Connection, context: DatabaseContext) {
    this.connection = connection;
    this.#context = context;
  }

  /** True as long as nothing has been asked for but an opening that is not sent yet. */
  get untouched(): boolean {
    const [first] = this.#waiting;
    return (
      first?.delivery === 'opening' && this.#waiting.every(({ delivery }) => delivery === 'opening')
    );
  }

  /** True once the opening of the transaction has failed: nothing more is sent inside it. */
  get isOpeningFailed(): boolean {
    return this.#openingFailure !== undefined;
  }

  /** Takes a request; it is sent in its turn, later in this turn of the event loop at the earliest. */
  submit(request: StatementRequest): void {
    this.#waiting.push(request);
    request.onChange = () => {
      this.#schedule();
    };
    // A request that waits for its turn is given up at once when its signal aborts.
    request.stopListening = onAbort(request.signal, () => {
      this.#waiting = this.#waiting.filter((other) => other !== request);
      request.fail(request.signal?.reason);
      this.#notify();
    });
    this.#schedule();
  }

  /** Resolves at once, or when enough requests have been answered to take more. */
  async room(): Promise<void> {
    while (this.#unanswered >= UNANSWERED_MAX && this.connection.lost === undefined) {
      await this.#change();
    }
  }

  /** Resolves when every request has been answered. */
  async idle(): Promise<void> {
    this.#flushDue = true;
    this.#schedule();
    const isBusy = (): boolean =>
      this.#running.size > 0 ||
      this.#cancelling !== undefined ||
      this.#waiting.some(({ delivery }) => delivery !== 'opening');
    while (isBusy()) await this.#change();
    this.#flushDue = false;
  }

  /** Refuses what still waits and gives the connection back. */
  release(): void {
    for (const request of this.#waiting.splice(0)) {
      request.fail(new ConnectionError('the connection has been given back'));
    }
    if (this.#running.size > 0) this.connection.cut();
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    this.connection.release();
  }

  #schedule(): void {
    if (this.#pumpScheduled) return;
    this.#pumpScheduled = true;
    // Later in the same turn, so that `.forUpdate()` and `.count()` after a call still reach it.
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
    if (!this.#flushDue && this.#waiting.some(({ delivery }) => delivery === 'unawaited')) {
      this.#immediate ??= setImmediate(() => {
        this.#immediate = undefined;
        if (this.#waiting.length === 0) return;
        this.#flushDue = true;
        this.#pump();
        this.#flushDue = false;
      });
    }
    this.#notify();
  }

  /** True if a waiting request is worth a group, with all that stands before it. */
  #due(): boolean {
    let writes = 0;
    for (const { delivery } of this.#waiting) {
      if (delivery === 'awaited' || delivery === 'script') return true;
      if (delivery === 'unawaited') writes += 1;
    }
    return writes >= (this.#flushDue ? 1 : HELD_MAX);
  }

  /** Takes the next group out of the queue: unawaited writes, and at most one awaited request. */
  #nextGroup(): StatementRequest[] {
    const group: StatementRequest[] = [];
    for (;;) {
      const [request] = this.#waiting;
      if (request === undefined || (request.delivery === 'script' && group.length > 0)) break;
      this.#waiting.shift();
      if (!this.#admit(request)) continue;
      group.push(request);
      if (request.delivery === 'awaited' || request.delivery === 'script') return group;
    }
    if (group.every(({ delivery }) => delivery === 'opening') && this.#waiting.length === 0) {
      this.#waiting = group;
      return [];
    }
    return group;
  }

  /** Makes a request ready to be sent; fails it if it must not be. */
  #admit(request: StatementRequest): boolean {
    const { delivery, hooks, signal } = request;
    try {
      signal?.throwIfAborted();
      const { lost } = this.connection;
      if (lost !== undefined) throw lostConnection(lost);
      if (this.#openingFailure !== undefined && hooks.isRollback !== true) {
        throw this.#openingFailure.error;
      }
      hooks.guard?.();
      const isEncoded = delivery === 'opening' && request.wire.length > 0;
      if (delivery !== 'script' && !isEncoded) request.wire = this.#encode(request);
      return true;
    } catch (error) {
      request.fail(error);
      return false;
    }
  }

  #encode(request: StatementRequest): WireStatement[] {
    const { delivery } = request;
    const discard = delivery === 'unawaited' || delivery === 'opening';
    const { settings, features } = this.#context;
    return request.compile(features.returningNothing).map((compiled) => {
      // An opening sets another token each time: kept prepared, its texts would fill the server.
      const isSetting = delivery === 'opening' && compiled.text.startsWith('SET ');
      return encodeStatement(compiled, settings.prepare && !isSetting, discard);
    });
  }

  #send(group: readonly StatementRequest[]): void {
    const last = group.at(-1);
    const isBlocking = last?.delivery !== 'unawaited' || group[0]?.delivery === 'opening';
    this.#blocked = isBlocking;
    for (const request of group) {
      request.isSent = true;
      const { delivery, wire } = request;
      request.hooks.onSend?.(delivery === 'script' ? [request.text] : wire.map(({ text }) => text));
      request.stopListening();
      request.stopListening = onAbort(request.signal, () => {
        this.#cancelling ??= this.#cancel();
      });
    }
    this.#unanswered += group.length;
    const answer =
      last?.delivery === 'script'
        ? (last.send?.(this.connection) ?? this.connection.sendScript(last.text))
        : this.connection.send(group.flatMap(({ wire }) => wire));
    const settled = answer.then(async (outcome) => {
      while (this.#cancelling !== undefined) await this.#cancelling;
      this.#running.delete(settled);
      this.#unanswered -= group.length;
      if (isBlocking) this.#blocked = false;
      this.#settle(group, outcome);
      this.#pump();
    });
    this.#running.add(settled);
    this.#answers.add(answer);
    void answer.then(() => this.#answers.delete(answer));
  }

  #settle(group: readonly StatementRequest[], { results, failure }: GroupOutcome): void {
    const total = group.reduce((sum, { wire }) => sum + wire.length, 0);
    // An error after the last result belongs to the last statement: the commit at the Sync failed.
    const failedAt = Math.min(results.length, Math.max(total - 1, 0));
    let start = 0;
    let reported: { readonly error: unknown } | undefined;
    for (const request of group) {
      const isScript = request.delivery === 'script';
      const end = isScript ? results.length : start + request.wire.length;
      request.stopListening();
      if (failure === undefined || (end <= failedAt && !isScript)) {
        request.succeed(results.slice(start, end));
      } else {
        const ran = Math.max(failedAt + 1 - start, 0);
        request.hooks.onSkip?.(Math.max(request.wire.length - ran, 0));
        const place = Math.max(failedAt - start, 0);
        const text = isScript ? request.text : request.wire[place]?.text;
        reported ??= { error: this.connection.translate(failure.error, text) };
        this.#fail(request, reported.error, place);
      }
      start = end;
    }
  }

  #fail(request: StatementRequest, error: unknown, place: number): void {
    if (request.delivery === 'opening') this.#openingFailure ??= { error };
    request.fail(abortReasonOr(error, request.signal), place);
  }

  /** Cancels what is running; resolves when it is safe to go on with this connection. */
  async #cancel(): Promise<void> {
    await this.connection.cancel([...this.#answers]);
    this.#cancelling = undefined;
    this.#pump();
  }

  /** Resolves at the next change of what waits or runs. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #notify(): void {
    for (const wake of this.#waiters.splice(0)) wake();
  }
}
