/**
 * The timeline of a transaction, read from BraidDB and drawn as a picture: a row a statement, over
 * time.
 */

import { UsageError } from './errors.js';
import { checkMethod, checkNames, numberOption, stringOption } from './options/checks.js';
import type { Queryable } from './query/queryable.js';

/** What one statement of a transaction did, in microseconds since the transaction's first. */
export interface TimelineEntry {
  /** Its place in the transaction, from 1. */
  readonly number: number;
  readonly statement: string;
  /** When it arrived. */
  readonly queuedUs: number;
  /** When it began to run; undefined if it never did. */
  readonly startedUs: number | undefined;
  readonly finishedUs: number | undefined;
  /** The statements it waited for, by their numbers. */
  readonly waitedFor: readonly number[];
  /** Why it had to: the spans that both touch. */
  readonly waitReason: string | undefined;
  /** How long it waited for locks of other transactions. */
  readonly lockWaitUs: number;
  /** How often it waited for the store. */
  readonly roundTrips: number;
}

/**
 * Reads the timeline of the last transaction of a session that has `record_timeline` on. The session
 * must be the same one: use a `db` of one connection.
 *
 * SQL: `SHOW TRANSACTION TIMELINE`.
 *
 * @example
 * ```ts
 * import { connect, readTimeline, timelineSvg } from '@braiddb/sdk';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb', {
 *   connectionsMax: 1,
 * });
 * if (db.server.kind === 'braiddb') {
 *   await db.query`SET record_timeline = on`;
 *   await db.transaction((tx) => tx.query`SELECT 1`);
 *   const svg = timelineSvg(await readTimeline(db), { title: 'One statement' });
 *   console.assert(svg.startsWith('<svg'));
 * }
 * ```
 */
export async function readTimeline(db: Pick<Queryable, 'query'>): Promise<TimelineEntry[]> {
  checkMethod(db, 'query', 'readTimeline takes a database of connect');
  const { rows } = await db.query<Record<string, unknown>>`SHOW TRANSACTION TIMELINE`;
  const whole = (value: unknown): number | undefined =>
    value === null || value === undefined ? undefined : Number(value);
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' && value !== '' ? value : undefined;
  return rows.map((row) => ({
    number: whole(row.number) ?? 0,
    statement: text(row.statement) ?? '',
    queuedUs: whole(row.queued_us) ?? 0,
    startedUs: whole(row.started_us),
    finishedUs: whole(row.finished_us),
    waitedFor: Array.isArray(row.waited_for) ? row.waited_for.map(Number) : [],
    waitReason: text(row.wait_reason),
    lockWaitUs: whole(row.lock_wait_us) ?? 0,
    roundTrips: whole(row.round_trips) ?? 0,
  }));
}

/** How a timeline is drawn. */
export interface TimelineOptions {
  /** The heading. Default: none. */
  readonly title?: string | undefined;
  /** Width of the picture in pixels. Default 960; 400 to 4000. */
  readonly width?: number | undefined;
  /** Milliseconds that the time axis shows at least, to compare two pictures. Default 0; to a day. */
  readonly lengthMs?: number | undefined;
}

const WIDTH = { initial: 960, min: 400, max: 4000 };
const LENGTH_MS = { initial: 0, min: 0, max: 86_400_000 };
const ROW_HEIGHT = 26;
const LABEL_WIDTH = 380;
const LABEL_CHARACTERS = 58;
const TOP = 64;
/** Pixels for the notes to the right of the last bar. */
const RIGHT = 60;

/**
 * Draws a timeline as SVG: grey while a statement waits its turn, blue while it runs, red as long as
 * it waited for locks; beside it its round trips, and the statements that it came after.
 *
 * @example
 * ```ts
 * import { timelineSvg } from '@braiddb/sdk';
 * const svg = timelineSvg([{ number: 1, statement: 'SELECT 1', queuedUs: 0, startedUs: 0,
 *   finishedUs: 900, waitedFor: [], waitReason: undefined, lockWaitUs: 0, roundTrips: 1 }]);
 * console.assert(svg.includes('SELECT 1'));
 * ```
 */
export function timelineSvg(
  entries: readonly TimelineEntry[],
  options: TimelineOptions = {},
): string {
  checkNames('timeline', options, ['title', 'width', 'lengthMs']);
  const given: unknown = entries;
  if (!Array.isArray(given) || !given.every(isEntry)) {
    throw new UsageError('timelineSvg takes the entries that readTimeline returns');
  }
  const width = numberOption('width', options.width, WIDTH);
  const lengthMs = numberOption('lengthMs', options.lengthMs, LENGTH_MS);
  const height = TOP + entries.length * ROW_HEIGHT + 40;
  const firstUs = entries.reduce((first, { queuedUs }) => Math.min(first, queuedUs), Infinity);
  const endUs = entries.reduce((end, one) => Math.max(end, one.finishedUs ?? one.queuedUs), 0);
  const lengthUs = Math.max(1, lengthMs * 1000, endUs - firstUs);
  const left = Math.min(LABEL_WIDTH, width / 2);
  const scaled = (us: number): number => left + (us / lengthUs) * (width - left - RIGHT);
  const at = (us: number): number => scaled(us - firstUs);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="DejaVu Sans, Arial, sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    label(12, 24, stringOption('title', options.title) ?? '', 'font-size="15" font-weight="bold"'),
  ];
  for (const us of ticks(lengthUs)) {
    const x = scaled(us).toFixed(1);
    parts.push(`<line x1="${x}" y1="${TOP - 10}" x2="${x}" y2="${height - 30}" stroke="#d8dee4"/>`);
    parts.push(
      label(Number(x), TOP - 16, `${us / 1000} ms`, 'text-anchor="middle" fill="#57606a"'),
    );
  }
  entries.forEach((entry, row) => {
    parts.push(drawRow(entry, TOP + row * ROW_HEIGHT, at));
  });
  const legend =
    'grey: waits its turn (after: for which) · blue: runs · red: waits for a lock · number: round trips';
  parts.push(label(12, height - 10, legend, 'fill="#57606a"'));
  return `${parts.join('\n')}\n</svg>\n`;
}

function isEntry(one: unknown): boolean {
  const { statement, waitedFor } = (one ?? {}) as Partial<TimelineEntry>;
  return typeof statement === 'string' && Array.isArray(waitedFor);
}

function drawRow(entry: TimelineEntry, y: number, at: (us: number) => number): string {
  const { number, statement, queuedUs, startedUs, finishedUs, waitedFor } = entry;
  const text = `${number}  ${statement.replace(/\s+/g, ' ').trim()}`;
  const shown = text.length > LABEL_CHARACTERS ? `${text.slice(0, LABEL_CHARACTERS - 1)}…` : text;
  const after = waitedFor.length === 0 ? '' : ` after ${waitedFor.join(', ')}`;
  const why = entry.waitReason === undefined ? '' : `: ${entry.waitReason}`;
  const parts = [
    `<title>${escape(`${text}${after}${why}`)}</title>`,
    label(12, y + 13, shown),
    ...(startedUs === undefined
      ? [label(at(queuedUs), y + 13, 'not run')]
      : drawRun(entry, startedUs, finishedUs ?? startedUs, y, at)),
  ];
  return `<g>${parts.join('')}</g>`;
}

function drawRun(
  { queuedUs, lockWaitUs, roundTrips, waitedFor }: TimelineEntry,
  startedUs: number,
  finishedUs: number,
  y: number,
  at: (us: number) => number,
): string[] {
  const notes = [
    ...(roundTrips > 0 ? [String(roundTrips)] : []),
    ...(waitedFor.length > 0 ? [`after ${waitedFor.join(', ')}`] : []),
  ];
  const lockEnd = at(Math.min(finishedUs, startedUs + lockWaitUs));
  const width = at(finishedUs) - at(startedUs);
  const inside = width > 8 + 7 * notes.join('  ').length;
  const place = inside ? at(startedUs) + 4 : Math.max(at(finishedUs), at(startedUs) + 1) + 4;
  return [
    bar(at(queuedUs), at(startedUs), y + 6, 6, '#afb8c1'),
    bar(at(startedUs), Math.max(at(finishedUs), at(startedUs) + 1), y + 2, 14, '#1f6feb'),
    lockEnd - at(startedUs) < 1 ? '' : bar(at(startedUs), lockEnd, y + 2, 14, '#d1242f'),
    label(place, y + 13, notes.join('  '), inside ? 'fill="white"' : 'fill="#57606a"'),
  ];
}

function bar(from: number, to: number, y: number, height: number, color: string): string {
  const width = to - from;
  if (width <= 0) return '';
  return `<rect x="${from.toFixed(1)}" y="${y}" width="${Math.max(1, width).toFixed(1)}" height="${height}" fill="${color}"/>`;
}

/** Five or so round numbers from 0 to the end. */
function ticks(lengthUs: number): number[] {
  const raw = lengthUs / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  return Array.from({ length: Math.floor(lengthUs / step) + 1 }, (_, index) => index * step);
}

function label(x: number, y: number, text: string, attributes = ''): string {
  if (text === '') return '';
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes}>${escape(text)}</text>`;
}

function escape(text: string): string {
  // Control characters have no place in XML, whatever stands before them.
  const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');
  return clean.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
