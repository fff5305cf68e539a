/**
 * Looks into the queues at times, for what no notification announces: delayed jobs, workers that are
 * gone, notifications that were lost, and old rows.
 */

import type { QueueContext } from '../context.js';
import { note, report, settingsOf } from '../context.js';
import { deleteOld, nextDueMs, settleJobs } from '../store/settle.js';
import { nextBlockedKey, unblock } from '../store/take.js';

/** Concurrency keys that one round of upkeep looks at, at most. */
const KEYS_MAX = 200;

/** Milliseconds between two looks at least, however soon the next job is due. */
const PAUSE_MIN_MS = 5;

/** The poller of one queue. */
export class Poller {
  readonly #context: QueueContext;
  readonly #queue: string;
  readonly #wake: () => void;
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  #isStopped = false;
  #upkeepAtMs: number;
  /** The concurrency key after which the next round of upkeep goes on. */
  #afterKey = '';

  constructor(context: QueueContext, queue: string, wake: () => void) {
    this.#context = context;
    this.#queue = queue;
    this.#wake = wake;
    this.#upkeepAtMs = performance.now() + this.#jittered(context.settings.upkeepMs);
    this.#schedule(0);
  }

  /** Ends it, and waits for a look that is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#look;
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#look = this.#once();
    }, ms);
  }

  /** A random part is left out, so that many programs do not look at the same moment. */
  #jittered(ms: number): number {
    return ms * (0.75 + Math.random() / 4);
  }

  async #once(): Promise<void> {
    let pauseMs = this.#jittered(this.#context.settings.pollMs);
    try {
      const moved = await this.#settle();
      this.#wake();
      const dueMs = await nextDueMs(this.#context, this.#queue);
      // What is due already and was not moved is locked by somebody: that can wait.
      const isSoon = dueMs !== undefined && (dueMs > 0 || moved > 0);
      if (isSoon) pauseMs = Math.max(PAUSE_MIN_MS, Math.min(pauseMs, dueMs));
      if (performance.now() >= this.#upkeepAtMs) {
        this.#upkeepAtMs = performance.now() + this.#jittered(this.#context.settings.upkeepMs);
        await this.#upkeep();
      }
    } catch (error) {
      report(this.#context, error);
    }
    this.#schedule(pauseMs);
  }

  async #settle(): Promise<number> {
    const settled = await settleJobs(this.#context, this.#queue);
    for (const { id, state, attempt, wasLost, concurrencyKey } of settled) {
      if (!wasLost) continue;
      const kind = state === 'dead' ? 'dead' : 'lost';
      note(this.#context, { kind, queue: this.#queue, id, attempt, error: undefined });
      if (concurrencyKey !== null) await unblock(this.#context, this.#queue, concurrencyKey);
    }
    return settled.length;
  }

  async #upkeep(): Promise<void> {
    await deleteOld(this.#context, this.#queue);
    if (settingsOf(this.#context, this.#queue).perKeyMax === undefined) return;
    // A worker that died after a job and before the next of its key has left that one parked.
    for (let keys = 0; keys < KEYS_MAX && !this.#isStopped; keys++) {
      const key = await nextBlockedKey(this.#context, this.#queue, this.#afterKey);
      this.#afterKey = key ?? '';
      if (key === undefined) break;
      if ((await unblock(this.#context, this.#queue, key)) > 0) this.#wake();
    }
  }
}
