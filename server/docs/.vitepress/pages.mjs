/**
 * The pages of the site: where each one comes from, and its place in the navigation.
 *
 * Documents stay where a reader of the repository looks for them. The site gives them shorter
 * addresses.
 */

/** Files and folders of documents, from the top of the repository, and their addresses. */
export const SOURCES = [
  ['server/docs', ''],
  ['server/ARCHITECTURE.md', 'architecture/index.md'],
  ['sdk/README.md', 'sdk/index.md'],
  ['sdk/docs', 'sdk'],
  ['sdk/packages/server/README.md', 'sdk/server.md'],
  ['sdk/packages/kysely/README.md', 'sdk/kysely.md'],
  ['sdk/packages/drizzle/README.md', 'sdk/drizzle.md'],
  ['sdk/packages/knex/README.md', 'sdk/knex.md'],
  ['sdk/packages/typeorm/README.md', 'sdk/typeorm.md'],
  ['sdk/packages/prisma/README.md', 'sdk/prisma.md'],
  ['sdk/packages/opentelemetry/README.md', 'sdk/opentelemetry.md'],
  ['sdk/packages/queue/README.md', 'sdk/queue.md'],
  ['bench/README.md', 'benchmarks.md'],
  ['docker/README.md', 'operations/docker.md'],
  ['examples/iot-worker/README.md', 'examples/iot-worker.md'],
  ['examples/fastify-kysely/README.md', 'examples/fastify-kysely.md'],
  ['examples/ledger/README.md', 'examples/ledger.md'],
  ['examples/test-suite/README.md', 'examples/test-suite.md'],
  ['examples/drizzle/README.md', 'examples/drizzle.md'],
  ['examples/knex/README.md', 'examples/knex.md'],
  ['examples/typeorm/README.md', 'examples/typeorm.md'],
  ['examples/prisma/README.md', 'examples/prisma.md'],
];

const pages = (folder, names) =>
  Object.entries(names).map(([name, text]) => ({ text, link: `/${folder}${name}` }));

/** The navigation beside each page, a group a reader. */
export const SIDEBAR = [
  {
    text: 'Begin',
    items: pages('', {
      'get-started': 'Get started',
      'coming-from-postgresql': 'Coming from PostgreSQL',
      'own-suites': 'Own suites of tools',
      'examples/iot-worker': 'Example: IoT worker',
      'examples/fastify-kysely': 'Example: shop',
      'examples/ledger': 'Example: ledger',
      'examples/test-suite': 'Example: test suite',
      'examples/drizzle': 'Example: Drizzle',
      'examples/knex': 'Example: Knex',
      'examples/typeorm': 'Example: TypeORM',
      'examples/prisma': 'Example: Prisma',
      benchmarks: 'Benchmarks',
    }),
  },
  {
    text: 'Guides',
    items: pages('guides/', {
      'transactions-and-retries': 'Transactions and retries',
      'orms-and-query-builders': 'ORMs and query builders',
      'parallel-writes': 'Parallel writes',
      queues: 'Queues',
      'multi-row-writes': 'Multi-row writes',
      'interleaved-tables': 'Interleaved tables',
      'column-families': 'Column families',
      testing: 'Testing your service',
    }),
  },
  {
    text: 'SDK',
    items: pages('sdk/', {
      '': 'Overview',
      server: 'Server from npm',
      kysely: 'Kysely',
      drizzle: 'Drizzle',
      knex: 'Knex',
      typeorm: 'TypeORM',
      prisma: 'Prisma',
      opentelemetry: 'OpenTelemetry',
      queue: 'Queue',
      'api/': 'API',
    }),
  },
  {
    text: 'Operations',
    items: pages('operations/', {
      install: 'Install',
      flags: 'Flags',
      'tls-and-users': 'TLS and users',
      monitoring: 'Monitoring',
      upgrade: 'Upgrade',
      backup: 'Backup',
      'tikv-cluster': 'TiKV cluster',
      docker: 'Docker',
    }),
  },
  {
    text: 'Reference',
    items: pages('reference/', {
      sql: 'SQL',
      errors: 'Errors',
      metrics: 'Metrics',
      settings: 'Settings',
    }),
  },
  {
    text: 'Inside',
    collapsed: true,
    items: [
      { text: 'Architecture', link: '/architecture/' },
      ...pages('architecture/', {
        server: 'Server',
        session: 'Session',
        exec: 'Exec',
        dml: 'DML',
        routines: 'Routines',
        ddl: 'DDL',
        plan: 'Plan',
        catalog: 'Catalog',
        rows: 'Rows',
        kv: 'Transactions',
        'kv-embedded': 'Embedded store',
        'kv-tikv': 'TiKV store',
        cluster: 'Cluster',
      }),
      { text: 'Tests', link: '/testing' },
      { text: 'Rules and their tests', link: '/testing-rules' },
      { text: "PostgreSQL's regression statements", link: '/testing-regression' },
    ],
  },
];
