/**
 * Errors of the SDK, and the one place where `pg`'s errors are told apart.
 *
 * `pg` puts two different things into `error.code`: a SQLSTATE from the server ("40001") or an
 * errno from the operating system ("ECONNRESET"; note that "EPIPE" has the shape of a SQLSTATE).
 * Here they are split once, so that nobody else ever looks at `code` of a raw error.
 *
 * ```text
 * BraidError
 * ├── DatabaseError            the server answered with an error
 * │   ├── SerializationError   40001: run the transaction again (db.transaction does)
 * │   ├── DeadlockError        40P01: the same
 * │   └── ConstraintError      class 23: a unique, foreign key, not null or check constraint
 * ├── ConnectionError          no answer: the connection could not be made, or was lost
 * ├── CommitUnknownError       COMMIT was sent, its outcome never arrived
 * ├── CommitAbortedError       COMMIT was sent, and the server says that it took no effect
 * ├── RetriesExhaustedError    a transaction kept failing with transient errors
 * ├── BatchRowError            one row of a batch was refused, the others were stored
 * ├── BatchTableError          a row does not fit the batcher's table
 * ├── CopySourceError          the source of `copyFrom` failed: nothing was stored
 * ├── UsageError               a wrong argument; a handle after its end, or beside its nested transaction
 * │   ├── ValueError           a value or a row cannot be sent
 * │   └── ClosedError          `db.close({ timeoutMs })` ended the work before it was done
 * └── OptionError              an option has a wrong type or is out of its range
 * ```
 */

import { isPassingFault, ruleOf } from './sqlstates.js';

/** The base of every error that the SDK makes itself. */
export class BraidError extends Error {
  /**
   * What went wrong when the transaction was rolled back after this error. The first error is the
   * one that is thrown; the connection whose rollback failed has been thrown away.
   */
  declare readonly rollbackError?: unknown;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BraidError';
  }
}

/** The fields that a server sends with an error, as `pg` names them. */
export interface ServerFields {
  readonly code: string;
  readonly severity: string;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  readonly position?: string | undefined;
  readonly where?: string | undefined;
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly constraint?: string | undefined;
  readonly routine?: string | undefined;
}

/** One of the statements that failed together. */
export interface FailedStatement {
  /** Its place in the transaction, counted from 1 after BEGIN, where the server reported it. */
  readonly number: number | undefined;
  /** SQLSTATE. */
  readonly code: string;
  readonly message: string;
  /** Its text as it was sent; shortened by the server where the SDK cannot tell which it was. */
  readonly statement: string;
  /** Its parameters, where the SDK knows which call it was. */
  readonly parameters: readonly unknown[] | undefined;
  /** Where it was called, where the SDK knows. */
  readonly stack: string | undefined;
}

/** An error that the server answered with. */
export class DatabaseError extends BraidError {
  /** SQLSTATE, five characters, for example `23505`. */
  readonly code: string;
  readonly severity: string;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  /** Place in the statement text, counted in characters from 1. */
  readonly position: number | undefined;
  /** The context of the error: one line a failed statement where several failed. */
  readonly where: string | undefined;
  readonly schema: string | undefined;
  readonly table: string | undefined;
  readonly column: string | undefined;
  readonly constraint: string | undefined;
  /** The place in the server's source that reports the error, where the server names it. */
  readonly routine: string | undefined;
  /** The text of the statement that failed, without its parameters. */
  readonly statement: string | undefined;
  /** The parameters of that statement. Not enumerable, so that logs do not print them. */
  declare readonly parameters: readonly unknown[] | undefined;
  /**
   * Every statement that failed: several where writes of a transaction were sent without waiting.
   * The first is the one that this error is about. Empty where no statement is to blame.
   */
  declare readonly statements: readonly FailedStatement[];

  constructor(fields: ServerFields, statement?: string, cause?: unknown) {
    super(fields.message, { cause });
    this.name = 'DatabaseError';
    this.code = fields.code;
    this.severity = fields.severity;
    this.detail = fields.detail;
    this.hint = fields.hint;
    this.position = fields.position === undefined ? undefined : Number(fields.position);
    this.where = fields.where;
    this.schema = fields.schema;
    this.table = fields.table;
    this.column = fields.column;
    this.constraint = fields.constraint;
    this.routine = fields.routine;
    this.statement = statement;
    setHidden(this, 'parameters', undefined);
    setHidden(this, 'statements', []);
  }
}

/** 40001: the transaction met another one that it cannot be ordered against. Run it again. */
export class SerializationError extends DatabaseError {
  constructor(fields: ServerFields, statement?: string, cause?: unknown) {
    super(fields, statement, cause);
    this.name = 'SerializationError';
  }
}

/** 40P01: the transaction was chosen as the victim of a deadlock. Run it again. */
export class DeadlockError extends DatabaseError {
  constructor(fields: ServerFields, statement?: string, cause?: unknown) {
    super(fields, statement, cause);
    this.name = 'DeadlockError';
  }
}

/** What kind of constraint a {@link ConstraintError} is about. */
export type ConstraintKind =
  'unique' | 'foreign key' | 'not null' | 'check' | 'exclusion' | 'restrict' | 'other';

const CONSTRAINT_KINDS: Readonly<Record<string, ConstraintKind>> = {
  '23001': 'restrict',
  '23502': 'not null',
  '23503': 'foreign key',
  '23505': 'unique',
  '23514': 'check',
  '23P01': 'exclusion',
};

/** A SQLSTATE of class 23: the data would have broken a constraint. */
export class ConstraintError extends DatabaseError {
  readonly kind: ConstraintKind;

  constructor(fields: ServerFields, statement?: string, cause?: unknown) {
    super(fields, statement, cause);
    this.name = 'ConstraintError';
    this.kind = CONSTRAINT_KINDS[fields.code] ?? 'other';
  }
}

/** The connection could not be made, or was lost before an answer came. */
export class ConnectionError extends BraidError {
  /** The operating system's name for the fault, for example `ECONNREFUSED`. */
  readonly errno: string | undefined;
  /** The SQLSTATE, where the server said why it closes the connection, for example `57P01`. */
  readonly sqlstate: string | undefined;
  /**
   * True where a statement outside a transaction had been sent: it may have taken effect.
   * Inside a transaction nothing takes effect before COMMIT.
   */
  readonly ambiguous: boolean;

  constructor(
    message: string,
    info: { errno?: string | undefined; sqlstate?: string | undefined; ambiguous?: boolean } = {},
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = 'ConnectionError';
    this.errno = info.errno;
    this.sqlstate = info.sqlstate;
    this.ambiguous = info.ambiguous ?? false;
  }
}

/** COMMIT was sent and nobody knows whether it took effect. Never run again blindly. */
export class CommitUnknownError extends BraidError {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CommitUnknownError';
  }
}

/**
 * The connection was lost during COMMIT, and the server says that the transaction did not take
 * effect and never will. `db.transaction` runs the function again.
 */
export class CommitAbortedError extends BraidError {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'CommitAbortedError';
  }
}

/** A transaction failed with a transient error on every attempt that its limits allow. */
export class RetriesExhaustedError extends BraidError {
  /** How many times the function was run. */
  readonly attempts: number;
  /** Milliseconds from the first attempt to the end of the last. */
  readonly elapsedMs: number;
  /** Which limit ended it. */
  readonly limit: 'attempts' | 'deadline';
  /** The error of the last attempt. */
  readonly last: unknown;

  constructor(info: {
    attempts: number;
    elapsedMs: number;
    limit: 'attempts' | 'deadline';
    last: unknown;
  }) {
    const times = info.attempts === 1 ? '1 attempt' : `${info.attempts} attempts`;
    super(
      `transaction gave up after ${times} in ${Math.round(info.elapsedMs)} ms ` +
        `(limit reached: ${info.limit})`,
      { cause: info.last },
    );
    this.name = 'RetriesExhaustedError';
    this.attempts = info.attempts;
    this.elapsedMs = info.elapsedMs;
    this.limit = info.limit;
    this.last = info.last;
  }
}

/** One row was refused; the others of its batch were stored. `cause` is the server's error. */
export class BatchRowError<Row extends object = object> extends BraidError {
  /** The row as it was given to `add`. */
  readonly row: Row;
  /** The SQLSTATE, for example `23505`. */
  readonly code: string;

  constructor(row: Row, cause: DatabaseError) {
    super(cause.message, { cause });
    this.name = 'BatchRowError';
    this.row = row;
    this.code = cause.code;
  }
}

/** The table or a row does not fit: an unknown column, a missing key. Nothing was sent. */
export class BatchTableError extends BraidError {
  /** The table's name, quoted. */
  readonly table: string;

  constructor(table: string, message: string) {
    super(`table ${table} ${message}`);
    this.name = 'BatchTableError';
    this.table = table;
  }
}

/**
 * A call that cannot work: a wrong argument, or a handle that was used after its end or beside its
 * own nested transaction.
 */
export class UsageError extends BraidError {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'UsageError';
  }
}

/**
 * A value or a row cannot be sent. The message names the parameter and the statement, or the row
 * and its column. Nothing was sent.
 */
export class ValueError extends UsageError {
  constructor(message: string, cause?: unknown) {
    super(message, cause);
    this.name = 'ValueError';
  }
}

/**
 * `db.close({ timeoutMs })` ended the work before it was done. `cause` is the error of a connection
 * that was cut; {@link isAmbiguous} says whether the statement may have taken effect.
 */
export class ClosedError extends UsageError {
  constructor(cause?: unknown) {
    super('the database handle was closed before this was done; give close() more time', cause);
    this.name = 'ClosedError';
  }
}

/** The source of `copyFrom` failed, so COPY was given up: nothing was stored. `cause` is its error. */
export class CopySourceError extends BraidError {
  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`the source of COPY failed, nothing was stored: ${reason}`, { cause });
    this.name = 'CopySourceError';
  }
}

/** An option has a wrong type or is out of its range. */
export class OptionError extends BraidError {
  /** The name of the option. */
  readonly option: string;

  constructor(option: string, message: string) {
    super(`option "${option}": ${message}`);
    this.name = 'OptionError';
    this.option = option;
  }
}

/**
 * True if the transaction met another one and may succeed when it runs again: 40001, 40P01, and a COMMIT whose answer
 * was lost but which the server knows to have failed; also as the cause of an error that wraps them.
 *
 * @example
 * ```ts
 * import { isRetryable } from '@braiddb/sdk';
 * console.assert(!isRetryable(new Error('out of paper')));
 * ```
 */
export function isRetryable(error: unknown): boolean {
  for (const link of causes(error)) {
    if (link instanceof RetriesExhaustedError || link instanceof CommitUnknownError) return false;
    if (link instanceof SerializationError || link instanceof DeadlockError) return true;
    if (link instanceof CommitAbortedError) return true;
  }
  return false;
}

/**
 * True if the error is about the moment and nothing has taken effect: the same work may be done
 * again after a pause. True for retry errors, a connection that was lost or could not be made, a
 * server that stops, starts or has no room for another session, and a store that does not answer.
 * `db.transaction` runs again on these by itself; a {@link RetriesExhaustedError} is transient if
 * its last error is. False for whatever may have taken effect: see {@link isAmbiguous}.
 *
 * @example
 * ```ts
 * import { ConnectionError, isTransient } from '@braiddb/sdk';
 * console.assert(isTransient(new ConnectionError('the server stops', { sqlstate: '57P01' })));
 * console.assert(!isTransient(new ConnectionError('lost', { ambiguous: true })));
 * ```
 */
export function isTransient(error: unknown): boolean {
  for (const link of causes(error)) {
    if (link instanceof CommitUnknownError || link instanceof ClosedError) return false;
    if (link instanceof CopySourceError) return false;
    if (link instanceof CommitAbortedError) return true;
    if (link instanceof ConnectionError) return isPassing(link);
    if (link instanceof DatabaseError) return ruleOf(link.code).again !== 'no' || isStalePlan(link);
  }
  return false;
}

/** True if `db.transaction` runs again: what another one has given up on is not tried once more. */
export function runsAgain(error: unknown): boolean {
  for (const link of causes(error)) if (link instanceof RetriesExhaustedError) return false;
  return isTransient(error);
}

function isPassing(error: ConnectionError): boolean {
  if (error.ambiguous) return false;
  if (error.sqlstate !== undefined) return ruleOf(error.sqlstate).again !== 'no';
  if (error.errno !== undefined) return isPassingFault(error.errno);
  // What has another code is a matter of certificates; `pg` has none for a connection that ended.
  return typeof (error.cause as { code?: unknown } | undefined)?.code !== 'string';
}

/** True if a prepared statement returns something else since a migration; nothing has run. */
export function isStalePlan(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, routine } = error as Partial<ServerFields>;
  if (code !== '0A000') return false;
  if (routine === 'RevalidateCachedQuery') return true;
  return error.message.startsWith('cached plan must not change result type');
}

/** True if a prepared statement works again once it is prepared again; nothing has run. */
export function needsPreparing(error: unknown): boolean {
  // 26000: the server has forgotten it, for example after DISCARD ALL.
  return isStalePlan(error) || (error as Partial<ServerFields> | undefined)?.code === '26000';
}

/**
 * True if the statement or transaction may have taken effect although it failed.
 *
 * @example
 * ```ts
 * import { CommitUnknownError, isAmbiguous } from '@braiddb/sdk';
 * console.assert(isAmbiguous(new CommitUnknownError('connection lost during COMMIT')));
 * ```
 */
export function isAmbiguous(error: unknown): boolean {
  for (const link of causes(error)) {
    if (link instanceof CommitUnknownError) return true;
    if (link instanceof CommitAbortedError) return false;
    if (link instanceof ConnectionError) return link.ambiguous;
  }
  return false;
}

/** An error and what caused it, outermost first; ends on a loop. */
export function* causes(error: unknown): Generator {
  const seen = new Set<unknown>();
  let link = error;
  while (link instanceof Error && !seen.has(link)) {
    seen.add(link);
    yield link;
    link = link.cause;
  }
}

/** What is known about a failed statement besides its error. */
export interface FailureContext {
  /** The text of the statement. */
  readonly statement?: string | undefined;
  /** What ended the connection, where it has ended. */
  readonly lost?: Error | undefined;
  /** True if the statement had been sent outside a transaction. */
  readonly ambiguous?: boolean | undefined;
}

/**
 * Turns whatever `pg` threw into an error of the SDK. What comes from neither the server nor the
 * connection (a parser of the caller's that throws) is passed on as it is.
 */
export function fromDriver(error: unknown, context: FailureContext = {}): unknown {
  if (error instanceof BraidError || !(error instanceof Error)) return error;
  if (isServerError(error)) {
    const { code } = error;
    const { fails } = ruleOf(code);
    const counts = code === '08P01' ? WRONG_COUNT.exec(error.message) : null;
    if (counts !== null) {
      const [, given = '', expected = ''] = counts;
      const values = `${expected} ${expected === '1' ? 'value' : 'values'}`;
      const message = `the statement takes ${values}, ${given} given: check its $1, $2, …`;
      return new UsageError(withText(message, context.statement));
    }
    if (fails === 'outcome') return new CommitUnknownError(error.message, error);
    if (fails === 'connection') {
      const { ambiguous = false } = context;
      return new ConnectionError(error.message, { sqlstate: code, ambiguous }, error);
    }
    return serverError(error, context.statement);
  }
  if (context.lost !== undefined) return lostConnection(context.lost, context.ambiguous, error);
  const errno = errnoOf(error);
  if (errno === undefined) return error;
  return new ConnectionError(
    error.message,
    { errno, ambiguous: context.ambiguous ?? false },
    error,
  );
}

/** Characters of a statement that a message shows. */
const SHOWN_MAX = 200;

/** A message with the statement that it is about, on one line. */
export function withText(message: string, text: string | undefined): string {
  if (text === undefined) return message;
  return `${message}; text: ${text.replace(/\s+/g, ' ').trim().slice(0, SHOWN_MAX)}`;
}

/** How servers report that a statement was given too few or too many values. */
const WRONG_COUNT = /supplies (\d+) parameters?, but .* requires (\d+)/;

/** The error of a statement whose connection had ended, with what is known about the reason. */
export function lostConnection(lost: Error, ambiguous = false, cause: Error = lost): Error {
  const sqlstate = isServerError(lost) ? lost.code : undefined;
  const errno = sqlstate === undefined ? (errnoOf(cause) ?? errnoOf(lost)) : undefined;
  return new ConnectionError(lost.message, { errno, sqlstate, ambiguous }, cause);
}

/** Turns a failure to get a connection into an error of the SDK. */
export function fromConnect(error: unknown): unknown {
  if (error instanceof BraidError || !(error instanceof Error)) return error;
  if (isServerError(error)) return fromDriver(error);
  // Several addresses were tried (localhost is two): Node reports them together, without a message.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const told = first instanceof Error ? first : error;
  return new ConnectionError(told.message, { errno: errnoOf(told) }, error);
}

/** Remembers a failed rollback on the error that comes first. */
export function attachRollbackError(error: unknown, rollbackError: unknown): void {
  if (error instanceof Error && Object.isExtensible(error)) {
    setHidden(error, 'rollbackError', rollbackError);
  }
}

/** Sets a property that logs do not show. */
function setHidden(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, {
    configurable: true,
    enumerable: false,
    value,
    writable: true,
  });
}

/** Puts the failed calls on an error, with the place of the first one as its stack. */
export function attachStatements(
  error: DatabaseError,
  statements: readonly FailedStatement[],
  stack?: string,
): void {
  setHidden(error, 'statements', Object.freeze([...statements]));
  setHidden(error, 'parameters', statements[0]?.parameters);
  if (stack !== undefined) setHidden(error, 'stack', stack);
}

function serverError(error: Error & ServerFields, statement?: string): DatabaseError {
  if (error.code === '40001') return new SerializationError(error, statement, error);
  if (error.code === '40P01') return new DeadlockError(error, statement, error);
  if (error.code.startsWith('23')) return new ConstraintError(error, statement, error);
  return new DatabaseError(error, statement, error);
}

/** Only errors that a server sent have a severity; an errno has none. */
function isServerError(error: Error): error is Error & ServerFields {
  const { code, severity } = error as Partial<ServerFields>;
  return typeof severity === 'string' && typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
}

function errnoOf(error: Error | undefined): string | undefined {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && /^E[A-Z0-9_]+$/.test(code) ? code : undefined;
}
