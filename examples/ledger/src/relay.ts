/**
 * The relay: delivers the events of the outbox, each at least once, those of an account in order.
 *
 * ```text
 *  lock a lane (SKIP LOCKED) ─► read its events ─► deliver one by one ─► delete them ─► COMMIT
 * ```
 *
 * **In order.** A relay locks the lane of an account while it delivers. The number of an event is
 * given under the lock of the account, so an event is never visible before the one with the number
 * before it.
 *
 * **At least once.** An event is deleted after it has been delivered. If the relay dies in between,
 * its lock ends with its connection, and the next one begins again with the same event. Receivers
 * drop an event whose number is not larger than the last one that they have seen of the account.
 *
 * **Failures.** After a failed delivery the account has a pause. Other accounts go on.
 *
 * The lane is a row apart from the account, so a slow receiver never makes a transfer wait.
 */

import type { Database, Transaction } from '@braiddb/sdk';

import type { LedgerEvent, OutboxRow } from './tables.js';
import { CHANNEL } from './tables.js';

/** Hands an event to others. A promise that rejects means that it may not have arrived. */
export type Deliver = (event: LedgerEvent, signal: AbortSignal) => Promise<void>;

/** Options of a {@link Relay}. */
export interface RelayOptions {
  /** Accounts that are delivered at the same time. Each takes a connection. Default 2. */
  readonly concurrency?: number;
  /** Milliseconds between two looks without a notification. Default 1 000. */
  readonly pollMs?: number;
  /** Milliseconds after which a delivery counts as failed. Default 10 000. */
  readonly timeoutMs?: number;
  /** Milliseconds of the first pause of an account after a failure. Doubled up to 2^8 times it. */
  readonly pauseMs?: number;
  /** Gets each error that the relay survives. Default: they are dropped. */
  readonly onError?: (error: unknown) => void;
}

/** Events of one account that are delivered in one transaction. */
const BATCH_MAX = 100;

/** A relay that runs until it is closed. */
export class Relay implements AsyncDisposable {
  readonly #db: Database;
  readonly #deliver: Deliver;
  readonly #options: Required<RelayOptions>;
  readonly #stop = new AbortController();
  readonly #sleeping = new Set<() => void>();
  readonly #done: Promise<unknown>;
  /** Counts wake-ups, so that none is missed between a look and the sleep after it. */
  #wakeUps = 0;

  constructor(db: Database, deliver: Deliver, options: RelayOptions = {}) {
    const { concurrency = 2, pollMs = 1_000, timeoutMs = 10_000, pauseMs = 200 } = options;
    const { onError = (): undefined => undefined } = options;
    this.#db = db;
    this.#deliver = deliver;
    this.#options = { concurrency, pollMs, timeoutMs, pauseMs, onError };
    const workers = Array.from({ length: concurrency }, () => this.#work());
    this.#done = Promise.all([this.#listen(), ...workers]);
  }

  /** Ends the deliveries that are under way, notes what has arrived, and stops. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#done;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #work(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const seen = this.#wakeUps;
      const found = await this.#relayOnce().catch((error: unknown) => {
        this.#options.onError(error);
        return false;
      });
      if (!found) await this.#sleep(seen);
    }
  }

  /** Delivers events of one account; false if no account has any that are due. */
  #relayOnce(): Promise<boolean> {
    // The lock of the lane is enough: a serializable transaction would meet the transfers.
    return this.#db.transaction({ isolation: 'read committed' }, async (tx) => {
      const { rows: lanes } = await tx.query<{ account: string; failures: number }>`
        SELECT account, failures FROM ledger_lane
        WHERE next_at <= now() AND account IN (SELECT account FROM ledger_outbox)
        ORDER BY next_at LIMIT 1`.forUpdate({ skipLocked: true, of: 'ledger_lane' });
      const lane = lanes[0];
      if (lane === undefined) return false;
      const { rows } = await tx.query<OutboxRow>`
        SELECT account, number, event FROM ledger_outbox
        WHERE account = ${lane.account} ORDER BY number LIMIT ${BATCH_MAX}::int8`;
      const { last, failed } = await this.#deliverAll(rows, tx);
      // What has arrived is noted even if a later event has failed.
      if (last !== undefined) {
        await tx.run`
          DELETE FROM ledger_outbox WHERE account = ${lane.account} AND number <= ${last}`;
      }
      const failures = failed ? lane.failures + 1 : 0;
      const pauseMs = failed ? this.#options.pauseMs * 2 ** Math.min(lane.failures, 8) : 0;
      // The account goes to the end of the line, so a busy one does not keep others back.
      await tx.run`
        UPDATE ledger_lane SET failures = ${failures},
          next_at = now() + ${`${pauseMs} milliseconds`}::interval
        WHERE account = ${lane.account}`;
      return true;
    });
  }

  /** Delivers events one by one, up to the first failure; the number of the last that arrived. */
  async #deliverAll(
    rows: readonly OutboxRow[],
    tx: Transaction,
  ): Promise<{ readonly last: bigint | undefined; readonly failed: boolean }> {
    let last: bigint | undefined;
    for (const { number, event } of rows) {
      if (this.#stop.signal.aborted) break;
      try {
        const limit = AbortSignal.timeout(this.#options.timeoutMs);
        await this.#deliver(event, AbortSignal.any([tx.signal, limit]));
      } catch (error) {
        this.#options.onError(error);
        return { last, failed: true };
      }
      last = number;
    }
    return { last, failed: false };
  }

  /** Wakes the workers when a transfer has committed, also after a lost connection. */
  async #listen(): Promise<void> {
    const { signal } = this.#stop;
    try {
      const onListening = (): void => {
        this.#wake();
      };
      const stream = this.#db.listen(CHANNEL, { signal, onListening });
      while ((await stream.next()).done !== true) this.#wake();
    } catch (error) {
      // Without notifications the workers look once in `pollMs`.
      if (!signal.aborted) this.#options.onError(error);
    }
  }

  #wake(): void {
    this.#wakeUps += 1;
    for (const wake of this.#sleeping) wake();
  }

  /** Sleeps until the next wake-up after `seen`, or for `pollMs`. */
  async #sleep(seen: number): Promise<void> {
    if (this.#stop.signal.aborted || this.#wakeUps !== seen) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#sleeping.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, this.#options.pollMs);
      this.#sleeping.add(wake);
    });
  }
}
