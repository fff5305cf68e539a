/**
 * Locking reads: `tx.query…forUpdate()`.
 */

import type { StatementRequest } from '../connection/request.js';
import { OptionError } from '../errors.js';
import { booleanOption, checkNames, stringsOption } from '../options/checks.js';
import { sql } from '../sql/template.js';

/** What a locking read does about rows that others have locked, and which tables it locks. */
export interface LockOptions {
  /** Leave out rows that others have locked, instead of waiting. Default `false`. */
  readonly skipLocked?: boolean | undefined;
  /** Fail with 55P03 instead of waiting. Default `false`; not together with `skipLocked`. */
  readonly noWait?: boolean | undefined;
  /** Lock the rows of these tables (or aliases) only. Default: of all tables of the query. */
  readonly of?: string | readonly string[] | undefined;
}

/**
 * A read inside a transaction, to which locks may be added; in the same expression, before
 * anything else is awaited.
 *
 * @example
 * ```ts
 * import { connect } from '@braiddb/sdk';
 * await using db = await connect('postgresql://root@127.0.0.1:26257/defaultdb');
 * await db.run`CREATE TABLE IF NOT EXISTS sdk_job_example (id INT4 PRIMARY KEY, state TEXT)`;
 * await db.transaction(async (tx) => {
 *   // SQL: SELECT … LIMIT 10 FOR UPDATE SKIP LOCKED
 *   const { rows } = await tx.query<{ id: number }>`
 *     SELECT id FROM sdk_job_example ORDER BY id LIMIT 10`.forUpdate({ skipLocked: true });
 *   for (const { id } of rows) await tx.run`DELETE FROM sdk_job_example WHERE id = ${id}`;
 * });
 * ```
 */
export interface Lockable<T> extends Promise<T> {
  /** Others wait that want to change, delete or lock these rows. */
  forUpdate(options?: LockOptions): Promise<T>;
  /** Like `forUpdate`, but lets others refer to the rows by foreign keys. */
  forNoKeyUpdate(options?: LockOptions): Promise<T>;
  /** Others may lock these rows in the same way, but wait if they want to change them. */
  forShare(options?: LockOptions): Promise<T>;
  /** Others wait only if they want to delete these rows or change their keys. */
  forKeyShare(options?: LockOptions): Promise<T>;
}

/** Adds the locking methods to the promise of a read. */
export function withLocks<T>(promise: Promise<T>, request: StatementRequest): Lockable<T> {
  const lock =
    (strength: string) =>
    (options: LockOptions = {}): Promise<T> => {
      request.lock(strength, `${strength}${lockTail(options)}`);
      return promise;
    };
  return Object.assign(promise, {
    forUpdate: lock('FOR UPDATE'),
    forNoKeyUpdate: lock('FOR NO KEY UPDATE'),
    forShare: lock('FOR SHARE'),
    forKeyShare: lock('FOR KEY SHARE'),
  });
}

function lockTail(options: LockOptions): string {
  checkNames('lock', options, ['skipLocked', 'noWait', 'of']);
  const skipLocked = booleanOption('skipLocked', options.skipLocked) ?? false;
  const noWait = booleanOption('noWait', options.noWait) ?? false;
  if (skipLocked && noWait) throw new OptionError('noWait', 'not together with skipLocked');
  const { of } = options;
  const named = typeof of === 'string' ? [of] : stringsOption('of', of);
  const tables = (named ?? []).map((name) => sql.identifier(name).compile().text);
  const only = tables.length > 0 ? ` OF ${tables.join(', ')}` : '';
  return `${only}${skipLocked ? ' SKIP LOCKED' : ''}${noWait ? ' NOWAIT' : ''}`;
}
