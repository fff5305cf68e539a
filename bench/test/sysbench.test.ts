import { describe, expect, it } from 'vitest';

import { SCRIPTS } from '../src/sysbench/oltp.js';
import { argumentsOf, reportOf, sessionOptions } from '../src/sysbench/program.js';
import { SCANS } from '../src/sysbench/scans.js';

const OUTPUT = `
SQL statistics:
    queries performed:
        read:                            0
        write:                           1340
        other:                           7
        total:                           1347
    transactions:                        1347  (1328.25 per sec.)
    queries:                             1347  (1328.25 per sec.)
    ignored errors:                      32     (31.50 per sec.)
    reconnects:                          1      (0.98 per sec.)

Latency (ms):
         min:                                    0.04
         avg:                                    0.30
         max:                                    9.93
         95th percentile:                        0.67
         sum:                                  673.50
`;

describe('sysbench', () => {
  it('reports its numbers', () => {
    expect(reportOf(OUTPUT)).toEqual({
      transactions: 1347,
      perSecond: 1328.25,
      meanMs: 0.5,
      p95Ms: 0.67,
      writes: 1340,
      retries: 32,
      reconnects: 1,
    });
    expect(() => reportOf('transactions: 5')).toThrow('does not report');
  });

  it('is told the server, the database and the isolation level', () => {
    const call = {
      ...{ script: 'oltp_insert', url: 'postgresql://me:a%40b@127.0.0.1:1234/db', threads: 8 },
      ...{ seed: 3, isolation: 'read committed', options: ['--table_size=10'] },
    };
    expect(argumentsOf(call)).toEqual([
      '/usr/share/sysbench/oltp_insert.lua',
      '--db-driver=pgsql',
      ...['--pgsql-host=127.0.0.1', '--pgsql-port=1234', '--pgsql-user=me'],
      ...['--pgsql-password=a@b', '--pgsql-db=db', '--threads=8', '--rand-seed=3'],
      '--table_size=10',
    ]);
    expect(sessionOptions(call.isolation)).toBe(
      '-c default_transaction_isolation=read\\ committed',
    );
  });

  it('leaves what its events have done', () => {
    const before = { rows: 100, sum: 5_000 };
    const leaves = (name: string): unknown => {
      const script = SCRIPTS.find((one) => one.name === name);
      return script?.leaves(before, { transactions: 30, writes: 20 });
    };
    expect(leaves('oltp_read_only')).toEqual(before);
    expect(leaves('oltp_update_index')).toEqual({ rows: 100, sum: 5_030 });
    expect(leaves('oltp_insert')).toEqual({ rows: 130, sum: undefined });
    expect(leaves('oltp_delete')).toEqual({ rows: 80, sum: undefined });
    expect(leaves('bulk_insert')).toEqual({ rows: 30, sum: undefined });
  });

  it('has eleven scripts and seven scans, each with a name of its own', () => {
    expect(new Set(SCRIPTS.map(({ name }) => name)).size).toBe(11);
    expect(new Set(SCANS.map(({ name }) => name)).size).toBe(7);
    const anyRows = SCANS.filter((scan) => scan.anyRows).map(({ name }) => name);
    expect(anyRows).toEqual(['index join', 'index join scan']);
  });
});
