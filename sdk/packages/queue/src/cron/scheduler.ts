/**
 * Fires cron patterns: one job for each time, however many programs declare the pattern.
 *
 * The row of a pattern has its next time. The first to lock the row enqueues the job and writes
 * the time after it, in one transaction; the others find a time that has not come.
 */

import type { QueueContext } from '../context.js';
import { report, settingsOf } from '../context.js';
import { CronError } from '../errors.js';
import { insertJobs } from '../store/enqueue.js';
import type { CronPattern } from './pattern.js';
import { readPattern } from './pattern.js';

/** A pattern, as it is declared. */
export interface CronPlan {
  readonly id: string;
  readonly queue: string;
  readonly pattern: string;
  readonly timeZone: string;
  readonly missed: 'once' | 'skip';
  readonly payload: string;
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly maxAttempts: number;
}

/** Milliseconds by which a time may be late and does not count as missed. */
const LATE_MS = 60_000;

/** Looks at the clock this often at least: it may be set, and other programs change rows. */
const LOOK_MS = 1_000;

interface CronRow {
  readonly id: string;
  readonly queue: string;
  readonly payload: string;
  readonly missed: string;
  readonly priority: number;
  readonly concurrencyKey: string | null;
  readonly maxAttempts: number;
  readonly pattern: string;
  readonly timeZone: string;
  readonly nextMs: number;
}

/** The patterns of one program. */
export class CronScheduler {
  readonly #context: QueueContext;
  readonly #ids = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #look: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(context: QueueContext) {
    this.#context = context;
  }

  /** Declares a pattern, or changes it; fails with a {@link CronError} if it has no time left. */
  async add(plan: CronPlan): Promise<void> {
    const { db, tables, settings } = this.#context;
    const pattern = readPattern(plan.pattern, plan.timeZone);
    const next = pattern.next(new Date(settings.now()));
    if (next === undefined) throw new CronError(plan.pattern, 'never comes');
    // What is known already keeps its next time, so that a restart skips none.
    await db.transaction({ isolation: 'read committed' }, async (tx) => {
      await tx.query`
        INSERT INTO ${tables.cron} AS c (id, queue, pattern, time_zone, missed, payload, priority,
          concurrency_key, max_attempts, next_at)
        VALUES (${plan.id}, ${plan.queue}, ${plan.pattern}, ${plan.timeZone}, ${plan.missed},
          ${plan.payload}::jsonb, ${plan.priority}, ${plan.concurrencyKey}, ${plan.maxAttempts}, ${next})
        ON CONFLICT (id) DO UPDATE SET queue = excluded.queue, pattern = excluded.pattern,
          time_zone = excluded.time_zone, missed = excluded.missed, payload = excluded.payload,
          priority = excluded.priority, concurrency_key = excluded.concurrency_key,
          max_attempts = excluded.max_attempts,
          next_at = CASE WHEN c.pattern = excluded.pattern AND c.time_zone = excluded.time_zone
            THEN c.next_at ELSE excluded.next_at END`;
    });
    this.#ids.add(plan.id);
    if (this.#timer === undefined) this.#schedule();
  }

  /** Deletes a pattern for all programs; true if there was one. */
  async remove(id: string): Promise<boolean> {
    const { db, tables } = this.#context;
    this.#ids.delete(id);
    return (await db.run`DELETE FROM ${tables.cron} WHERE id = ${id}`.count()) > 0;
  }

  /** Fires what is due; how many jobs that were. */
  async fire(): Promise<number> {
    const { db } = this.#context;
    if (this.#ids.size === 0) return 0;
    return db.transaction({ isolation: 'read committed' }, async (tx) => {
      const { tables, settings } = this.#context;
      const now = new Date(settings.now());
      const { rows } = await tx.query<CronRow>`
        SELECT id, queue, payload::text AS payload, missed, priority, pattern,
          concurrency_key AS "concurrencyKey", max_attempts AS "maxAttempts",
          time_zone AS "timeZone", (extract(epoch FROM next_at) * 1000)::float8 AS "nextMs"
        FROM ${tables.cron} WHERE id = ANY(${[...this.#ids]}::text[]) AND next_at <= ${now}
        ORDER BY id FOR UPDATE SKIP LOCKED`;
      let fired = 0;
      for (const row of rows) {
        const { queue, payload, priority, concurrencyKey, maxAttempts } = row;
        settingsOf(this.#context, queue);
        const { ticks, next } = timesOf(row, readPattern(row.pattern, row.timeZone), now);
        await tx.run`UPDATE ${tables.cron} SET next_at = ${next ?? 'infinity'} WHERE id = ${row.id}`;
        // `runAt` is the time of the pattern: so the lag counts from there.
        const job = { payload, priority, concurrencyKey, maxAttempts, key: null, delayMs: 0 };
        const jobs = ticks.map((runAt) => ({ ...job, runAt }));
        fired += (await insertJobs(this.#context, tx, queue, jobs)).added;
      }
      return fired;
    });
  }

  /** Ends it. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#look;
  }

  #schedule(): void {
    if (this.#isStopped) return;
    // Soon after the next full second: patterns name no moment between.
    const ms = LOOK_MS - (this.#context.settings.now() % LOOK_MS);
    this.#timer = setTimeout(() => {
      this.#look = this.fire().then(
        () => {
          this.#schedule();
        },
        (error: unknown) => {
          report(this.#context, error);
          this.#schedule();
        },
      );
    }, ms);
  }
}

/** The times that a pattern fires for now, and the one that it waits for then. */
export function timesOf(
  { nextMs, missed }: Pick<CronRow, 'nextMs' | 'missed'>,
  pattern: CronPattern,
  now: Date,
): { ticks: Date[]; next: Date | undefined } {
  const planned = new Date(nextMs);
  const earliest = new Date(now.getTime() - LATE_MS);
  const isLate = planned < earliest;
  const ticks: Date[] = [];
  let next = isLate ? pattern.next(earliest) : planned;
  while (next !== undefined && next <= now) {
    ticks.push(next);
    next = pattern.next(next);
  }
  if (isLate && missed === 'once' && ticks.length === 0) ticks.push(planned);
  return { ticks, next };
}
