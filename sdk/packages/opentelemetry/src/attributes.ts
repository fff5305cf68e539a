/** What the traces of the SDK are called by OpenTelemetry's conventions for databases. */

import type { Place } from '@braiddb/sdk';
import { ConnectionError, DatabaseError, isAmbiguous, RetriesExhaustedError } from '@braiddb/sdk';
import type { Attributes } from '@opentelemetry/api';

import type { StatementSummary } from './summary.js';

/** Names of attributes by the conventions, and our own, which begin with `braiddb`. */
export const NAMES = {
  system: 'db.system.name',
  namespace: 'db.namespace',
  collection: 'db.collection.name',
  operation: 'db.operation.name',
  summary: 'db.query.summary',
  text: 'db.query.text',
  batchSize: 'db.operation.batch.size',
  returnedRows: 'db.response.returned_rows',
  status: 'db.response.status_code',
  errorType: 'error.type',
  address: 'server.address',
  port: 'server.port',
  pool: 'db.client.connection.pool.name',
  connectionState: 'db.client.connection.state',
  attempt: 'braiddb.transaction.attempt',
  attempts: 'braiddb.transaction.attempts',
  isolation: 'braiddb.transaction.isolation',
  readOnly: 'braiddb.transaction.read_only',
  ambiguous: 'braiddb.error.ambiguous',
  outcome: 'braiddb.commit.outcome',
  rejectedRows: 'braiddb.batch.rejected_rows',
} as const;

/** The server and the database. A server that is not known yet counts as PostgreSQL. */
export function placeAttributes({ server, system, database }: Place): Attributes {
  const [, host, port] = /^(.*):(\d+)$/.exec(server ?? '') ?? [];
  return {
    [NAMES.system]: system ?? 'postgresql',
    ...(database === undefined ? {} : { [NAMES.namespace]: database }),
    ...(host === undefined ? {} : { [NAMES.address]: host, [NAMES.port]: Number(port) }),
  };
}

/** What a statement does, and to which tables; without its text. */
export function statementAttributes({ operation, tables, summary }: StatementSummary): Attributes {
  const [table, ...others] = tables;
  return {
    ...(operation === '' ? {} : { [NAMES.operation]: operation }),
    ...(summary === '' ? {} : { [NAMES.summary]: summary }),
    ...(table === undefined || others.length > 0 ? {} : { [NAMES.collection]: table }),
  };
}

/** Why something failed; nothing where it did not. */
export function errorAttributes(trace: { readonly error?: unknown }): Attributes {
  if (!('error' in trace)) return {};
  const { error } = trace;
  const code = sqlstateOf(error);
  const name = error instanceof Error ? error.name : typeof error;
  return {
    [NAMES.errorType]: code ?? name,
    ...(code === undefined ? {} : { [NAMES.status]: code }),
    ...(isAmbiguous(error) ? { [NAMES.ambiguous]: true } : {}),
  };
}

function sqlstateOf(error: unknown): string | undefined {
  if (error instanceof DatabaseError) return error.code;
  if (error instanceof ConnectionError) return error.sqlstate;
  return error instanceof RetriesExhaustedError ? sqlstateOf(error.last) : undefined;
}
