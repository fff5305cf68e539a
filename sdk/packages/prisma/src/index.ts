/**
 * `@braiddb/prisma`: a driver adapter for Prisma over `@braiddb/sdk`, for BraidDB, PostgreSQL and
 * CockroachDB, with transactions that run again.
 *
 * ```text
 *  transaction.ts       transaction(prisma, fn): runs again after conflicts
 *  adapter.ts           PrismaBraid: the adapter that a Prisma client is made with
 *  session.ts           queries and transactions, as Prisma asks for them
 *  ──────────────────────────────────────────────────────────────────────────
 *  context.ts           the transaction on its way through Prisma
 *  errors.ts            errors of the SDK as Prisma knows them
 *  columns.ts           types of columns, values of rows    parameters.ts  values of queries
 * ```
 *
 * No side effects on import, no console output.
 */

export type { PrismaBraidOptions } from './adapter.js';
export { PrismaBraid } from './adapter.js';
export type {
  Attempt,
  PrismaClientLike,
  PrismaTransactionFunction,
  TransactionClient,
} from './transaction.js';
export { transaction } from './transaction.js';
