-- == session
SELECT split_part(version(), ' ', 1) AS server, current_database() <> '' AS here,
  current_setting('server_version_num')::int / 10000 AS major, pg_backend_pid() > 0 AS pid,
  pg_is_in_recovery() AS recovery;

-- == address of the server
SELECT inet_server_addr() IS NOT NULL AS address, inet_server_port() > 0 AS port;

-- == role of the session
SELECT rolsuper, rolcreaterole, rolcreatedb, rolcanlogin, rolconnlimit,
  pg_has_role(rolname, 'USAGE') AS usage
FROM pg_roles WHERE rolname = current_user;

-- == settings of the session
SET client_min_messages = notice;
SET bytea_output = 'escape';
SELECT set_config('bytea_output', 'hex', false) AS changed,
  (SELECT setting FROM pg_settings WHERE name = 'bytea_output') AS read;

-- == databases
SELECT datname = current_database() AS here, datallowconn, datistemplate, datconnlimit,
  pg_encoding_to_char(encoding) AS encoding,
  has_database_privilege(oid, 'CREATE') AS cancreate, has_database_privilege(oid, 'TEMPORARY') AS
  temporary,
  pg_get_userbyid(datdba) AS owner, shobj_description(oid, 'pg_database') AS comment,
  (SELECT spcname FROM pg_tablespace t WHERE t.oid = dattablespace) AS tablespace, datacl
FROM pg_database WHERE datname = current_database();

-- == tablespaces
SELECT spcname, pg_get_userbyid(spcowner) AS owner, spcoptions, spcacl, pg_tablespace_location(oid)
  AS place,
  shobj_description(oid, 'pg_tablespace') AS comment
FROM pg_tablespace ORDER BY spcname;

-- == databases of a tablespace
SELECT count(*) > 0 AS some FROM pg_tablespace t, pg_tablespace_databases(t.oid) AS d WHERE spcname
  = 'pg_default';

-- == roles
SELECT rolname, rolcanlogin, rolsuper, rolinherit, rolvaliduntil, rolconnlimit, rolconfig,
  ARRAY(SELECT g.rolname FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member
  = r.oid) AS groups,
  shobj_description(oid, 'pg_authid') AS comment
FROM pg_roles r WHERE rolname LIKE 'tools%' ORDER BY rolname;

-- == settings of roles
SELECT rolname, setdatabase, setconfig FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = setrole
  WHERE rolname LIKE 'tools%';

-- == schemas
SELECT nspname, pg_get_userbyid(nspowner) AS owner, nspacl, has_schema_privilege(oid, 'CREATE') AS
  cancreate,
  has_schema_privilege(oid, 'USAGE') AS usage, obj_description(oid, 'pg_namespace') AS comment
FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname NOT LIKE 'braid%' AND nspname <>
  'information_schema' ORDER BY nspname;

-- == privileges of a schema
SELECT privilege_type, is_grantable, pg_get_userbyid(grantor) AS grantor,
  CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE pg_get_userbyid(grantee) END AS grantee
FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'shop' ORDER BY 4, 1;

-- == default privileges
SELECT defaclobjtype, nspname, defaclacl FROM pg_default_acl LEFT JOIN pg_namespace n ON n.oid =
  defaclnamespace;

-- == tables
SELECT relname, relkind, relispartition, relpersistence, relrowsecurity, relforcerowsecurity,
  relhastriggers,
  relhasrules, relreplident, relnatts, relchecks, relhassubclass, pg_get_userbyid(relowner) AS
  owner,
  (SELECT count(*) FROM pg_trigger t WHERE tgrelid = c.oid AND NOT tgisinternal) AS triggers,
  (SELECT count(*) FROM pg_inherits WHERE inhrelid = c.oid) AS parents,
  obj_description(c.oid, 'pg_class') AS comment, has_table_privilege(c.oid, 'SELECT') AS readable,
  has_table_privilege('tools_reader', c.oid, 'INSERT') AS insertable,
  pg_relation_size(c.oid) >= 0 AS sized, pg_total_relation_size(c.oid) >= pg_indexes_size(c.oid) AS
  summed,
  array_to_string(reloptions, ',') AS options, pg_table_is_visible(c.oid) AS visible
FROM pg_class c WHERE relnamespace = 'shop'::regnamespace AND relkind IN ('r', 'p') ORDER BY
  relname;

-- == storage parameters
SELECT substring(array_to_string(reloptions, ',') FROM 'fillfactor=([0-9]*)') AS fillfactor,
  substring(array_to_string(reloptions, ',') FROM 'autovacuum_enabled=([a-z|0-9]*)') AS autovacuum
FROM pg_class WHERE oid = 'shop.authors'::regclass;

-- == toast tables
SELECT count(*) AS found FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid WHERE
  c.oid = 'shop.authors'::regclass;

-- == columns
SELECT a.attname, a.attnum, format_type(a.atttypid, a.atttypmod) AS type, format_type(a.atttypid,
  NULL) AS plain,
  a.attnotnull, a.atthasdef, a.attidentity, a.attgenerated, a.attstorage, a.attstattarget,
  a.attislocal, a.attinhcount,
  a.attndims, a.attacl, a.attoptions, pg_get_expr(d.adbin, d.adrelid, true) AS value, t.typname,
  t.typtype, t.typcategory,
  b.typname AS element, col_description(a.attrelid, a.attnum) AS comment, collname,
  has_column_privilege('tools_writer', a.attrelid, a.attnum, 'UPDATE') AS writable
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typelem
  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  LEFT JOIN pg_collation l ON l.oid = a.attcollation AND a.attcollation <> t.typcollation
WHERE a.attrelid IN ('shop.authors'::regclass, 'shop.books'::regclass) AND a.attnum > 0 AND NOT
  a.attisdropped
ORDER BY a.attrelid::regclass::text, a.attnum;

-- == sequence of an identity
SELECT seqtypid::regtype AS type, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle,
  deptype
FROM pg_depend d JOIN pg_sequence s ON s.seqrelid = d.objid
WHERE refobjid = 'shop.books'::regclass AND classid = 'pg_class'::regclass AND deptype = 'i';

-- == sequences
SELECT relname, seqstart, seqincrement, seqcycle, pg_sequence_last_value(c.oid) AS last, (SELECT
  attname FROM pg_depend d
  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid WHERE d.objid = c.oid
  AND deptype IN ('a', 'i')
  AND d.refclassid = 'pg_class'::regclass) AS column
FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid WHERE relnamespace = 'shop'::regnamespace
  ORDER BY relname;

-- == parameters of a sequence
SELECT * FROM pg_sequence_parameters('shop.numbers'::regclass);

-- == constraints
SELECT conrelid::regclass AS table, conname, contype, condeferrable, condeferred, convalidated,
  conislocal, connoinherit, conkey,
  confkey, confupdtype, confdeltype, confmatchtype, confrelid::regclass AS references,
  conindid::regclass AS index,
  pg_get_constraintdef(oid, true) AS definition, obj_description(oid, 'pg_constraint') AS comment
FROM pg_constraint WHERE connamespace = 'shop'::regnamespace AND contypid = 0 ORDER BY
  conrelid::regclass::text, 2;

-- == operators of an exclusion constraint
SELECT conname, o.oprname FROM pg_constraint, unnest(conexclop) AS e JOIN pg_operator o ON o.oid =
  e WHERE contype = 'x';

-- == indexes
SELECT i.indrelid::regclass AS table, c.relname, amname, indisunique, indisprimary, indisexclusion,
  indisvalid, indisready,
  indisclustered, indnatts, indnkeyatts, indkey::text AS keys, indoption::text AS options,
  pg_get_expr(indpred, indrelid, true) AS condition,
  pg_get_indexdef(i.indexrelid, 0, true) AS definition, indnullsnotdistinct, con.conname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am am ON am.oid = c.relam
  LEFT JOIN pg_constraint con ON con.conindid = i.indexrelid AND con.contype IN ('p', 'u', 'x')
WHERE c.relnamespace = 'shop'::regnamespace ORDER BY c.relname;

-- == columns of indexes
SELECT c.relname, n, pg_get_indexdef(indexrelid, n, true) AS definition,
  pg_index_column_has_property(indexrelid, n, 'asc') AS up,
  pg_index_column_has_property(indexrelid, n, 'desc') AS down,
  pg_index_column_has_property(indexrelid, n, 'nulls_first') AS nulls_first,
  pg_index_column_has_property(indexrelid, n, 'orderable') AS orderable
FROM pg_index JOIN pg_class c ON c.oid = indexrelid, generate_series(1, indnatts) AS n
WHERE c.relnamespace = 'shop'::regnamespace AND c.relname LIKE 'authors%' ORDER BY 1, 2;

-- == properties of indexes and access methods
SELECT c.relname, pg_index_has_property(c.oid, 'clusterable') AS clusterable,
  pg_index_has_property(c.oid, 'index_scan') AS scan,
  pg_index_has_property(c.oid, 'backward_scan') AS backward
FROM pg_class c WHERE c.oid IN ('shop.authors_pkey'::regclass, 'shop.authors_meta'::regclass) ORDER
  BY 1;

-- == operator classes of indexes
SELECT c.relname, o.opcname, o.opcdefault FROM pg_index i JOIN pg_class c ON c.oid = indexrelid,
  unnest(indclass) AS k JOIN pg_opclass o ON o.oid = k
WHERE c.relnamespace = 'shop'::regnamespace AND c.relname LIKE 'a%' ORDER BY 1, 2;

-- == statistics of a table
SELECT n_tup_upd, n_tup_del, n_tup_hot_upd, seq_scan >= 0 AS scanned, pg_stat_get_numscans(relid)
  >= 0 AS scans, pg_stat_get_live_tuples(relid) >= 0 AS live,
  pg_stat_get_dead_tuples(relid) >= 0 AS dead, pg_stat_get_tuples_inserted(relid) >= 0 AS inserted
FROM pg_stat_all_tables WHERE relid = 'shop.authors'::regclass;

-- == statistics of an index
SELECT indexrelname, idx_scan >= 0 AS scans, idx_tup_read >= 0 AS read, idx_tup_fetch >= 0 AS
  fetched
FROM pg_stat_all_indexes WHERE schemaname = 'shop' AND relname = 'authors' ORDER BY 1;

-- == statistics of columns
ANALYZE shop.books;
SELECT attname, null_frac, n_distinct, most_common_vals FROM pg_stats WHERE schemaname = 'shop' AND
  tablename = 'books' AND attname IN ('author_id', 'title') ORDER BY 1;

-- == partitions
SELECT inhparent::regclass AS parent, c.relname, pg_get_expr(c.relpartbound, c.oid) AS bound,
  pg_get_partkeydef(c.oid) AS key, inhdetachpending
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE c.relnamespace =
  'shop'::regnamespace AND c.relkind IN ('r', 'p')
  AND c.relname <> 'sales_one' ORDER BY 2;

-- == keys of partitioned tables
SELECT partrelid::regclass AS table, partstrat, partnatts, partattrs::text AS columns,
  partdefid::regclass AS default
FROM pg_partitioned_table ORDER BY partrelid::regclass::text;

-- == tree of partitions
SELECT relid, parentrelid, isleaf, level FROM pg_partition_tree('shop.sales') ORDER BY relid::text;

-- == triggers
SELECT tgname, tgtype, tgenabled, tgattr::text AS columns, tgdeferrable, tginitdeferred, tgnargs,
  proname, tgoldtable, tgnewtable,
  pg_get_triggerdef(t.oid, true) AS definition, tgqual IS NULL AS unconditional,
  (SELECT event_manipulation FROM information_schema.triggers WHERE trigger_name = tgname ORDER BY
  1 LIMIT 1) AS event
FROM pg_trigger t JOIN pg_proc p ON p.oid = tgfoid WHERE tgrelid = 'shop.authors'::regclass AND NOT
  tgisinternal;

-- == policies
SELECT polname, polcmd, polpermissive, pg_get_expr(polqual, polrelid) AS using,
  pg_get_expr(polwithcheck, polrelid) AS with_check,
  ARRAY(SELECT rolname FROM pg_roles WHERE oid = ANY (polroles)) AS roles FROM pg_policy ORDER BY 1;

-- == rules of views
SELECT rulename, ev_type, is_instead, ev_enabled FROM pg_rewrite WHERE ev_class =
  'shop.titles'::regclass;

-- == views
SELECT relname, pg_get_viewdef(oid, true) AS definition, array_to_string(reloptions, ',') AS
  options, relhasrules,
  pg_get_userbyid(relowner) AS owner, relispopulated FROM pg_class WHERE relnamespace =
  'shop'::regnamespace AND relkind IN ('v', 'm') AND relname <> 'doubled' ORDER BY 1;

-- == functions
SELECT proname, prokind, lanname, provolatile, proisstrict, prosecdef, proleakproof, proparallel,
  proretset, procost, prorows, pronargs,
  pg_get_function_arguments(p.oid) AS arguments, pg_get_function_identity_arguments(p.oid) AS
  identity,
  pg_get_function_result(p.oid) AS result, format_type(prorettype, NULL) AS type, proargnames,
  proargmodes, oidvectortypes(proargtypes) AS types,
  proconfig, ARRAY(SELECT acl::text FROM unnest(proacl) AS acl ORDER BY 1) AS acl,
  pg_get_expr(proargdefaults, 0) AS defaults, obj_description(p.oid, 'pg_proc') AS comment, prosrc
FROM pg_proc p JOIN pg_language l ON l.oid = prolang WHERE pronamespace = 'shop'::regnamespace AND
  prokind <> 'a' ORDER BY proname;

-- == definitions of functions
SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'shop'::regnamespace AND prokind
  <> 'a' ORDER BY proname;

-- == aggregates
SELECT aggfnoid::regproc AS name, aggkind, aggtransfn::regproc AS transition, aggfinalfn::regproc
  AS final, aggtranstype::regtype AS state, agginitval
FROM pg_aggregate WHERE aggfnoid::regproc::text LIKE '%product';

-- == types
SELECT typname, typtype, typcategory, format_type(t.oid, NULL) AS shown, typnotnull, typdefault,
  format_type(typbasetype, typtypmod) AS base,
  ARRAY(SELECT enumlabel FROM pg_enum WHERE enumtypid = t.oid ORDER BY enumsortorder) AS labels,
  obj_description(t.oid, 'pg_type') AS comment
FROM pg_type t LEFT JOIN pg_class c ON c.oid = typrelid
WHERE typnamespace = 'shop'::regnamespace AND (typrelid = 0 OR relkind = 'c') AND typelem = 0 ORDER
  BY 1;

-- == fields of composite types
SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid =
  'shop.place'::regclass ORDER BY attnum;

-- == constraints of domains
SELECT conname, convalidated, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE
  contypid = 'shop.price'::regtype;

-- == types to choose from
SELECT format_type(oid, NULL) AS type, typlen, typbyval FROM pg_type WHERE typisdefined AND typtype
  = 'b' AND typname IN ('int4', 'text', 'numeric', 'timestamptz', 'jsonb', 'bpchar', 'varchar',
  'uuid')
ORDER BY 1;

-- == collations
SELECT collname, collprovider, collisdeterministic FROM pg_collation WHERE collname IN ('C',
  'POSIX', 'default') ORDER BY 1;

-- == casts
SELECT castsource::regtype AS source, casttarget::regtype AS target, castcontext, castmethod FROM
  pg_cast
WHERE (castsource, casttarget) IN (('int4'::regtype, 'int8'::regtype), ('float8'::regtype,
  'int4'::regtype)) ORDER BY castcontext;

-- == extensions
SELECT name, installed_version IS NOT NULL AS installed FROM pg_available_extensions WHERE name =
  'plpgsql';

-- == languages
SELECT lanname, lanpltrusted, lanispl FROM pg_language WHERE lanname = 'plpgsql';

-- == event triggers, foreign data, publications, subscriptions
SELECT (SELECT count(*) FROM pg_event_trigger) AS event_triggers, (SELECT count(*) FROM
  pg_foreign_data_wrapper) AS wrappers,
  (SELECT count(*) FROM pg_foreign_server) AS servers, (SELECT count(*) FROM pg_user_mapping) AS
  mappings,
  (SELECT count(*) FROM pg_foreign_table) AS tables, (SELECT count(*) FROM pg_publication) AS
  publications,
  (SELECT count(*) FROM pg_publication_rel) AS published, (SELECT count(*) FROM pg_subscription) AS
  subscriptions;

-- == text search
SELECT cfgname, nspname, prsname, pg_ts_config_is_visible(c.oid) AS visible FROM pg_ts_config c
  JOIN pg_namespace n ON n.oid = cfgnamespace
  JOIN pg_ts_parser p ON p.oid = cfgparser WHERE cfgname IN ('simple', 'english') ORDER BY 1;

-- == dependencies
SELECT DISTINCT deptype, classid::regclass AS class, pg_describe_object(classid, objid, objsubid)
  AS object FROM pg_depend
WHERE refobjid = 'shop.authors'::regclass AND classid IN ('pg_constraint'::regclass,
  'pg_trigger'::regclass) ORDER BY 3;

-- == owners by pg_shdepend
SELECT deptype, count(*) > 0 AS some FROM pg_shdepend WHERE refobjid = 'tools_reader'::regrole
  GROUP BY deptype ORDER BY 1;

-- == identity of objects
SELECT (pg_identify_object('pg_class'::regclass, 'shop.books'::regclass, 0)).identity AS table,
  (pg_identify_object('pg_class'::regclass, 'shop.books'::regclass, 3)).identity AS column,
  (pg_identify_object('pg_type'::regclass, 'shop.mood'::regtype, 0)).type AS type;

-- == sessions
SELECT pid = pg_backend_pid() AS own, usename, state, wait_event_type IS NULL AS running,
  backend_type, query LIKE 'SELECT%' OR query LIKE '%SELECT%' AS shown,
  pg_blocking_pids(pid) AS blocked, backend_start <= now() AS begun, client_port > 0 AS client
FROM pg_stat_activity WHERE pid = pg_backend_pid();

-- == locks
SELECT count(*) >= 0 AS some FROM pg_locks l LEFT JOIN pg_class c ON c.oid = relation LEFT JOIN
  pg_database d ON d.oid = database;

-- == prepared transactions
SELECT count(*) AS found FROM pg_prepared_xacts WHERE database = current_database();

-- == dashboard
SELECT (SELECT count(*) FROM pg_stat_activity WHERE state = 'active') > 0 AS active,
  sum(xact_commit) > 0 AS commits, sum(xact_rollback) >= 0 AS rollbacks, sum(tup_inserted) >= 0 AS
  inserted, sum(tup_fetched) >= 0 AS fetched,
  sum(blks_read) >= 0 AS reads, sum(blks_hit) >= 0 AS hits FROM pg_stat_database;

-- == settings
SELECT name, setting, unit, category, vartype, context, enumvals FROM pg_settings WHERE name IN
  ('DateStyle', 'bytea_output', 'search_path') ORDER BY name;

-- == updatable views and columns
SELECT relname, pg_relation_is_updatable(oid, false) AS events, pg_column_is_updatable(oid,
  2::smallint, false) AS second FROM pg_class
WHERE relnamespace = 'shop'::regnamespace AND relname IN ('cheap', 'titles', 'authors', 'totals')
  ORDER BY 1;

-- == rows to edit
SELECT at.attname, at.attnum, ty.typname FROM pg_attribute at LEFT JOIN pg_type ty ON ty.oid =
  at.atttypid
JOIN (SELECT conkey, conrelid FROM pg_constraint WHERE contype = 'p' AND conrelid =
  'shop.books'::regclass) AS key ON key.conrelid = at.attrelid
WHERE at.attnum = ANY (key.conkey);

-- == search of objects
SELECT kind, name FROM (
  SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'i' THEN 'index' WHEN 'v' THEN 'view' WHEN 'S'
  THEN 'sequence' ELSE relkind::text END AS kind, relname::text AS name, relnamespace AS space FROM
  pg_class
  UNION ALL SELECT 'function', proname::text, pronamespace FROM pg_proc
  UNION ALL SELECT 'column', relname || '.' || attname, relnamespace FROM pg_attribute JOIN
  pg_class c ON c.oid = attrelid WHERE attnum > 0
  UNION ALL SELECT 'type', typname::text, typnamespace FROM pg_type
) AS found WHERE name ILIKE '%mood%' OR name ILIKE '%titles%' AND space = 'shop'::regnamespace
  ORDER BY 1, 2;
