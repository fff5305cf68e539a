/**
 * `@braiddb/server/tools`: migrations and types, also as `npx braiddb migrate` and `npx braiddb types`.
 *
 * ```text
 *  command.ts   the two commands
 *  migrate.ts   up, down, status       history.ts  the table of applied migrations, and the lock
 *                                      files.ts, statements.ts  the files
 *  types.ts     the types of tables    catalog.ts  what the database has    type-names.ts
 *   checks.ts    the checks of what both take
 * ```
 */

export type { Migration, Script } from './files.js';
export type { DownOptions, MigrationOptions, MigrationStatus, UpOptions } from './migrate.js';
export { migrateDown, migrateUp, migrationStatus } from './migrate.js';
export type { ParserChoice } from './type-names.js';
export type { TypeOptions } from './types.js';
export { generateTypes } from './types.js';
