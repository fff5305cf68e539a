/**
 * The errors of this package. Wrong options are an `OptionError` of the SDK.
 *
 * ```text
 * BraidError (of the SDK)
 * └── QueueError
 *     ├── UnknownQueueError   no queue of this name has been declared
 *     ├── PayloadError        a payload is not JSON
 *     ├── CronError           a cron pattern or its time zone cannot be read
 *     ├── QueueSchemaError    the tables are missing: call migrate()
 *     ├── QueueClosedError    the queue is closed, or closing ended a job before it was done
 *     ├── JobTimeoutError     a handler took longer than its time limit
 *     ├── LeaseLostError      another worker has the job now
 *     └── DeadJobError        yours to throw: the job is not tried again
 * ```
 */

import { BraidError } from '@braiddb/sdk';

/** The base of every error of this package. */
export class QueueError extends BraidError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'QueueError';
  }
}

/** No queue of this name has been declared in the options of `openQueue`. */
export class UnknownQueueError extends QueueError {
  /** The name that was given. */
  readonly queue: string;

  constructor(queue: string, known: readonly string[]) {
    super(`no queue "${queue}" has been declared; declared are ${known.join(', ')}`);
    this.name = 'UnknownQueueError';
    this.queue = queue;
  }
}

/** A payload cannot be stored as JSON without a loss. */
export class PayloadError extends QueueError {
  /** Where the value is, for example `payload.items[2]`. */
  readonly path: string;

  constructor(path: string, problem: string) {
    super(`${path} ${problem}`);
    this.name = 'PayloadError';
    this.path = path;
  }
}

/** A cron pattern or its time zone cannot be read. */
export class CronError extends QueueError {
  readonly pattern: string;

  constructor(pattern: string, problem: string, cause?: unknown) {
    super(`cron pattern "${pattern}": ${problem}`, { cause });
    this.name = 'CronError';
    this.pattern = pattern;
  }
}

/** The tables are missing, or they are of another version. */
export class QueueSchemaError extends QueueError {
  constructor(schema: string, cause: unknown) {
    super(`the tables of the queue are not in the schema "${schema}": call migrate()`, { cause });
    this.name = 'QueueSchemaError';
  }
}

/** SQLSTATEs of a table, a schema or a column that does not exist. */
const MISSING = ['42P01', '3F000', '42703'];

/** A {@link QueueSchemaError} in place of an error about a missing table; else the error. */
export function schemaError(schema: string, error: unknown): unknown {
  const { code } = error as { code?: unknown };
  return MISSING.includes(String(code)) ? new QueueSchemaError(schema, error) : error;
}

/** The queue is closed. It is also the reason of signals of jobs that `close` has ended. */
export class QueueClosedError extends QueueError {
  constructor(message = 'the queue is closed') {
    super(message);
    this.name = 'QueueClosedError';
  }
}

/** A handler took longer than `timeoutMs`. Its transaction was rolled back. */
export class JobTimeoutError extends QueueError {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`the handler took longer than timeoutMs, ${timeoutMs} ms`);
    this.name = 'JobTimeoutError';
    this.timeoutMs = timeoutMs;
  }
}

/** The lease of a job has ended before the job, so another worker may have it now. */
export class LeaseLostError extends QueueError {
  constructor(ids: readonly string[]) {
    super(`the lease has been lost of ${ids.join(', ')}`);
    this.name = 'LeaseLostError';
  }
}

/** Throw it in a handler: the job goes to the dead letters at once, whatever attempts are left. */
export class DeadJobError extends QueueError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DeadJobError';
  }
}
