/** Wakes workers when jobs are announced. Without it, polling finds them a little later. */

import { setTimeout as sleep } from 'node:timers/promises';

import type { QueueContext } from '../context.js';
import { report } from '../context.js';
import { ignore } from './limits.js';

/** Pause after a failure that `db.listen` does not live with, such as a missing right. */
const PAUSE_MS = 30_000;

/** Listens until it is stopped. */
export class Listener {
  readonly #context: QueueContext;
  /** Wakes the workers of a queue, or of all. */
  readonly #wake: (queue?: string) => void;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(context: QueueContext, wake: (queue?: string) => void) {
    this.#context = context;
    this.#wake = wake;
    this.#ended = this.#run();
  }

  /** Ends it, with its connection. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      try {
        await this.#listen();
        return;
      } catch (error) {
        if (signal.aborted) return;
        report(this.#context, error);
        await sleep(PAUSE_MS, undefined, { signal }).catch(ignore);
      }
    }
  }

  async #listen(): Promise<void> {
    const { db, settings } = this.#context;
    const onListening = (): void => {
      this.#wake();
    };
    const { signal } = this.#stop;
    for await (const { payload } of db.listen(settings.schema, { signal, onListening })) {
      // A gap has no payload: anything may have been announced.
      this.#wake(payload);
    }
  }
}
