import { describe, expect, it } from 'vitest';

import { checkReadings } from '../src/demo.js';
import { parseJson, parseNdjson } from '../src/events.js';
import { dayOf } from '../src/tables.js';
import { weatherEvents } from '../src/weather.js';

const good = { id: 'a', sensor: 's', takenAt: '2026-01-31T12:00:00Z', value: 1.5 };
const read = { ...good, takenAt: new Date(good.takenAt) };

describe('events', () => {
  it('are read from JSON and NDJSON', () => {
    expect(parseJson(JSON.stringify([good, good])).events).toEqual([read, read]);
    expect(parseJson(JSON.stringify(good)).events).toEqual([read]);
    expect(parseNdjson(`${JSON.stringify(good)}\r\n\n${JSON.stringify(good)}\n`)).toEqual({
      events: [read, read],
      problems: [],
    });
  });

  it.each([
    [{ id: '' }, '"id" must be'],
    [{ id: 'x'.repeat(201) }, '"id" must be'],
    [{ id: 'a\0b' }, 'cannot store'],
    [{ id: '\ud800' }, 'cannot store'],
    [{ sensor: 7 }, '"sensor" must be'],
    [{ takenAt: 'yesterday' }, '"takenAt" must be'],
    [{ takenAt: '2026-13-01T00:00:00Z' }, '"takenAt" must be'],
    [{ takenAt: '2026-01-01T00:00:00' }, '"takenAt" must be'],
    [{ value: '1' }, '"value" must be'],
    [{ value: undefined }, '"value" must be'],
    [{ extra: 1 }, 'unknown field "extra"'],
  ])('with %j are refused', (change, message) => {
    const { events, problems } = parseJson(JSON.stringify([good, { ...good, ...change }]));
    expect(events).toEqual([read]);
    expect(problems).toEqual([{ line: 2, message: expect.stringContaining(message) as string }]);
  });

  it('that are bad name their line', () => {
    const { events, problems } = parseNdjson(`${JSON.stringify(good)}\n\n{"id":\n[]\n`);
    expect(events).toHaveLength(1);
    expect(problems.map((problem) => problem.line)).toEqual([3, 4]);
    expect(problems[0]?.message).toContain('not JSON');
  });

  it('of the weather file are all good and all different', async () => {
    const events = await weatherEvents();
    expect(events.length).toBe(8759 * 3);
    expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
    expect(events.every((event) => Number.isFinite(event.value))).toBe(true);
    expect(events.some((event) => Number.isNaN(event.takenAt.getTime()))).toBe(false);
  });
});

describe('the day of a reading', () => {
  it.each([
    ['2026-01-31T23:59:59.999Z', '2026-01-31'],
    ['2026-01-31T23:30:00-01:00', '2026-02-01'],
    ['9999-12-31T23:59:00-02:00', '10000-01-01'],
  ])('of %s is %s', (moment, day) => {
    expect(dayOf(new Date(moment))).toBe(day);
  });
});

describe('the check of the demo', () => {
  const list = async (...events: (typeof read)[]): Promise<void> => {
    // eslint-disable-next-line @typescript-eslint/require-await
    async function* stored(): AsyncGenerator<typeof read> {
      yield* events;
    }
    await checkReadings(stored(), [read, other]);
  };
  const other = { ...read, id: 'b' };

  it('notices what is lost, doubled, foreign or changed', async () => {
    await list(read, other);
    await expect(list(read)).rejects.toThrow('1 events were lost');
    await expect(list(read, read, other)).rejects.toThrow('"a" was stored twice');
    await expect(list(read, { ...other, id: 'c' })).rejects.toThrow('never sent');
    await expect(list(read, { ...other, value: 2 })).rejects.toThrow('other values');
  });
});
