/**
 * Looks for the batch size and the number of statements in flight with the best throughput.
 *
 * Hill climbing on measured throughput: it tries neighbours of the best setting so far. It keeps a
 * setting that is better by more than the noise, and goes on in that direction. When no neighbour
 * is better it stays, and tries a single neighbour now and then: every trial costs throughput. After
 * the throughput has changed by itself it searches again.
 * A clear gain is kept at once. A small gain is measured again, in turn with the best, because
 * servers and clients stall now and then. A search leaves out what is beyond a setting that was
 * worse. It learns only while rows are waiting: a batcher with nothing to do has no throughput worth
 * comparing.
 *
 * ```text
 *   trial ─ clearly better ─► keep, the same step again …     settled ── hold for holdMs ──► trials
 *     │  └─ perhaps ─► best again ─► trial again ─┐              │ one trial ─► settled again
 *     └─ not better ─► next kind of trial ◄───────┴─ none left ──┴─ rate stays changed ──► trials
 * ```
 *
 * Pure: it is told what happened and when; it sends nothing and has no clock.
 */

/** A setting of the batcher. */
export interface BatchSetting {
  /** Rows of a full batch. */
  readonly rows: number;
  /** Statements in flight. */
  readonly inFlight: number;
}

/** A change of the setting. */
export interface SettingChange extends BatchSetting {
  readonly rowsPerSecond: number;
  readonly reason: 'trial' | 'keep' | 'back';
}

/** The limits of the search. */
export interface TunerLimits {
  readonly rowsMax: number;
  readonly inFlightMax: number;
}

/** Rows and statements in flight at the start: a batch that even a slow server answers soon. */
const START: BatchSetting = { rows: 256, inFlight: 3 };
/** Where batches at the start take at most this long, in milliseconds, the search begins further on. */
const FAST_START_MS = 25;
/** Batches that show it. */
const START_BATCHES = 3;
/** What the rows of the start are then multiplied with: in the middle of what is best for most. */
const START_FACTOR = 4;
/** A measurement takes at least this long, in milliseconds. */
const WINDOW_MS = 60;
/** And this many batches beyond those that were sent with the setting before. */
const WINDOW_BATCHES = 8;
/** A measurement that takes this long counts with fewer batches. */
const WINDOW_MS_MAX = 250;
/** A trial that is worse than the best by this factor ends early. */
const HOPELESS = 1.4;
/** Batches of a trial before it may end early. */
const HOPELESS_BATCHES = 3;
/** What is better by this factor is kept at once. */
const CLEARLY = 1.25;
/** What is not better by this factor, after a second look if need be, may be chance. */
const BETTER = 1.05;
/** A rate that differs by this factor from the one that was settled on may mean another load. */
const CHANGED = 1.3;
/** Measurements in a row that must differ in the same direction to show another load. */
const CHANGED_WINDOWS = 3;
/** How much of what was measured of a settled setting before counts beside the newest. */
const MEMORY = 0.8;
/** Where a batch takes this long, smaller ones are tried first: a larger one could take very long. */
const SLOW_MS = 100;
/** Milliseconds without a trial after the first search; twice as long each time, up to the most. */
const HOLD_MS_MIN = 2000;
const HOLD_MS_MAX = 8_000;

type Trial = (setting: BatchSetting) => BatchSetting;

const TRIALS: readonly Trial[] = [
  ({ rows, inFlight }) => ({ rows: rows * 4, inFlight }),
  ({ rows, inFlight }) => ({ rows: rows * 2, inFlight }),
  ({ rows, inFlight }) => ({ rows, inFlight: inFlight + 1 }),
  ({ rows, inFlight }) => ({ rows: Math.max(1, Math.floor(rows / 2)), inFlight }),
  ({ rows, inFlight }) => ({ rows, inFlight: Math.max(1, inFlight - 1) }),
  // A wide step, because large batches can lie on a plateau that falls off by less than the noise.
  ({ rows, inFlight }) => ({ rows: Math.max(1, Math.floor(rows / 8)), inFlight }),
];

/** The place of half the size among the trials. */
const HALF = 3;

/** Rows that were answered, and the milliseconds that it took. */
interface Measured {
  readonly rows: number;
  readonly ms: number;
}

/** A setting of this search that was worse than the best, in rows a second. */
interface Rejected extends BatchSetting {
  readonly rate: number;
}

const NOTHING: Measured = { rows: 0, ms: 0 };

function plus(one: Measured, other: Measured): Measured {
  return { rows: one.rows + other.rows, ms: one.ms + other.ms };
}

/** Rows a second. */
function rateOf({ rows, ms }: Measured): number {
  return (rows * 1000) / Math.max(ms, 0.001);
}

/** The search. */
export class BatchTuner {
  readonly #limits: TunerLimits;
  /** The best setting so far, and what was measured of it. */
  #base: BatchSetting;
  #ofBase = NOTHING;
  /** The setting under trial, and what was measured of it; undefined while there is none. */
  #trial: { readonly setting: BatchSetting; readonly measured: Measured } | undefined;
  /** The trial was perhaps better: the best is measured once more, then the trial. */
  #doubt = false;
  /** The batches of the start have shown whether the server is fast. */
  #hasBegun = false;
  #next = 0;
  /** Trials in a row that were not better. */
  #failed = 0;
  /** What this search has found to be worse. */
  #rejected: Rejected[] = [];
  /** Every kind of trial was made for this load: single trials follow. */
  #searched = false;
  #settledUntilMs: number | undefined;
  #holdMs = HOLD_MS_MIN;
  /** Measurements in a row that differ from the settled rate, and in which direction. */
  #other = { count: 0, up: false, measured: NOTHING };
  /** The measurement under way. */
  #sinceMs: number | undefined;
  #rows = 0;
  #batches = 0;
  #skip = 0;

  constructor(limits: TunerLimits) {
    this.#limits = limits;
    this.#base = this.#clamp(START);
  }

  /** The setting to be used now. */
  get setting(): BatchSetting {
    return this.#trial !== undefined && !this.#doubt ? this.#trial.setting : this.#base;
  }

  /** Nothing was waiting: what was measured so far says nothing about the setting. */
  idle(): void {
    this.#sinceMs = undefined;
  }

  /** A full batch was answered. Returns the change that follows, if there is one. */
  record(rows: number, nowMs: number): SettingChange | undefined {
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
    const ms = nowMs - this.#sinceMs;
    if (!this.#hasBegun) return this.#begin(ms, nowMs);
    const enough = this.#batches >= WINDOW_BATCHES && ms >= WINDOW_MS;
    if (!enough && ms < WINDOW_MS_MAX && !this.#isHopeless(ms)) return undefined;
    const change = this.#decide({ rows: this.#rows, ms }, nowMs);
    this.#measure(nowMs);
    this.#skip = change === undefined ? 0 : Math.max(1, this.setting.inFlight);
    return change;
  }

  /** Moves on from the start where batches are fast. */
  #begin(ms: number, nowMs: number): SettingChange | undefined {
    if (this.#batches < START_BATCHES) return undefined;
    this.#hasBegun = true;
    const { rows, inFlight } = this.#base;
    if ((ms / this.#batches) * inFlight > FAST_START_MS) return undefined;
    this.#base = this.#clamp({ rows: rows * START_FACTOR, inFlight });
    if (this.#base.rows === rows) return undefined;
    const change = this.#change('keep', { rows: this.#rows, ms });
    this.#measure(nowMs);
    this.#skip = inFlight;
    return change;
  }

  /** The trial costs more throughput than a longer look at it is worth. */
  #isHopeless(ms: number): boolean {
    if (this.#trial === undefined || this.#doubt || this.#batches < HOPELESS_BATCHES) return false;
    return rateOf({ rows: this.#rows, ms }) * HOPELESS < rateOf(this.#ofBase);
  }

  #measure(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#rows = 0;
    this.#batches = 0;
    this.#skip = 0;
  }

  #decide(measured: Measured, nowMs: number): SettingChange | undefined {
    if (this.#trial === undefined) return this.#afterBase(measured, nowMs);
    if (this.#doubt) {
      this.#doubt = false;
      this.#ofBase = plus(this.#ofBase, measured);
      return this.#change('trial', measured);
    }
    const first = this.#trial.measured.ms === 0;
    const trial = { ...this.#trial, measured: plus(this.#trial.measured, measured) };
    const ratio = rateOf(trial.measured) / rateOf(this.#ofBase);
    if (first && ratio > BETTER && ratio < CLEARLY) {
      this.#trial = trial;
      this.#doubt = true;
      return this.#change('back', measured);
    }
    this.#trial = undefined;
    if (ratio > BETTER) {
      this.#rejected.push({ ...this.#base, rate: rateOf(this.#ofBase) });
      this.#base = trial.setting;
      this.#ofBase = trial.measured;
      this.#failed = 0;
      // What has helped may help again.
      return this.#propose(measured) ?? this.#change('keep', measured);
    }
    this.#rejected.push({ ...trial.setting, rate: rateOf(trial.measured) });
    this.#failed += 1;
    this.#next = (this.#next + 1) % TRIALS.length;
    const further = this.#searched ? undefined : this.#propose(measured);
    if (further !== undefined) return further;
    this.#settle(nowMs);
    return this.#change('back', measured);
  }

  #afterBase(measured: Measured, nowMs: number): SettingChange | undefined {
    if (this.#settledUntilMs !== undefined) {
      const changed = this.#hasChanged(measured);
      if (!changed && nowMs < this.#settledUntilMs) return undefined;
      if (changed) {
        this.#holdMs = HOLD_MS_MIN;
        this.#searched = false;
      }
      this.#settledUntilMs = undefined;
    } else {
      this.#ofBase = measured;
    }
    this.#failed = 0;
    this.#rejected = [];
    const { rows, inFlight } = this.#base;
    const batchMs = (measured.ms * rows * inFlight) / measured.rows;
    if (batchMs > SLOW_MS) this.#next = HALF;
    const change = this.#propose(measured);
    if (change === undefined) this.#settle(nowMs);
    return change;
  }

  /** Compares with the settled rate, which is followed slowly. */
  #hasChanged(measured: Measured): boolean {
    const ratio = rateOf(measured) / rateOf(this.#ofBase);
    const up = ratio > 1;
    if (Math.max(ratio, 1 / ratio) < CHANGED) {
      this.#other = { count: 0, up, measured: NOTHING };
      const { rows, ms } = this.#ofBase;
      this.#ofBase = plus({ rows: rows * MEMORY, ms: ms * MEMORY }, measured);
      return false;
    }
    const before = this.#other.up === up ? this.#other : { count: 0, measured: NOTHING };
    const all = plus(before.measured, measured);
    this.#other = { count: before.count + 1, up, measured: all };
    if (this.#other.count < CHANGED_WINDOWS) return false;
    this.#ofBase = all;
    return true;
  }

  /** The next trial that the limits allow, and that may be better. */
  #propose(measured: Measured): SettingChange | undefined {
    for (; this.#failed < TRIALS.length; this.#failed += 1) {
      const setting = this.#clamp(TRIALS[this.#next]?.(this.#base) ?? this.#base);
      if (!this.#isWorse(setting)) {
        this.#trial = { setting, measured: NOTHING };
        return this.#change('trial', measured);
      }
      this.#next = (this.#next + 1) % TRIALS.length;
    }
    return undefined;
  }

  /** True for the best setting itself, and for what is at or beyond a setting that was worse. */
  #isWorse({ rows, inFlight }: BatchSetting): boolean {
    const base = this.#base;
    if (rows === base.rows && inFlight === base.inFlight) return true;
    const rate = rateOf(this.#ofBase);
    return this.#rejected.some((other) => {
      if (other.rate > rate) return false;
      const isBeyond = (at: number, from: number, worse: number): boolean =>
        from === worse ? at === worse : (at - worse) * (worse - from) >= 0;
      const inRows = isBeyond(rows, base.rows, other.rows);
      return inRows && isBeyond(inFlight, base.inFlight, other.inFlight);
    });
  }

  #change(reason: SettingChange['reason'], measured: Measured): SettingChange {
    return { ...this.setting, rowsPerSecond: rateOf(measured), reason };
  }

  #settle(nowMs: number): void {
    this.#searched = true;
    this.#settledUntilMs = nowMs + this.#holdMs;
    this.#holdMs = Math.min(this.#holdMs * 2, HOLD_MS_MAX);
    this.#other = { count: 0, up: false, measured: NOTHING };
  }

  #clamp({ rows, inFlight }: BatchSetting): BatchSetting {
    return {
      rows: Math.min(rows, this.#limits.rowsMax),
      inFlight: Math.min(inFlight, this.#limits.inFlightMax),
    };
  }
}
