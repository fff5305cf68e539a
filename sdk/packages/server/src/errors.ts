/**
 * The errors of this package.
 *
 * ```text
 * ServerError
 * ├── BinaryNotFoundError   there is no server binary for this machine
 * ├── ServerStartError      the server ended, or was not ready in time
 * ├── ServerStopError       the server ended with an error, or had to be killed
 * ├── MigrationError        the files of migrations and the database do not fit
 * └── ServerOptionError     an option has a wrong type or is out of its range
 * ```
 */

/** How a process has ended: by its exit code, or by a signal. */
export interface ProcessExit {
  /** The exit code; null where a signal ended the process. */
  readonly code: number | null;
  /** The signal that ended the process; null where it ended by itself. */
  readonly signal: NodeJS.Signals | null;
}

/** The base of every error of this package. */
export class ServerError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ServerError';
  }
}

/** There is no server binary for this machine. The message says how to build one. */
export class BinaryNotFoundError extends ServerError {
  /** The platform of this machine, for example `linux-x64-gnu`. */
  readonly platform: string;

  constructor(platform: string, message: string) {
    super(message);
    this.name = 'BinaryNotFoundError';
    this.platform = platform;
  }
}

/** The server did not become ready. */
export class ServerStartError extends ServerError {
  /** `spawn`: the binary did not run; `exited`: the server ended; `timeout`: it took too long. */
  readonly reason: 'spawn' | 'exited' | 'timeout';
  /** How the server ended, where it has ended by itself. */
  readonly exit: ProcessExit | undefined;
  /** The last lines that the server has logged, at most 50. */
  readonly log: readonly string[];

  constructor(
    message: string,
    info: Pick<ServerStartError, 'reason' | 'log'> & { exit?: ProcessExit; cause?: unknown },
  ) {
    super(withLog(message, info.log), { cause: info.cause });
    this.name = 'ServerStartError';
    this.reason = info.reason;
    this.exit = info.exit;
    this.log = info.log;
  }
}

/** The server ended with an error, ended before it was asked to, or had to be killed. */
export class ServerStopError extends ServerError {
  /** How the server ended. */
  readonly exit: ProcessExit;
  /** The last lines that the server has logged, at most 50. */
  readonly log: readonly string[];

  constructor(message: string, exit: ProcessExit, log: readonly string[]) {
    super(withLog(message, log));
    this.name = 'ServerStopError';
    this.exit = exit;
    this.log = log;
  }
}

/**
 * A migration failed, or the files and the database do not fit. The message says what to do; `cause`
 * is the error of the SDK where a statement failed.
 */
export class MigrationError extends ServerError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MigrationError';
  }
}

/** An option has a wrong type or is out of its range. */
export class ServerOptionError extends ServerError {
  /** The name of the option. */
  readonly option: string;

  constructor(option: string, message: string) {
    super(`option "${option}": ${message}`);
    this.name = 'ServerOptionError';
    this.option = option;
  }
}

/** How a process has ended, in words. */
export function describeExit({ code, signal }: ProcessExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`;
}

function withLog(message: string, log: readonly string[]): string {
  if (log.length === 0) return `${message}; it has logged nothing`;
  return `${message}; its last log lines:\n${log.map((line) => `  ${line}`).join('\n')}`;
}
