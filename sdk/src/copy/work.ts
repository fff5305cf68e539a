/**
 * What a COPY consists of: its text, and how a `db`, a transaction or a reserved connection runs it.
 */

import type { CallSite } from '../call-sites.js';
import type { DriverResult } from '../connection/driver.js';
import type { SendText } from '../connection/request.js';
import { OptionError, UsageError, withText } from '../errors.js';
import {
  booleanOption,
  checkNames,
  choiceOption,
  nameOption,
  stringsOption,
} from '../options/checks.js';
import { Sql, sql } from '../sql/template.js';

/** The data format of COPY. */
export type CopyFormat = 'text' | 'csv' | 'binary';

/** A table to copy from or to; the SDK writes the statement. */
export interface CopyTable {
  /** A name, or schema and name. */
  readonly table: string | readonly [string, ...string[]];
  /** The columns, in the order of the data. Default: all columns of the table. */
  readonly columns?: readonly string[] | undefined;
  /** Default `'text'`: lines of values with tabs between them, and `\N` for NULL. */
  readonly format?: CopyFormat | undefined;
  /** The first line has the names of the columns; `csv` and `text` only. Default `false`. */
  readonly header?: boolean | undefined;
}

/** What `copyFrom` reads: bytes, or strings that are sent as UTF-8. Node streams are such sources. */
export type CopySource =
  string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** One COPY on its way. */
export interface CopyWork {
  readonly text: string;
  readonly send: SendText;
  readonly signal: AbortSignal | undefined;
  readonly callSite: CallSite;
  /** False if nothing can have taken effect when the connection is lost. */
  readonly mayRun: () => boolean;
  /** Ends it for a reason of its own; `signal` follows. {@link LEFT} if the reader has left. */
  readonly stop: AbortController;
  /** Rows come from the server. */
  readonly isRead: boolean;
}

/** Why a `copyTo` ends that is not read to its end. */
export const LEFT = 'the reader has left';

/** Runs one COPY, on a connection that nothing else uses until it has ended. */
export type RunCopy = (work: CopyWork) => Promise<DriverResult>;

/** The text of a COPY statement; `direction` completes the statement of a table. */
export function copyText(target: Sql | CopyTable, direction: 'FROM STDIN' | 'TO STDOUT'): string {
  if (!Sql.isSql(target)) return tableText(target, direction);
  const { text, values } = target.compile();
  if (values.length > 0) {
    const message =
      'COPY takes no values: put names in with sql.identifier, and read with db.stream by values';
    throw new UsageError(withText(message, text));
  }
  return text;
}

function tableText(target: CopyTable, direction: string): string {
  checkNames('copy', target, ['table', 'columns', 'format', 'header']);
  const parts = nameOption('table', target.table);
  const columns = stringsOption('columns', target.columns);
  const format = choiceOption('format', target.format, ['text', 'csv', 'binary']) ?? 'text';
  const header = booleanOption('header', target.header) ?? false;
  if (header && format === 'binary') throw new OptionError('header', 'not together with binary');
  const name = sql.identifier(...parts).compile().text;
  const list = columns?.map((column) => sql.identifier(column).compile().text).join(', ');
  const of = list === undefined || list === '' ? '' : ` (${list})`;
  const first = header ? ', HEADER' : '';
  return `COPY ${name}${of} ${direction} WITH (FORMAT ${format}${first})`;
}
