/**
 * What each SQLSTATE means for the next attempt: the retry rules, in one table.
 *
 * States that are not in the table fail a statement, and running it again would fail again.
 */

/** The rule of one SQLSTATE. */
export interface StateRule {
  /** What has failed; `outcome`: whether the transaction took effect is unknown. */
  readonly fails: 'statement' | 'connection' | 'outcome';
  /**
   * Where a transaction that had no effect begins again. `savepoint`: from its restart savepoint
   * where the server has one, which keeps its locks. `no`: another attempt would fail as well.
   */
  readonly again: 'savepoint' | 'begin' | 'no';
}

const RULES: Readonly<Record<string, StateRule>> = {
  // Serialization failure.
  '40001': { fails: 'statement', again: 'savepoint' },
  // Deadlock: its victim must let go of its locks.
  '40P01': { fails: 'statement', again: 'begin' },
  // Statement completion unknown; transaction resolution unknown.
  '40003': { fails: 'outcome', again: 'no' },
  '08007': { fails: 'outcome', again: 'no' },
  // Too many connections.
  '53300': { fails: 'statement', again: 'begin' },
  // The store does not answer; the snapshot is too old.
  '58000': { fails: 'statement', again: 'begin' },
  '72000': { fails: 'statement', again: 'begin' },
  // The server stops, has crashed or is starting; the session was idle for too long.
  '57P01': { fails: 'connection', again: 'begin' },
  '57P02': { fails: 'connection', again: 'begin' },
  '57P03': { fails: 'connection', again: 'begin' },
  '57P05': { fails: 'connection', again: 'begin' },
  // A message that cannot be read: a bug, which does not go away.
  '08P01': { fails: 'connection', again: 'no' },
};

const STATEMENT: StateRule = { fails: 'statement', again: 'no' };
const CONNECTION: StateRule = { fails: 'connection', again: 'begin' };

/** The rule of a SQLSTATE. */
export function ruleOf(state: string): StateRule {
  return RULES[state] ?? (state.startsWith('08') ? CONNECTION : STATEMENT);
}

/** Faults of the operating system that waiting may cure, by their names. */
const PASSING_FAULTS: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOENT'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'EAI_AGAIN'],
]);

/** True if a connection may be made later although the operating system refused it now. */
export function isPassingFault(errno: string): boolean {
  return PASSING_FAULTS.has(errno);
}
