/**
 * Commit tokens: UUIDs of version 7, which tell when they were made, so that the server knows of an
 * old one that its record may be gone, and answers "unknown" instead of "aborted".
 *
 * ```text
 *  0                   48    52         64   66                       128
 *  │ milliseconds, 1970 │ 7  │ 12 random │ 10 │ 62 random             │
 * ```
 *
 * The server compares that time with its own clock and refuses tokens older than a day. The SDK
 * therefore asks the server once for its time, and advances it by two local clocks. The later of
 * the two counts.
 * The clock of the day may be set back; the steady one may stand still while the machine sleeps.
 */

import { randomBytes } from 'node:crypto';

const RANDOM_BYTES = 10;

/** Random bytes for the next tokens: asking for many at once is cheaper. */
let stock = Buffer.alloc(0);

function nextRandom(): Uint8Array {
  if (stock.length < RANDOM_BYTES) stock = randomBytes(RANDOM_BYTES * 128);
  const bytes = stock.subarray(0, RANDOM_BYTES);
  stock = stock.subarray(RANDOM_BYTES);
  return bytes;
}

/** A UUID of version 7 of this time, in milliseconds since 1970. */
export function uuidOfTime(timeMs: number, random: Uint8Array = nextRandom()): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(Math.max(0, Math.min(Math.floor(timeMs), 2 ** 48 - 1)), 0, 6);
  bytes.set(random.subarray(0, RANDOM_BYTES), 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The server's time, as it goes on from one answer. */
export class ServerClock {
  readonly #serverMs: number;
  readonly #dayMs: number;
  readonly #steadyMs: number;
  readonly #steady: () => number;
  readonly #day: () => number;

  /** `serverMs` is the server's time now; `steady` never goes back, `day` is the time of the day. */
  constructor(serverMs: number, steady: () => number, day: () => number = Date.now) {
    this.#serverMs = serverMs;
    this.#steady = steady;
    this.#day = day;
    this.#steadyMs = steady();
    this.#dayMs = day();
  }

  /** Milliseconds since 1970, by the server's clock. */
  now(): number {
    const passedMs = Math.max(this.#steady() - this.#steadyMs, this.#day() - this.#dayMs);
    return this.#serverMs + passedMs;
  }
}
