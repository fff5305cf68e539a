import { describe, expect, it } from 'vitest';

import { timelineSvg } from '../../src/index.js';
import type { TimelineEntry } from '../../src/index.js';

function entry(number: number, change: Partial<TimelineEntry> = {}): TimelineEntry {
  return {
    ...{ number, statement: `UPDATE t SET n = ${number}`, queuedUs: 0, startedUs: 0 },
    ...{ finishedUs: 1000, waitedFor: [], waitReason: undefined, lockWaitUs: 0, roundTrips: 0 },
    ...change,
  };
}

/** Places and widths of the bars of one colour. */
function bars(svg: string, color: string): { x: number; width: number }[] {
  const rects = svg.matchAll(
    /<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="\d+" fill="(#\w+)"/g,
  );
  return [...rects]
    .filter(([, , , fill]) => fill === color)
    .map(([, x, width]) => ({ x: Number(x), width: Number(width) }));
}

const RUNS = '#1f6feb';
const WAITS = '#afb8c1';
const LOCKED = '#d1242f';

describe('the picture of a timeline', () => {
  it('has a row a statement, over time', () => {
    const svg = timelineSvg(
      [
        entry(1, { finishedUs: 10_000, roundTrips: 1 }),
        entry(2, { queuedUs: 5000, startedUs: 10_000, finishedUs: 20_000, waitedFor: [1] }),
      ],
      { title: 'Two statements' },
    );
    expect(svg).toMatch(/^<svg xmlns=.*<\/svg>\n$/s);
    expect(svg).toContain('Two statements');
    expect(svg).toContain('>1  UPDATE t SET n = 1<');
    const [first, second] = bars(svg, RUNS);
    expect(second?.x).toBeCloseTo((first?.x ?? 0) + (first?.width ?? 0), 0);
    expect(second?.width).toBeCloseTo(first?.width ?? 0, 0);
    expect(bars(svg, WAITS)).toHaveLength(1);
    expect(svg).toContain('>after 1<');
    expect(svg).toContain('>20 ms<');
  });

  it('begins with the first statement, and is as long as it is asked to be', () => {
    const late = [entry(1, { queuedUs: 50_000, startedUs: 50_000, finishedUs: 60_000 })];
    const [alone] = bars(timelineSvg(late), RUNS);
    const [compared] = bars(timelineSvg(late, { lengthMs: 20 }), RUNS);
    expect(alone?.x).toBe(380);
    expect(compared?.width).toBeCloseTo((alone?.width ?? 0) / 2, 0);
  });

  it('shows waits for locks, and what never ran', () => {
    const svg = timelineSvg([
      entry(1, { lockWaitUs: 600 }),
      entry(2, { startedUs: undefined, finishedUs: undefined }),
    ]);
    expect(bars(svg, LOCKED)).toHaveLength(1);
    expect(svg).toContain('>not run<');
  });

  it('is well-formed whatever the statement and the reason are', () => {
    const odd =
      'SELECT \'<&>\' \u0000 "x"\n\t FROM t -- and much more text than fits into the label';
    const svg = timelineSvg([entry(1, { statement: odd, waitReason: 'reads </title>' })]);
    expect(svg).toContain('&lt;&amp;&gt;');
    expect(svg).toContain('reads &lt;/title&gt;');
    expect(svg).not.toContain('\u0000');
    expect(timelineSvg([])).toMatch(/<\/svg>\n$/);
    expect(timelineSvg([], { width: 400 })).toContain('width="400"');
    expect(() => timelineSvg([], { width: 10 })).toThrow('option "width"');
  });
});
