/**
 * Events as they arrive: JSON or NDJSON text in, checked events and a list of what is wrong out.
 *
 * One bad event does not sink the others: each problem names its line (NDJSON) or its place in the
 * array (JSON), counted from 1.
 */

/** One measurement of one sensor. */
export interface SensorEvent {
  /** Chosen by the sender, the same when the event is sent again: duplicates are known by it. */
  readonly id: string;
  readonly sensor: string;
  readonly takenAt: Date;
  readonly value: number;
}

/** Why an event was refused. */
export interface Problem {
  readonly line: number;
  readonly message: string;
}

/** What a request body holds. */
export interface Parsed {
  readonly events: SensorEvent[];
  readonly problems: Problem[];
}

const FIELDS = ['id', 'sensor', 'takenAt', 'value'];
const NAME_LENGTH_MAX = 200;
const ISO_MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Reads a JSON array of events, or a single one. Throws SyntaxError where it is not JSON. */
export function parseJson(text: string): Parsed {
  const body: unknown = JSON.parse(text);
  const parsed: Parsed = { events: [], problems: [] };
  const list: unknown[] = Array.isArray(body) ? body : [body];
  list.forEach((value, index) => {
    add(parsed, index + 1, () => value);
  });
  return parsed;
}

/** Reads one event a line; empty lines do not count as events. */
export function parseNdjson(text: string): Parsed {
  const parsed: Parsed = { events: [], problems: [] };
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() !== '') add(parsed, index + 1, () => JSON.parse(line) as unknown);
  });
  return parsed;
}

function add(parsed: Parsed, line: number, read: () => unknown): void {
  try {
    parsed.events.push(checkEvent(read()));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const message = error instanceof SyntaxError ? `not JSON: ${error.message}` : error.message;
    parsed.problems.push({ line, message });
  }
}

/** Returns the event if `value` is one, else throws a TypeError that says what is wrong. */
export function checkEvent(value: unknown): SensorEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new TypeError('an event is an object');
  }
  const unknown = Object.keys(value).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw new TypeError(`unknown field "${unknown}"`);
  const event = value as Record<string, unknown>;
  return {
    id: checkName('id', event.id),
    sensor: checkName('sensor', event.sensor),
    takenAt: checkMoment(event.takenAt),
    value: checkNumber(event.value),
  };
}

function checkName(field: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.length > NAME_LENGTH_MAX) {
    throw new TypeError(`"${field}" must be a string of 1 to ${NAME_LENGTH_MAX} characters`);
  }
  if (value.includes('\0') || !value.isWellFormed()) {
    throw new TypeError(`"${field}" has characters that a database cannot store`);
  }
  return value;
}

function checkMoment(value: unknown): Date {
  const moment = typeof value === 'string' && ISO_MOMENT.test(value) ? new Date(value) : undefined;
  if (moment === undefined || Number.isNaN(moment.getTime())) {
    throw new TypeError('"takenAt" must be a time like 2026-01-31T12:00:00Z');
  }
  return moment;
}

function checkNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new TypeError('"value" must be a number');
  }
  return value;
}
