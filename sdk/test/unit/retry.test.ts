import { describe, expect, it } from 'vitest';

import type { RetryEvent } from '../../src/index.js';
import { ConnectionError, SerializationError } from '../../src/index.js';
import { readTransactionOptions } from '../../src/options/index.js';
import { backoffMs, retrying } from '../../src/transaction/retry.js';
import type { Scheduler } from '../../src/scheduler.js';

/** A clock that jumps to the next sleeper as soon as nothing else happens. */
class FakeTime implements Scheduler {
  #nowMs = 0;
  readonly slept: number[] = [];
  #sleepers: { atMs: number; wake: () => void }[] = [];
  readonly now = (): number => this.#nowMs;
  readonly random = (): number => 0.5;
  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.slept.push(ms);
      const sleeper = { atMs: this.#nowMs + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason);
      });
      setImmediate(() => {
        this.#wakeNext();
      });
    });

  #wakeNext(): void {
    this.#sleepers.sort((a, b) => a.atMs - b.atMs);
    const next = this.#sleepers.shift();
    if (next === undefined) return;
    this.#nowMs = next.atMs;
    next.wake();
  }
}

const retryError = new SerializationError({ code: '40001', severity: 'ERROR', message: 'again' });

describe('pauses', () => {
  it('double up to the limit, and are a random part of that', () => {
    const settings = { backoffBaseMs: 10, backoffMaxMs: 50 };
    const bounds = [1, 2, 3, 4, 5].map((attempt) => backoffMs(settings, attempt, () => 1));
    expect(bounds).toEqual([10, 20, 40, 50, 50]);
    expect(backoffMs(settings, 3, () => 0.25)).toBe(10);
    expect(backoffMs(settings, 1000, () => 1)).toBe(50);
  });
});

describe('retrying', () => {
  it('runs again until it succeeds, and reports each attempt', async () => {
    const events: RetryEvent[] = [];
    const settings = readTransactionOptions({ onRetry: (event) => events.push(event) });
    const time = new FakeTime();
    const value = await retrying(settings, time, (attempt) =>
      attempt < 3 ? Promise.reject(retryError) : Promise.resolve(attempt),
    );
    expect(value).toBe(3);
    expect(events.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
      [1, 5],
      [2, 10],
    ]);
    expect(events[1]?.elapsedMs).toBe(5);
  });

  it('does not run again after another error', async () => {
    let runs = 0;
    const work = retrying(readTransactionOptions({}), new FakeTime(), () => {
      runs++;
      return Promise.reject(new Error('mine'));
    });
    await expect(work).rejects.toThrow('mine');
    expect(runs).toBe(1);
  });

  it('gives up after the last attempt', async () => {
    const settings = readTransactionOptions({ attemptsMax: 4 });
    const work = retrying(settings, new FakeTime(), () => Promise.reject(retryError));
    await expect(work).rejects.toMatchObject({
      name: 'RetriesExhaustedError',
      attempts: 4,
      limit: 'attempts',
      elapsedMs: 35,
      last: retryError,
      cause: retryError,
    });
  });

  it('gives up when the next attempt would start after the deadline', async () => {
    const settings = readTransactionOptions({ deadlineMs: 100, attemptsMax: 1000 });
    const time = new FakeTime();
    const work = retrying(settings, time, () => Promise.reject(retryError));
    await expect(work).rejects.toMatchObject({ limit: 'deadline', last: retryError });
    expect(time.now()).toBeLessThanOrEqual(100);
  });

  it('aborts a running attempt at the deadline', async () => {
    const settings = readTransactionOptions({ deadlineMs: 100 });
    const work = retrying(
      settings,
      new FakeTime(),
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason);
          });
        }),
    );
    await expect(work).rejects.toMatchObject({ limit: 'deadline', attempts: 1, elapsedMs: 100 });
  });

  it('lets a first attempt take its time, unless a deadline was asked for', async () => {
    const time = new FakeTime();
    const events: RetryEvent[] = [];
    const settings = readTransactionOptions({ onRetry: (event) => events.push(event) });
    const long = (attempt: number, signal: AbortSignal): Promise<number> =>
      time.sleep(60_000, signal).then(() => attempt);
    expect(await retrying(settings, time, long)).toBe(1);
    const failing = retrying(settings, time, (_, signal) =>
      time.sleep(60_000, signal).then(() => Promise.reject(retryError)),
    );
    await expect(failing).rejects.toMatchObject({
      attempts: 1,
      limit: 'deadline',
      last: retryError,
    });
    const again = retrying(settings, time, (attempt, signal) =>
      attempt === 1 ? Promise.reject(retryError) : long(attempt, signal),
    );
    await expect(again).rejects.toMatchObject({ attempts: 2, limit: 'deadline', last: retryError });
  });

  it('counts only attempts in which the function was run', async () => {
    const settings = readTransactionOptions({ attemptsMax: 2 });
    let tries = 0;
    const work = retrying(
      settings,
      new FakeTime(),
      () => Promise.reject(new ConnectionError('refused', { errno: 'ECONNREFUSED' })),
      () => ({ holds: false, ran: ++tries > 5 }),
    );
    await expect(work).rejects.toMatchObject({ attempts: 7, limit: 'attempts' });
  });

  it('ends with the reason of the signal, during a pause too', async () => {
    const abort = new AbortController();
    const settings = readTransactionOptions({
      signal: abort.signal,
      onRetry: () => {
        abort.abort(new Error('enough'));
      },
    });
    const work = retrying(settings, new FakeTime(), () => Promise.reject(retryError));
    await expect(work).rejects.toThrow('enough');
  });

  it('fails with what onRetry throws', async () => {
    const onRetry = (): void => {
      throw new Error('hook');
    };
    const settings = readTransactionOptions({ onRetry });
    const work = retrying(settings, new FakeTime(), () => Promise.reject(retryError));
    await expect(work).rejects.toThrow('hook');
  });
});
