/**
 * Looks for the batch size and the number of statements in flight with the best throughput.
 *
 * Hill climbing on what was measured: it tries the double size, one more statement, half the size,
 * one statement less, an eighth of the size; keeps what is better by more than the noise and goes on in that direction;
 * when nothing is better it stays, and looks again later, or at once when the throughput has
 * changed by itself. It learns only while rows are waiting: a batcher with nothing to do has no
 * throughput worth comparing.
 *
 * ```text
 *   trial ×2 ─ better ─► keep, ×2 again …            settled ── hold for holdMs ──► trials again
 *      └─ not better ─► back, next kind of trial ─ none left ─┘   └─ rate changed ──► at once
 * ```
 *
 * Pure: it is told what happened and when; it sends nothing and has no clock.
 */

/** A setting of the batcher. */
export interface Setting {
  /** Rows of a full batch. */
  readonly rows: number;
  /** Statements in flight. */
  readonly inFlight: number;
}

/** A change of the setting. */
export interface Change extends Setting {
  readonly rowsPerSecond: number;
  readonly reason: 'trial' | 'keep' | 'back';
}

/** The limits of the search. */
export interface AdaptLimits {
  readonly rowsMax: number;
  readonly inFlightMax: number;
}

/** Rows and statements in flight at the start. */
const START: Setting = { rows: 128, inFlight: 2 };
/** A measurement takes at least this long, in milliseconds. */
const WINDOW_MS = 40;
/** And this many batches beyond those that were sent with the setting before. */
const WINDOW_BATCHES = 4;
/** A measurement that takes this long counts with fewer batches. */
const WINDOW_MS_MAX = 250;
/** What is not better by this factor may be chance. */
const BETTER = 1.05;
/** A rate that differs by this factor from the one that was settled on means another load. */
const CHANGED = 1.3;
const HOLD_MS_MIN = 1000;
const HOLD_MS_MAX = 16_000;

type Trial = (setting: Setting) => Setting;

const TRIALS: readonly Trial[] = [
  ({ rows, inFlight }) => ({ rows: rows * 2, inFlight }),
  ({ rows, inFlight }) => ({ rows, inFlight: inFlight + 1 }),
  ({ rows, inFlight }) => ({ rows: Math.max(1, Math.floor(rows / 2)), inFlight }),
  ({ rows, inFlight }) => ({ rows, inFlight: Math.max(1, inFlight - 1) }),
  // A wide step, because large batches can lie on a plateau that falls off by less than the noise.
  ({ rows, inFlight }) => ({ rows: Math.max(1, Math.floor(rows / 8)), inFlight }),
];

/** The search. */
export class Adapter {
  readonly #limits: AdaptLimits;
  /** The best setting so far, and its rate once it was measured. */
  #base: Setting;
  #baseRate: number | undefined;
  /** The setting under trial; undefined while the base is measured. */
  #trial: Setting | undefined;
  #next = 0;
  /** Trials in a row that were not better. */
  #failed = 0;
  #settledUntilMs: number | undefined;
  #holdMs = HOLD_MS_MIN;
  /** The measurement under way. */
  #sinceMs: number | undefined;
  #rows = 0;
  #batches = 0;
  #skip = 0;

  constructor(limits: AdaptLimits) {
    this.#limits = limits;
    this.#base = this.#clamp(START);
  }

  /** The setting to be used now. */
  get setting(): Setting {
    return this.#trial ?? this.#base;
  }

  /** Nothing was waiting: what was measured so far says nothing about the setting. */
  idle(): void {
    this.#sinceMs = undefined;
  }

  /** A full batch was answered. Returns the change that follows, if there is one. */
  record(rows: number, nowMs: number): Change | undefined {
    if (this.#sinceMs === undefined) {
      this.#measure(nowMs);
      return undefined;
    }
    // The first ones were sent with the setting before.
    if (this.#skip > 0) {
      this.#skip -= 1;
      if (this.#skip === 0) this.#sinceMs = nowMs;
      return undefined;
    }
    this.#rows += rows;
    this.#batches += 1;
    const elapsedMs = nowMs - this.#sinceMs;
    const enough = this.#batches >= WINDOW_BATCHES && elapsedMs >= WINDOW_MS;
    if (!enough && elapsedMs < WINDOW_MS_MAX) return undefined;
    const rate = (this.#rows * 1000) / Math.max(elapsedMs, 0.001);
    const change = this.#decide(rate, nowMs);
    this.#measure(nowMs);
    this.#skip = change === undefined ? 0 : Math.max(1, this.setting.inFlight);
    return change;
  }

  #measure(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#rows = 0;
    this.#batches = 0;
    this.#skip = 0;
  }

  #decide(rate: number, nowMs: number): Change | undefined {
    if (this.#trial === undefined) return this.#afterBase(rate, nowMs);
    const trial = this.#trial;
    this.#trial = undefined;
    if (rate > (this.#baseRate ?? 0) * BETTER) {
      this.#base = trial;
      this.#baseRate = rate;
      this.#failed = 0;
      // What has helped may help again.
      return this.#propose(rate) ?? { ...this.#base, rowsPerSecond: rate, reason: 'keep' };
    }
    this.#failed += 1;
    this.#next = (this.#next + 1) % TRIALS.length;
    const further = this.#failed < TRIALS.length ? this.#propose(rate) : undefined;
    if (further !== undefined) return further;
    this.#settle(nowMs);
    return { ...this.#base, rowsPerSecond: rate, reason: 'back' };
  }

  #afterBase(rate: number, nowMs: number): Change | undefined {
    const before = this.#baseRate;
    const changed = before !== undefined && (rate > before * CHANGED || rate * CHANGED < before);
    if (changed) this.#holdMs = HOLD_MS_MIN;
    const held = this.#settledUntilMs !== undefined && nowMs < this.#settledUntilMs;
    // A settled rate is followed slowly, so that chance does not look like a change.
    this.#baseRate = before === undefined || changed ? rate : before * 0.7 + rate * 0.3;
    if (held && !changed) return undefined;
    this.#settledUntilMs = undefined;
    this.#failed = 0;
    const change = this.#propose(rate);
    if (change === undefined) this.#settle(nowMs);
    return change;
  }

  /** The next trial that the limits allow. */
  #propose(rate: number): Change | undefined {
    for (; this.#failed < TRIALS.length; this.#failed += 1) {
      const make = TRIALS[this.#next];
      const setting = this.#clamp(make?.(this.#base) ?? this.#base);
      if (setting.rows !== this.#base.rows || setting.inFlight !== this.#base.inFlight) {
        this.#trial = setting;
        return { ...setting, rowsPerSecond: rate, reason: 'trial' };
      }
      this.#next = (this.#next + 1) % TRIALS.length;
    }
    return undefined;
  }

  #settle(nowMs: number): void {
    this.#settledUntilMs = nowMs + this.#holdMs;
    this.#holdMs = Math.min(this.#holdMs * 2, HOLD_MS_MAX);
  }

  #clamp({ rows, inFlight }: Setting): Setting {
    return {
      rows: Math.min(rows, this.#limits.rowsMax),
      inFlight: Math.min(inFlight, this.#limits.inFlightMax),
    };
  }
}
