/**
 * Retries under random failures, limits and aborts, with a clock of their own: whatever happens,
 * the limits hold, and the error that comes out is the right one.
 *
 * `RETRY_RUNS` is the number of random runs of each property (200 by default).
 */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  CommitAbortedError,
  CommitUnknownError,
  ConnectionError,
  ConstraintError,
  DeadlockError,
  RetriesExhaustedError,
  SerializationError,
} from '../../src/index.js';
import { onAbort } from '../../src/abort.js';
import type { RetryEvent } from '../../src/index.js';
import { readTransactionOptions } from '../../src/options/index.js';
import type { Scheduler } from '../../src/scheduler.js';
import { retrying } from '../../src/transaction/retry.js';

const RUNS = Number(process.env.RETRY_RUNS ?? 200);

/** Without a deadline nothing is repeated after this many milliseconds. */
const STANDARD_DEADLINE_MS = 30_000;

/** What an attempt does in the end. */
const ENDINGS = [
  ...['success', 'serialization', 'deadlock', 'lost', 'commit aborted'],
  ...['commit unknown', 'ambiguous', 'constraint', 'other', 'exhausted inside'],
] as const;
type Ending = (typeof ENDINGS)[number];

/** Endings after which the function runs again. */
const TRANSIENT: ReadonlySet<Ending> = new Set<Ending>([
  ...(['serialization', 'deadlock', 'lost', 'commit aborted'] as const),
]);

function errorOf(ending: Exclude<Ending, 'success'>): Error {
  const fields = { severity: 'ERROR', message: ending };
  const serialization = new SerializationError({ ...fields, code: '40001' });
  switch (ending) {
    case 'serialization':
      return serialization;
    case 'deadlock':
      return new DeadlockError({ ...fields, code: '40P01' });
    case 'lost':
      return new ConnectionError('lost', { errno: 'ECONNRESET' });
    case 'commit aborted':
      return new CommitAbortedError('aborted', new CommitUnknownError('lost during COMMIT'));
    case 'commit unknown':
      return new CommitUnknownError('lost during COMMIT');
    case 'ambiguous':
      return new ConnectionError('lost', { ambiguous: true });
    case 'constraint':
      return new ConstraintError({ ...fields, code: '23505' });
    case 'other':
      return new Error('a fault of the function');
    case 'exhausted inside':
      return new RetriesExhaustedError({
        ...{ attempts: 3, elapsedMs: 1, limit: 'attempts', last: serialization },
      });
  }
}

/** A clock that moves to the next sleeper when all else has been done. */
class VirtualTime implements Scheduler {
  #nowMs = 0;
  #sleepers: { atMs: number; wake: () => void }[] = [];
  readonly #numbers: readonly number[];
  #drawn = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  readonly now = (): number => this.#nowMs;
  readonly random = (): number => this.#numbers[this.#drawn++ % this.#numbers.length] ?? 0;
  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const sleeper = {
        atMs: this.#nowMs + ms,
        wake: () => {
          forget();
          resolve();
        },
      };
      this.#sleepers.push(sleeper);
      const forget = onAbort(signal, () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      });
    });

  /** Moves on until `work` has settled. */
  async run<T>(work: Promise<T>): Promise<T> {
    const settled = { yet: false };
    const done = work.finally(() => (settled.yet = true));
    done.catch(() => undefined);
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (settled.yet) return done;
      this.#sleepers.sort((one, other) => one.atMs - other.atMs);
      const next = this.#sleepers.shift();
      if (next === undefined) throw new Error('nothing is left to wait for');
      this.#nowMs = next.atMs;
      next.wake();
    }
  }
}

/** A random course of attempts. */
interface Course {
  readonly attempts: readonly {
    ending: Ending;
    durationMs: number;
    holds: boolean;
    ran: boolean;
  }[];
  readonly attemptsMax: number;
  readonly deadlineMs: number | undefined;
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  readonly numbers: readonly number[];
  readonly abortAtMs: number | undefined;
}

const course: fc.Arbitrary<Course> = fc.record({
  attempts: fc.array(
    fc.record({
      ending: fc.oneof(
        { arbitrary: fc.constantFrom<Ending>(...TRANSIENT), weight: 8 },
        fc.constantFrom<Ending>(...ENDINGS),
      ),
      durationMs: fc.oneof(fc.nat(20), fc.nat(2000), fc.constant(40_000)),
      holds: fc.boolean(),
      ran: fc.oneof({ arbitrary: fc.constant(true), weight: 4 }, fc.constant(false)),
    }),
    { minLength: 1, maxLength: 30 },
  ),
  attemptsMax: fc.integer({ min: 1, max: 12 }),
  deadlineMs: fc.option(fc.integer({ min: 1, max: 5000 }), { nil: undefined }),
  backoffBaseMs: fc.integer({ min: 0, max: 50 }),
  backoffMaxMs: fc.integer({ min: 0, max: 1000 }),
  numbers: fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 1, maxLength: 8 }),
  abortAtMs: fc.option(fc.integer({ min: 0, max: 3000 }), { nil: undefined }),
});

/** What happened in one course. */
interface Story {
  readonly starts: readonly { atMs: number; ending: Ending; ran: boolean }[];
  readonly ends: readonly { atMs: number; error: unknown }[];
  readonly events: readonly RetryEvent[];
  readonly outcome: { readonly value: unknown } | { readonly error: unknown };
  readonly endMs: number;
  readonly reason: Error;
}

async function play(one: Course): Promise<Story> {
  const time = new VirtualTime(one.numbers);
  const abort = new AbortController();
  const reason = new Error('the caller has had enough');
  const story = {
    starts: [] as Story['starts'][number][],
    ends: [] as Story['ends'][number][],
    events: [] as RetryEvent[],
  };
  const { attemptsMax, deadlineMs, backoffBaseMs, backoffMaxMs, abortAtMs } = one;
  const options = {
    ...{ attemptsMax, deadlineMs, signal: abort.signal },
    onRetry: (event: RetryEvent): void => void story.events.push(event),
  };
  const settings = { ...readTransactionOptions(options), backoffBaseMs, backoffMaxMs };
  if (abortAtMs !== undefined) {
    void time.sleep(abortAtMs).then(() => {
      abort.abort(reason);
    });
  }
  const planOf = (number: number): Course['attempts'][number] => {
    const success = { ending: 'success', durationMs: 1, holds: false, ran: true } as const;
    return one.attempts[number - 1] ?? success;
  };
  const attempt = async (number: number, signal: AbortSignal): Promise<number> => {
    const { ending, durationMs, ran } = planOf(number);
    story.starts.push({ atMs: time.now(), ending, ran });
    try {
      await time.sleep(durationMs, signal);
      if (ending !== 'success') throw errorOf(ending);
      return number;
    } catch (error) {
      story.ends.push({ atMs: time.now(), error });
      throw error;
    }
  };
  const state = (): { holds: boolean; ran: boolean } => planOf(story.starts.length);
  const work = retrying(settings, time, attempt, state);
  const outcome = await time.run(
    work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
  );
  return { ...story, outcome, endMs: time.now(), reason };
}

/** Checks one thing of many random courses. */
function always(check: (one: Course, story: Story) => void): Promise<void> {
  const property = fc.asyncProperty(course, async (one) => {
    check(one, await play(one));
  });
  return fc.assert(property, { numRuns: RUNS });
}

describe('retries, whatever happens', () => {
  it('never run the function more than attemptsMax times', () =>
    always(({ attemptsMax }, { starts, ends, outcome }) => {
      const ran = starts.filter((start) => start.ran).length;
      expect(ran).toBeLessThanOrEqual(attemptsMax);
      const error = 'error' in outcome ? outcome.error : undefined;
      const isOurs = error instanceof RetriesExhaustedError && error !== ends.at(-1)?.error;
      if (!isOurs) return;
      expect(error.attempts).toBe(starts.length);
      // An attempt that got no connection does not count.
      if (error.limit === 'attempts') expect(Math.max(ran, 1)).toBe(attemptsMax);
    }));

  it('never pause longer than the bound, and as long as they say', () =>
    always(({ backoffBaseMs, backoffMaxMs }, { starts, ends, events }) => {
      for (const [place, { attempt, delayMs, elapsedMs, from }] of events.entries()) {
        expect(attempt).toBe(place + 1);
        const pauses = from === 'savepoint' ? attempt - 3 : attempt;
        const bound = pauses <= 0 ? 0 : Math.min(backoffMaxMs, backoffBaseMs * 2 ** (pauses - 1));
        expect(delayMs).toBeLessThanOrEqual(bound);
        expect(elapsedMs).toBe(ends[place]?.atMs);
        const next = starts[place + 1];
        if (next !== undefined) expect(next.atMs).toBeCloseTo(elapsedMs + delayMs, 6);
      }
    }));

  it('never begin an attempt at or after the deadline, and end by it', () =>
    always(({ deadlineMs }, { starts, endMs }) => {
      const limitMs = deadlineMs ?? STANDARD_DEADLINE_MS;
      for (const { atMs } of starts.slice(1)) expect(atMs).toBeLessThan(limitMs);
      // Without a deadline a first attempt may take its time.
      const isBounded = deadlineMs !== undefined || starts.length > 1;
      if (isBounded) expect(endMs).toBeLessThanOrEqual(limitMs);
    }));

  it('end at once when the caller aborts', () =>
    always(({ abortAtMs }, { outcome, endMs, reason, starts }) => {
      if (abortAtMs === undefined) return;
      expect(endMs).toBeLessThanOrEqual(abortAtMs);
      for (const { atMs } of starts) expect(atMs).toBeLessThanOrEqual(abortAtMs);
      if ('error' in outcome && outcome.error === reason) expect(endMs).toBe(abortAtMs);
    }));

  it('pass on any other error unchanged, after one run', () =>
    always((_, { starts, ends, outcome, reason }) => {
      const last = starts.at(-1);
      const failure = ends.at(-1)?.error;
      for (const { ending } of starts.slice(0, -1)) expect(TRANSIENT.has(ending)).toBe(true);
      if (last === undefined || !('error' in outcome)) {
        expect(last?.ending).toBe('success');
        return;
      }
      const { error } = outcome;
      if (error === reason) return;
      const isOurs = error instanceof RetriesExhaustedError && error !== failure;
      if (isOurs) expect(error.cause).toBe(error.last);
      else {
        expect(error).toBe(failure);
        expect(TRANSIENT.has(last.ending)).toBe(false);
      }
    }));

  it('never repeat what may have taken effect', () =>
    always((_, { starts, events }) => {
      const isRepeated = (ending: Ending): boolean =>
        starts.slice(0, -1).some((start) => start.ending === ending);
      expect(isRepeated('commit unknown')).toBe(false);
      expect(isRepeated('ambiguous')).toBe(false);
      expect(isRepeated('exhausted inside')).toBe(false);
      expect(events.length).toBeGreaterThanOrEqual(starts.length - 1);
    }));
});
