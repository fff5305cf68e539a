/** Errors of the SDK as Prisma knows them. */

import { ConnectionError, ConstraintError, DatabaseError } from '@braiddb/sdk';
import type { MappedError } from '@prisma/driver-adapter-utils';
import { DriverAdapterError } from '@prisma/driver-adapter-utils';

/** Faults that Prisma reports as P1001: the server could not be reached. */
const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT']);

/**
 * The error that Prisma expects from its adapter. It makes a `PrismaClientKnownRequestError` of
 * it, for example P2034 of 40001 and 40P01. What is neither an error of the server nor of the
 * connection stays as it is.
 */
export function toPrisma(error: unknown): unknown {
  if (error instanceof DatabaseError) {
    const { code, message } = error;
    const mapped = mappedError(error);
    return withCause({ originalCode: code, originalMessage: message, ...mapped }, error);
  }
  if (error instanceof ConnectionError) {
    const { errno } = error;
    if (errno === 'ETIMEDOUT') return withCause({ kind: 'SocketTimeout' }, error);
    const isUnreachable = errno !== undefined && UNREACHABLE.has(errno);
    return withCause({ kind: isUnreachable ? 'DatabaseNotReachable' : 'ConnectionClosed' }, error);
  }
  return error;
}

function withCause(payload: ConstructorParameters<typeof DriverAdapterError>[0], error: Error) {
  const wrapped = new DriverAdapterError(payload);
  // Prisma owns `cause`; the stack is that of the SDK, which knows the caller.
  if (error.stack !== undefined) wrapped.stack = error.stack;
  return wrapped;
}

/** The text between the first pair of double quotes. */
function quoted(message: string): string | undefined {
  return /"((?:[^"]|"")*)"/.exec(message)?.[1]?.replaceAll('""', '"');
}

function mappedError(error: DatabaseError): MappedError {
  const { code, message } = error;
  if (error instanceof ConstraintError) return mappedConstraint(error);
  switch (code) {
    case '40001':
    case '40P01':
      return { kind: 'TransactionWriteConflict' };
    case '22001':
      return { kind: 'LengthMismatch', ...(error.column && { column: error.column }) };
    case '22003':
      return { kind: 'ValueOutOfRange', cause: message };
    case '22P02':
      return { kind: 'InvalidInputValue', message };
    case '42P01':
      return { kind: 'TableDoesNotExist', ...named('table', message) };
    case '42703':
      return { kind: 'ColumnNotFound', ...named('column', message) };
    case '3D000':
      return { kind: 'DatabaseDoesNotExist', ...named('db', message) };
    case '42P04':
      return { kind: 'DatabaseAlreadyExists', ...named('db', message) };
    case '28000':
      return { kind: 'DatabaseAccessDenied' };
    case '28P01':
      return { kind: 'AuthenticationFailed', ...named('user', message) };
    case '53300':
      return { kind: 'TooManyConnections', cause: message };
    default:
      return unmapped(error);
  }
}

/** A field with the name that a message quotes; none where it quotes nothing. */
function named<Field extends string>(
  field: Field,
  message: string,
): Partial<Record<Field, string>> {
  const name = quoted(message);
  return (name === undefined ? {} : { [field]: name }) as Partial<Record<Field, string>>;
}

function mappedConstraint(error: ConstraintError): MappedError {
  const { kind, constraint, column, table, detail } = error;
  const fields = /Key \(([^)]+)\)=/.exec(detail ?? '')?.[1]?.split(', ');
  const byName = constraint === undefined ? undefined : { index: constraint };
  const byFields = fields === undefined ? undefined : { fields };
  switch (kind) {
    case 'unique': {
      const named = byFields ?? byName;
      return {
        kind: 'UniqueConstraintViolation',
        ...(named && { constraint: named }),
        ...(table !== undefined && { table }),
      };
    }
    case 'not null': {
      const named = column === undefined ? byFields : { fields: [column] };
      return { kind: 'NullConstraintViolation', ...(named && { constraint: named }) };
    }
    case 'foreign key':
      return { kind: 'ForeignKeyConstraintViolation', ...(byName && { constraint: byName }) };
    case 'restrict':
      return { kind: 'RestrictViolation', ...(byName && { constraint: byName }) };
    case 'check':
    case 'exclusion':
    case 'other':
      return unmapped(error);
  }
}

function unmapped({ code, severity, message, detail, column, hint }: DatabaseError): MappedError {
  return { kind: 'postgres', code, severity, message, detail, column, hint };
}
