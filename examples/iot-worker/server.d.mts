/** A server that was started by {@link startServer}. */
export interface RunningServer {
  /** SQL address, user and database included. */
  readonly url: string;
  /** HTTP address. */
  readonly http: string;
  /** Process id. */
  readonly pid: number;
  /** Data folder. */
  readonly folder: string;
  /** Stops it cleanly and removes the folder that was made for it; returns the exit code. */
  stop(): Promise<number>;
  /** Kills it (SIGKILL) and leaves the folder. */
  kill(): Promise<void>;
}

/** Starts `binary` on free ports and waits until it is ready. */
export function startServer(
  binary: string,
  options?: { folder?: string; listen?: string; args?: string[] },
): Promise<RunningServer>;
