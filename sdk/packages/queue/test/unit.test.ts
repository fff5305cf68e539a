/** What needs no server: payloads, pauses, ids, cron times, options. */

import { OptionError } from '@braiddb/sdk';
import type { Database } from '@braiddb/sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Rate } from '../src/counters.js';
import { readPattern } from '../src/cron/pattern.js';
import { timesOf } from '../src/cron/scheduler.js';
import { nextId } from '../src/ids.js';
import { CronError, openQueue, PayloadError, schemaSql } from '../src/index.js';
import { encodePayload } from '../src/payload.js';
import { chunksOf } from '../src/store/enqueue.js';
import { stripeOf } from '../src/store/take.js';
import { pauseMs } from '../src/work/backoff.js';

describe('payloads', () => {
  it('come back as they were', () => {
    const noNul = fc.jsonValue({ noUnicodeString: false }).filter((value) => {
      const text = JSON.stringify(value);
      return !text.includes('\\u0000') && !text.includes('\\ud') && !text.includes('__proto__');
    });
    fc.assert(
      fc.property(noNul, (value) => {
        // JSON has no negative zero.
        expect(JSON.parse(encodePayload(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('are refused with their place, or stored without a change', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true }), (value) => {
        try {
          JSON.parse(encodePayload(value));
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadError);
        }
      }),
    );
  });

  it.each([
    [{ items: [1, undefined] }, 'payload.items[1]'],
    [{ a: { b: 1n } }, 'payload.a.b'],
    [[Number.NaN], 'payload[0]'],
    [{ f: () => 1 }, 'payload.f'],
    ['\0', 'payload'],
    ['\ud800', 'payload'],
    [[, 1], 'payload[0]'],
    [undefined, 'payload'],
  ])('%o fails at %s', (payload, path) => {
    expect(() => encodePayload(payload)).toThrow(PayloadError);
    expect(() => encodePayload(payload)).toThrow(expect.objectContaining({ path }) as Error);
  });

  it('that contain themselves are refused, and those that share parts are not', () => {
    const round: Record<string, unknown> = {};
    round.self = round;
    expect(() => encodePayload(round)).toThrow('payload.self contains itself');
    const shared = { a: 1 };
    expect(encodePayload([shared, shared, new Date(0)])).toBe(
      '[{"a":1},{"a":1},"1970-01-01T00:00:00.000Z"]',
    );
  });
});

describe('pauses', () => {
  it('grow, stay within their limits, and differ', () => {
    const limits = { backoffBaseMs: 100, backoffMaxMs: 5_000 };
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (n, r) => {
          const full = Math.min(5_000, 100 * 2 ** (n - 1));
          const pause = pauseMs(limits, n, () => r);
          expect(pause).toBeGreaterThanOrEqual(full / 2);
          expect(pause).toBeLessThanOrEqual(full);
        },
      ),
    );
  });
});

describe('ids and stripes', () => {
  it('ids are UUIDs of version 7 that sort as they were made', () => {
    const ids = Array.from({ length: 20_000 }, () => nextId());
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('a key has one stripe', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (queue, key) => {
        const stripe = stripeOf(queue, key);
        expect(stripe).toBe(stripeOf(queue, key));
        expect(stripe >= 0 && stripe < 64).toBe(true);
      }),
    );
  });

  it('chunks hold every job once, in order, and none is too large', () => {
    const jobs = fc.array(fc.record({ payload: fc.string({ maxLength: 50 }) }), {
      maxLength: 3000,
    });
    fc.assert(
      fc.property(jobs, (all) => {
        const chunks = chunksOf(all);
        expect(chunks.flat()).toEqual(all);
        expect(chunks.every(({ length }) => length > 0 && length <= 1_000)).toBe(true);
      }),
      { numRuns: 20 },
    );
    const large = Array.from({ length: 5 }, () => ({ payload: 'x'.repeat(1_500_000) }));
    expect(chunksOf(large).map(({ length }) => length)).toEqual([2, 2, 1]);
  });
});

describe('cron', () => {
  it.each(['', '* * * *', 'x * * * *', '61 * * * *', '* * * * * * * *', '@never', '0 0 30 2 *'])(
    'refuses %j',
    (pattern) => {
      const read = (): unknown => {
        const found = readPattern(pattern, 'UTC').next(new Date(0));
        if (found === undefined) throw new CronError(pattern, 'never comes');
        return found;
      };
      expect(read).toThrow(CronError);
    },
  );

  it('refuses time zones that nobody knows', () => {
    expect(() => readPattern('* * * * *', 'Mars/Base')).toThrow(CronError);
    expect(() => readPattern(5 as never, 'UTC')).toThrow(CronError);
  });

  it('knows time zones and their summer time', () => {
    const nine = readPattern('0 9 * * *', 'Europe/Vienna');
    expect(nine.next(new Date('2026-01-10T00:00:00Z'))?.toISOString()).toContain('T08:00');
    expect(nine.next(new Date('2026-07-10T00:00:00Z'))?.toISOString()).toContain('T07:00');
  });

  it('fires each time once, however late the looks are', () => {
    const pattern = readPattern('*/7 * * * * *', 'UTC');
    const looks = fc.array(fc.integer({ min: 1, max: 50_000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(looks, (steps) => {
        let nowMs = Date.UTC(2026, 0, 1);
        let nextMs = pattern.next(new Date(nowMs))?.getTime() ?? 0;
        const start = nowMs;
        const ticks: number[] = [];
        for (const step of steps) {
          nowMs += step;
          const found = timesOf({ nextMs, missed: 'once' }, pattern, new Date(nowMs));
          ticks.push(...found.ticks.map((tick) => tick.getTime()));
          nextMs = found.next?.getTime() ?? Infinity;
          expect(nextMs).toBeGreaterThan(nowMs);
        }
        const expected: number[] = [];
        for (let at = pattern.next(new Date(start)); at !== undefined && at.getTime() <= nowMs;) {
          expected.push(at.getTime());
          at = pattern.next(at);
        }
        expect(ticks).toEqual(expected);
      }),
    );
  });

  it('makes one job of many missed times, or none', () => {
    const daily = readPattern('0 3 * * *', 'UTC');
    const planned = Date.UTC(2026, 0, 1, 3);
    const now = new Date(Date.UTC(2026, 0, 10, 12));
    const once = timesOf({ nextMs: planned, missed: 'once' }, daily, now);
    expect(once.ticks).toEqual([new Date(planned)]);
    expect(once.next).toEqual(new Date(Date.UTC(2026, 0, 11, 3)));
    expect(timesOf({ nextMs: planned, missed: 'skip' }, daily, now).ticks).toEqual([]);
  });
});

describe('rates', () => {
  it('forget what is older than the window', () => {
    let nowMs = 0;
    const rate = new Rate(() => nowMs);
    rate.add(30);
    nowMs = 10_000;
    rate.add(30);
    expect(rate.perSecond()).toBeCloseTo(6);
    nowMs = 65_000;
    expect(rate.perSecond()).toBeCloseTo(0.5);
    nowMs = 1_000_000;
    expect(rate.perSecond()).toBe(0);
  });
});

describe('openQueue', () => {
  const db = { stats: () => ({ connections: { max: 10 } }) } as unknown as Database;
  it.each([
    [{}, 'queues'],
    [{ queues: {} }, 'queues'],
    [{ queues: { '': {} } }, 'queues'],
    [{ queues: { a: { maxAttempts: 0 } } }, 'maxAttempts'],
    [{ queues: { a: { attempts: 1 } } }, 'attempts'],
    [{ queues: { a: {} }, pollMs: 'x' }, 'pollMs'],
    [{ queues: { a: {} }, schema: '' }, 'schema'],
    [{ queues: { a: {} }, schema: 'x'.repeat(61) }, 'schema'],
    [{ queues: { a: {} }, listen: 1 }, 'listen'],
    [{ queues: { a: {} }, onError: 1 }, 'onError'],
    [{ queues: { a: {} }, polls: 1 }, 'polls'],
  ])('refuses %j', (options, option) => {
    const call = (): unknown => openQueue(db, options as never);
    expect(call).toThrow(OptionError);
    expect(call).toThrow(expect.objectContaining({ option }) as Error);
  });
});

describe('schemaSql', () => {
  it('quotes names, and interleaves only where that is known', () => {
    expect(schemaSql({ schema: 'a"b' })).toContain('"a""b"."job"');
    expect(schemaSql()).toContain('INTERLEAVE IN PARENT');
    expect(schemaSql({ target: 'postgresql' })).not.toContain('INTERLEAVE');
  });
});
