/**
 * Timelines of transactions, one above the other on one scale: a row a statement.
 */

import type { TimelineEntry } from '@braiddb/sdk';
import type { TopLevelSpec } from 'vega-lite';

import type { Caption } from './charts.js';
import type { Picture } from './draw.js';

/** One transaction. */
export interface Timeline {
  readonly title: string;
  readonly entries: readonly TimelineEntry[];
}

const ROW_HEIGHT = 28;

/** Characters of a statement that are shown. */
const LABEL_CHARACTERS = 44;

const STATES = ['waits its turn', 'waits for a lock', 'runs'];

/** The timelines as one picture. */
export function timelines(name: string, caption: Caption, all: readonly Timeline[]): Picture {
  const panels = all.map(({ title, entries }) => ({ title, ...rowsOf(entries) }));
  const ends = panels.flatMap(({ spans }) => spans.map(({ to }) => to));
  const scale = { domain: [0, Math.ceil(Math.max(...ends) / 10) * 10] };
  const spec: TopLevelSpec = {
    title: { text: caption.title, subtitle: [...caption.notes] },
    vconcat: panels.map(({ title, spans, notes, labels }) => {
      const y = {
        field: 'label',
        type: 'nominal' as const,
        sort: labels,
        title: null,
        axis: { labelFont: 'DejaVu Sans Mono, monospace', labelFontSize: 13 },
      };
      const x = {
        field: 'from',
        type: 'quantitative' as const,
        scale,
        title: null,
        axis: { labelExpr: "datum.label + ' ms'", tickCount: 6 },
      };
      return {
        title: { text: title, fontSize: 15, anchor: 'start' as const },
        width: 560,
        height: { step: ROW_HEIGHT },
        layer: [
          {
            data: { values: spans },
            mark: { type: 'bar' as const, height: { band: 0.66 }, minBandSize: 3 },
            encoding: {
              y,
              x,
              x2: { field: 'to' },
              color: {
                field: 'state',
                type: 'nominal' as const,
                title: null,
                scale: { domain: STATES, range: ['#afb8c1', '#d1242f', '#1f6feb'] },
              },
            },
          },
          {
            data: { values: notes },
            mark: { type: 'text' as const, align: 'left' as const, dx: 6, fontSize: 13 },
            encoding: { y, x, text: { field: 'text' }, color: { value: '#24292f' } },
          },
        ],
      };
    }),
  };
  return { name, spec, axes: { milliseconds: ends } };
}

/** Bars and notes of one transaction, in milliseconds since its first statement. */
function rowsOf(entries: readonly TimelineEntry[]) {
  const firstUs = Math.min(...entries.map(({ queuedUs }) => queuedUs));
  const ms = (us: number): number => (us - firstUs) / 1000;
  const spans: { label: string; from: number; to: number; state: string }[] = [];
  const notes: { label: string; from: number; text: string }[] = [];
  const labels: string[] = [];
  for (const entry of entries) {
    const { number, statement, queuedUs, waitedFor, lockWaitUs, roundTrips } = entry;
    const text = shortened(statement);
    const isLong = text.length > LABEL_CHARACTERS;
    const label = `${number}  ${isLong ? `${text.slice(0, LABEL_CHARACTERS - 1)}…` : text}`;
    labels.push(label);
    const startedUs = entry.startedUs ?? queuedUs;
    const finishedUs = entry.finishedUs ?? startedUs;
    const lockedUs = Math.min(finishedUs, startedUs + lockWaitUs);
    // A statement of no length would not be seen.
    const endMs = Math.max(ms(finishedUs), ms(startedUs) + 0.4);
    spans.push(
      { label, from: ms(queuedUs), to: ms(startedUs), state: 'waits its turn' },
      { label, from: ms(startedUs), to: ms(lockedUs), state: 'waits for a lock' },
      { label, from: ms(lockedUs), to: endMs, state: 'runs' },
    );
    const parts = [
      ...(roundTrips > 0 ? [`${roundTrips} round trip${roundTrips > 1 ? 's' : ''}`] : []),
      ...(waitedFor.length > 0 ? [`after ${waitedFor.join(', ')}`] : []),
    ];
    if (parts.length > 0) notes.push({ label, from: endMs, text: parts.join(', ') });
  }
  return { spans: spans.filter(({ from, to }) => to > from), notes, labels };
}

/** The statement without its list of columns and its RETURNING clause. */
function shortened(statement: string): string {
  const text = statement.replace(/ RETURNING NOT.*$/, '').replace(/\s+/g, ' ');
  return text.replace(/ \([^)]*\) VALUES/, ' VALUES');
}
