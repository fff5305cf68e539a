import { describe, expect, it } from 'vitest';

import { ServerClock, uuidOfTime } from '../../src/transaction/commit-token.js';

const HOUR_MS = 3_600_000;

describe('commit tokens', () => {
  it('are UUIDs of version 7 that tell their time', () => {
    const timeMs = Date.UTC(2026, 10, 21, 8, 30);
    const token = uuidOfTime(timeMs + 0.7);
    expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(token.replaceAll('-', '').slice(0, 12), 16)).toBe(timeMs);
    expect(uuidOfTime(0, new Uint8Array(10).fill(255))).toBe(
      '00000000-0000-7fff-bfff-ffffffffffff',
    );
    expect(uuidOfTime(-5, new Uint8Array(10))).toBe('00000000-0000-7000-8000-000000000000');
  });

  it('differ within a millisecond', () => {
    const tokens = Array.from({ length: 10_000 }, () => uuidOfTime(1));
    expect(new Set(tokens).size).toBe(tokens.length);
  });

  it('take the time of the server, however the clocks here are set', () => {
    let steadyMs = 5000;
    let dayMs = Date.UTC(1970, 0, 1, 0, 10);
    const serverMs = Date.UTC(2026, 10, 21);
    const clock = new ServerClock(
      serverMs,
      () => steadyMs,
      () => dayMs,
    );
    expect(clock.now()).toBe(serverMs);
    // Set back by a day and a half: the steady one counts.
    steadyMs += HOUR_MS;
    dayMs -= 36 * HOUR_MS;
    expect(clock.now()).toBe(serverMs + HOUR_MS);
    // The machine sleeps, and the steady clock with it: that of the day counts.
    dayMs += 36 * HOUR_MS + 30 * HOUR_MS;
    expect(clock.now()).toBe(serverMs + 30 * HOUR_MS);
  });
});
