/** Values of queries, as Prisma hands them on, for the SDK. */

import type { ArgType } from '@prisma/driver-adapter-utils';

/** A value of a query; text is sent for moments, days and times, always in UTC. */
export function parameterOf(value: unknown, type: ArgType | undefined): unknown {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value) && type?.arity === 'list') {
    return value.map((element) => parameterOf(element, { ...type, arity: 'scalar' }));
  }
  if (type?.scalarType === 'datetime' && typeof value === 'string') {
    return momentText(new Date(value), type.dbType);
  }
  if (value instanceof Date) return momentText(value, type?.dbType);
  if (type?.scalarType === 'bytes' && typeof value === 'string') {
    return Buffer.from(value, 'base64');
  }
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  return value;
}

function momentText(moment: Date, dbType: string | undefined): string {
  const text = moment.toISOString();
  const at = text.indexOf('T');
  if (dbType === 'DATE') return text.slice(0, at);
  if (dbType === 'TIME' || dbType === 'TIMETZ') return text.slice(at + 1);
  return text;
}
