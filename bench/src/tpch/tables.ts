/**
 * The eight tables of TPC-H, with the indexes on foreign keys that its rules allow.
 */

/** A table: its statement, and those that follow once it is filled. */
export interface Table {
  readonly name: string;
  readonly create: string;
  readonly indexes: readonly string[];
}

const MONEY = 'NUMERIC(15,2)';

/** The tables in the order of their foreign keys. */
export const TABLES: readonly Table[] = [
  {
    name: 'region',
    create: `r_regionkey INT4 PRIMARY KEY, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152)`,
    indexes: [],
  },
  {
    name: 'nation',
    create: `n_nationkey INT4 PRIMARY KEY, n_name CHAR(25) NOT NULL, n_regionkey INT4 NOT NULL,
      n_comment VARCHAR(152)`,
    indexes: ['n_regionkey'],
  },
  {
    name: 'supplier',
    create: `s_suppkey INT4 PRIMARY KEY, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL,
      s_nationkey INT4 NOT NULL, s_phone CHAR(15) NOT NULL, s_acctbal ${MONEY} NOT NULL,
      s_comment VARCHAR(101) NOT NULL`,
    indexes: ['s_nationkey'],
  },
  {
    name: 'customer',
    create: `c_custkey INT4 PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL,
      c_nationkey INT4 NOT NULL, c_phone CHAR(15) NOT NULL, c_acctbal ${MONEY} NOT NULL,
      c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL`,
    indexes: ['c_nationkey'],
  },
  {
    name: 'part',
    create: `p_partkey INT4 PRIMARY KEY, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL,
      p_brand CHAR(10) NOT NULL, p_type VARCHAR(25) NOT NULL, p_size INT4 NOT NULL,
      p_container CHAR(10) NOT NULL, p_retailprice ${MONEY} NOT NULL,
      p_comment VARCHAR(23) NOT NULL`,
    indexes: [],
  },
  {
    name: 'partsupp',
    create: `ps_partkey INT4, ps_suppkey INT4, ps_availqty INT4 NOT NULL,
      ps_supplycost ${MONEY} NOT NULL, ps_comment VARCHAR(199) NOT NULL,
      PRIMARY KEY (ps_partkey, ps_suppkey)`,
    indexes: ['ps_suppkey'],
  },
  {
    name: 'orders',
    create: `o_orderkey INT8 PRIMARY KEY, o_custkey INT4 NOT NULL, o_orderstatus CHAR(1) NOT NULL,
      o_totalprice ${MONEY} NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL,
      o_clerk CHAR(15) NOT NULL, o_shippriority INT4 NOT NULL, o_comment VARCHAR(79) NOT NULL`,
    indexes: ['o_custkey'],
  },
  {
    name: 'lineitem',
    create: `l_orderkey INT8, l_partkey INT4 NOT NULL, l_suppkey INT4 NOT NULL, l_linenumber INT4,
      l_quantity ${MONEY} NOT NULL, l_extendedprice ${MONEY} NOT NULL, l_discount ${MONEY} NOT NULL,
      l_tax ${MONEY} NOT NULL, l_returnflag CHAR(1) NOT NULL, l_linestatus CHAR(1) NOT NULL,
      l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL, l_receiptdate DATE NOT NULL,
      l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL,
      l_comment VARCHAR(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber)`,
    indexes: ['l_partkey, l_suppkey', 'l_suppkey'],
  },
];
