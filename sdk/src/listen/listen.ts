/**
 * `db.listen`: notifications, on a connection of its own that is made again when it is lost.
 *
 * ```text
 *  connect ─► LISTEN ─► notifications ─► buffer ─► reader
 *     ▲                      │ lost                  ▲
 *     └── pause, longer each time ──► LISTEN ─► gap ─┘
 * ```
 *
 * The rules that must always hold:
 * - A gap comes before the first notification that may follow a lost one.
 * - The connection ends with the loop, the signal or the database handle, also while nobody reads.
 */

import type pg from 'pg';

import { ignore, onAbort, untilAborted } from '../abort.js';
import type { DatabaseContext } from '../connection/context.js';
import { destroy, openClient, placeOf } from '../connection/driver.js';
import { Pipeline } from '../connection/pipeline.js';
import type { QueryTrace } from '../diagnostics.js';
import { queries, traced, traceOf } from '../diagnostics.js';
import { fromConnect, fromDriver, isTransient } from '../errors.js';
import { settlesWithin } from '../scheduler.js';
import { sql } from '../sql/template.js';
import { backoffMs } from '../transaction/retry.js';
import type { ListenGap, ListenSettings, Notification } from './types.js';

/** What a `listen` is made of. */
export interface ListenCall {
  readonly context: DatabaseContext;
  readonly channels: readonly string[];
  readonly settings: ListenSettings;
  /** Aborts when the database handle is closed: the loop then ends. */
  readonly closing: AbortController;
  /** Aborts when the reader leaves. */
  readonly leaving: AbortController;
  /** Gets the promise of the connection's end, for `close` to wait for. */
  readonly onStart: (work: Promise<void>) => void;
}

/** Listens until the reader leaves. */
export async function* listen(
  call: ListenCall,
): AsyncGenerator<Notification | ListenGap, undefined, undefined> {
  const { leaving, settings } = call;
  settings.signal?.throwIfAborted();
  if (call.closing.signal.aborted) return undefined;
  const listener = new Listener(call);
  call.onStart(listener.ended);
  try {
    for (;;) {
      const item = await listener.next();
      if (item === undefined) return undefined;
      if (item.gap !== undefined && settings.onGap !== undefined) settings.onGap(item);
      else yield item;
    }
  } finally {
    leaving.abort('the reader has left');
    await listener.ended;
  }
}

class Listener {
  /** Resolves when the connection has ended for good. Never rejects. */
  readonly ended: Promise<void>;
  readonly #call: ListenCall;
  readonly #stop: AbortSignal;
  #items: (Notification | ListenGap)[] = [];
  #dropped = 0;
  #failure: { readonly error: unknown } | undefined;
  #isOver = false;
  #wake = ignore;

  constructor(call: ListenCall) {
    this.#call = call;
    const { signal } = call.settings;
    const signals = [
      call.closing.signal,
      call.leaving.signal,
      ...(signal === undefined ? [] : [signal]),
    ];
    this.#stop = AbortSignal.any(signals);
    this.ended = this.#run().then(ignore, (error: unknown) => {
      if (!this.#stop.aborted) this.#failure = { error };
    });
    void this.ended.then(() => {
      this.#isOver = true;
      this.#wake();
    });
    onAbort(this.#stop, () => {
      this.#wake();
    });
  }

  /** The next notification or gap; undefined at the end. */
  async next(): Promise<Notification | ListenGap | undefined> {
    for (;;) {
      this.#call.settings.signal?.throwIfAborted();
      if (this.#stop.aborted) return undefined;
      if (this.#dropped > 0) {
        const dropped = this.#dropped;
        this.#dropped = 0;
        return { gap: 'overflow', dropped, error: undefined };
      }
      const item = this.#items.shift();
      if (item !== undefined) return item;
      if (this.#failure !== undefined) throw this.#failure.error;
      if (this.#isOver) return undefined;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Connects and listens, again after each loss; rejects at the end. */
  async #run(): Promise<void> {
    const { context } = this.#call;
    const { scheduler, transaction } = context.settings;
    const state: { attempt: number; isFirst: boolean; gap?: ListenGap | undefined } = {
      attempt: 0,
      isFirst: true,
    };
    const onListening = (): void => {
      if (state.gap !== undefined) this.#push(state.gap);
      Object.assign(state, { attempt: 0, isFirst: false, gap: undefined });
    };
    for (;;) {
      try {
        await this.#session(onListening);
      } catch (error) {
        if (this.#stop.aborted) return;
        if (!isTransient(error)) throw error;
        if (!state.isFirst) state.gap = { gap: 'reconnected', dropped: undefined, error };
      }
      state.attempt += 1;
      const delayMs = backoffMs(transaction, state.attempt, scheduler.random);
      await scheduler.sleep(delayMs, this.#stop);
    }
  }

  /** One connection, from its beginning to its loss or the end; always rejects. */
  async #session(onListening: () => void): Promise<void> {
    const { context, channels, settings } = this.#call;
    const client = openClient(context.pool);
    let isListening = false;
    const begin = (): void => {
      if (isListening) return;
      isListening = true;
      onListening();
    };
    client.on('notification', ({ channel, payload = '', processId }) => {
      begin();
      this.#push({ channel, payload, processId });
    });
    const lost = new Promise<never>((_, reject) => {
      client.on('error', reject);
      client.on('end', () => {
        reject(new Error('Connection terminated unexpectedly'));
      });
    });
    lost.catch(ignore);
    const whileOpen = (work: Promise<unknown>, read: typeof fromConnect): Promise<unknown> =>
      untilAborted(Promise.race([work, lost]), this.#stop).catch((error: unknown) => {
        throw read(error);
      });
    try {
      await whileOpen(client.connect(), fromConnect);
      const names = channels.map((channel) => `LISTEN ${sql.identifier(channel).compile().text}`);
      const text = names.join('; ');
      const send = async (): Promise<void> => {
        const { failure } = await new Pipeline(client).script(text, context.parsers);
        if (failure !== undefined) throw failure.error;
      };
      const makeTrace = (): QueryTrace => ({ ...traceOf(text), ...placeOf(client) });
      await traced(queries, makeTrace, () => whileOpen(send(), fromLoss));
      begin();
      settings.onListening?.();
      await whileOpen(lost, fromLoss);
    } finally {
      await this.#end(client);
    }
  }

  #push(item: Notification | ListenGap): void {
    if (this.#items.length >= this.#call.settings.bufferMax) {
      this.#items.shift();
      this.#dropped += 1;
    }
    this.#items.push(item);
    this.#wake();
  }

  async #end(client: pg.Client): Promise<void> {
    const { scheduler, graceMs } = this.#call.context.settings;
    const ended = client.end();
    if (!(await settlesWithin(scheduler, graceMs, ended))) destroy(client);
    client.removeAllListeners('notification');
  }
}

/** The error of a connection that has ended on either side. */
function fromLoss(error: unknown): unknown {
  return fromDriver(error, { lost: error instanceof Error ? error : undefined });
}
