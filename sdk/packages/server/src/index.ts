/**
 * `@braiddb/server`: the BraidDB server from npm. `npx braiddb start` runs it; this module starts
 * servers and creates databases for tests and development.
 *
 * ```text
 *  cli.ts         npx braiddb: the binary with the same arguments
 *  server.ts      startServer: data folder, process, readiness, close
 *  database.ts    createDatabase: a fresh database on a server
 *  tools/         migrations and types: `@braiddb/server/tools`
 *  ─────────────────────────────────────────────────────────────
 *  options.ts     the options of startServer, checked
 *  process.ts     one server process: output, signals, end
 *  guard.ts       ends the server when this process dies
 *  binary.ts      finds the binary    platforms.ts  platforms and their packages
 *  handles.ts     whether a process keeps this one alive    errors.ts
 * ```
 *
 * No side effects on import, no console output.
 */

export { findBinary } from './binary.js';
export type { DatabaseOptions, TestDatabase } from './database.js';
export { createDatabase } from './database.js';
export type { ProcessExit } from './errors.js';
export {
  BinaryNotFoundError,
  MigrationError,
  ServerError,
  ServerOptionError,
  ServerStartError,
  ServerStopError,
} from './errors.js';
export type { ServerOptions } from './options.js';
export type { Server } from './server.js';
export { startServer } from './server.js';
