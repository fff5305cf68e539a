-- == session
SELECT current_database() <> '' AS named, current_schema(), session_user = current_user AS same,
  current_schemas(false) AS path;

-- == settings that it sends
SET application_name = 'a tool - main';
SET extra_float_digits = 3;
SHOW search_path;

-- == databases
SELECT datname = current_database() AS here, pg_encoding_to_char(encoding) AS encoding,
  datistemplate, datallowconn, datconnlimit,
  pg_database_size(oid) >= 0 AS sized, shobj_description(oid, 'pg_database') AS description
FROM pg_database db WHERE datallowconn AND NOT datistemplate AND datname = current_database();

-- == schemas
SELECT n.nspname, d.description, pg_get_userbyid(n.nspowner) AS owner FROM pg_namespace n
  LEFT JOIN pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid =
  'pg_namespace'::regclass
WHERE nspname IN ('shop', 'public') ORDER BY nspname;

-- == tablespaces, encodings, access methods
SELECT (SELECT string_agg(spcname, ',' ORDER BY spcname) FROM pg_tablespace) AS tablespaces,
  (SELECT bool_and(amname IN ('heap', 'btree', 'hash', 'gist', 'gin', 'spgist', 'brin')) FROM
  pg_am) AS methods,
  (SELECT count(*) FROM (SELECT DISTINCT conforencoding FROM pg_conversion) AS c) >= 0 AS encodings;

-- == types
SELECT t.typname, t.typtype, t.typcategory, t.typlen, t.typbyval, t.typdelim, t.typnotnull,
  e.typname AS element,
  c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type, d.description
FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem LEFT JOIN pg_class c ON c.oid = t.typrelid
  LEFT JOIN pg_description d ON d.objoid = t.oid AND d.classoid = 'pg_type'::regclass
WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND t.typnamespace =
  'shop'::regnamespace AND t.typtype <> 'm'
ORDER BY t.typname;

-- == built-in types
SELECT typname, typtype, typcategory, typlen, typbyval, typalign, typstorage, typelem::regtype AS
  element, typarray::regtype AS list
FROM pg_type WHERE typname IN ('int4', 'text', 'numeric', 'timestamptz', 'jsonb', 'uuid', 'bool',
  'tsvector', 'daterange', 'inet', 'name', 'int2vector') ORDER BY typname;

-- == labels of enums
SELECT enumtypid::regtype AS type, enumlabel, enumsortorder FROM pg_enum ORDER BY
  enumtypid::regtype::text, enumsortorder;

-- == tables
SELECT c.relname, c.relkind, c.relrowsecurity, c.relpersistence, c.relhasindex, c.relispartition,
  d.description, ic.inhparent IS NOT NULL AS inherits,
  pg_get_expr(c.relpartbound, c.oid) AS bound, pg_get_partkeydef(c.oid) AS key, c.reltuples <= 3 AS
  few, array_to_string(c.relacl, ',') AS acl
FROM pg_class c LEFT JOIN pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid =
  'pg_class'::regclass
  LEFT JOIN pg_inherits ic ON ic.inhrelid = c.oid
WHERE c.relnamespace = 'shop'::regnamespace AND c.relkind NOT IN ('i', 'I', 'c') AND c.relname <>
  'sales_one' ORDER BY c.relname;

-- == parts and their parents
SELECT c.relname, i.inhparent::regclass AS parent, i.inhseqno, pc.relkind FROM pg_inherits i JOIN
  pg_class c ON c.oid = i.inhrelid JOIN pg_class pc ON pc.oid = i.inhparent
WHERE c.relnamespace = 'shop'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1;

-- == columns
SELECT c.relname, a.attname, a.attnum, a.attnotnull, a.attidentity, a.attgenerated, a.atttypmod,
  a.attlen, a.attndims, t.typname,
  pg_get_expr(ad.adbin, ad.adrelid, true) AS default_value, dsc.description, coalesce(l.collname,
  'none') AS collation, dep.objid IS NOT NULL AS owned
FROM pg_attribute a JOIN pg_class c ON a.attrelid = c.oid LEFT JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_attrdef ad ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum
  LEFT JOIN pg_description dsc ON c.oid = dsc.objoid AND a.attnum = dsc.objsubid AND dsc.classoid =
  'pg_class'::regclass
  LEFT JOIN pg_collation l ON l.oid = a.attcollation
  LEFT JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid =
  a.attnum AND dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind IN ('r', 'v', 'm', 'p') AND c.relnamespace =
  'shop'::regnamespace AND c.relname IN ('authors', 'books', 'titles', 'sales')
  AND a.attnum > 0
ORDER BY c.relname, a.attnum;

-- == system columns
SELECT attname, attnum, atttypid::regtype AS type FROM pg_attribute WHERE attrelid =
  'shop.authors'::regclass AND attnum < 0 ORDER BY attnum DESC;

-- == constraints
SELECT c.conname, t.relname AS table_name, c.contype, c.condeferrable, rt.relname AS ref_table,
  c.conkey, c.confkey, c.confupdtype, c.confdeltype,
  d.description, pg_get_constraintdef(c.oid) AS definition, pg_get_constraintdef(c.oid, true) AS
  pretty
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid LEFT JOIN pg_class rt ON rt.oid =
  c.confrelid
  LEFT JOIN pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid =
  'pg_constraint'::regclass
WHERE t.relnamespace = 'shop'::regnamespace ORDER BY t.relname, c.conname;

-- == references to a table
SELECT c.conname, c.conrelid::regclass AS from_table, ns.nspname FROM pg_constraint c JOIN pg_class
  t ON t.oid = c.conrelid JOIN pg_namespace ns ON ns.oid = t.relnamespace
WHERE c.confrelid = 'shop.authors'::regclass;

-- == indexes
SELECT c.relname, tc.relname AS table_name, i.indkey::text AS keys, i.indcollation::text <> '' AS
  collations, i.indoption::text AS options, i.indisprimary, i.indisunique, i.indisvalid,
  i.indnkeyatts, i.indnatts, am.amname, pg_get_expr(i.indpred, i.indrelid) AS predicate,
  pg_get_expr(i.indexprs, i.indrelid, true) AS expressions, pg_get_indexdef(i.indexrelid) AS
  definition,
  dsc.description, pg_relation_size(i.indexrelid) >= 0 AS sized
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class tc ON tc.oid = i.indrelid
  JOIN pg_am am ON am.oid = c.relam
  LEFT JOIN pg_description dsc ON dsc.objoid = i.indexrelid
WHERE c.relnamespace = 'shop'::regnamespace ORDER BY tc.relname, c.relname;

-- == columns of indexes
SELECT attname, attnum, pg_get_indexdef(attrelid, attnum, false) AS definition FROM pg_attribute
WHERE attrelid IN ('shop.authors_name'::regclass, 'shop.authors_sad'::regclass) ORDER BY
  attrelid::regclass::text, attnum;

-- == triggers
SELECT x.tgname, x.tgenabled, x.tgtype, p.proname, t.relname, pg_get_triggerdef(x.oid) AS
  definition, d.description
FROM pg_trigger x JOIN pg_proc p ON p.oid = x.tgfoid JOIN pg_class t ON t.oid = x.tgrelid
  LEFT JOIN pg_description d ON d.objoid = x.oid AND d.classoid = 'pg_trigger'::regclass
WHERE NOT x.tgisinternal AND t.relnamespace = 'shop'::regnamespace;

-- == rules
SELECT rulename, ev_type, is_instead FROM pg_rewrite r JOIN pg_class c ON c.oid = ev_class WHERE
  c.relnamespace = 'shop'::regnamespace ORDER BY c.relname;

-- == policies
SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies WHERE
  schemaname = 'shop' ORDER BY policyname;

-- == sequences
SELECT sequencename, sequenceowner, data_type, start_value, min_value, max_value, increment_by,
  cycle, cache_size, last_value FROM pg_sequences WHERE schemaname = 'shop' ORDER BY 1;

-- == a sequence as a relation
SELECT last_value, is_called FROM shop.numbers;

-- == functions
SELECT p.proname, p.prokind, l.lanname, p.provolatile, p.proretset, p.prorettype::regtype AS
  result, p.proargtypes::text <> '' AS arguments, p.proallargtypes IS NULL AS plain,
  p.proargmodes, p.proargnames, p.pronargdefaults, pg_get_expr(p.proargdefaults, 0) AS defaults,
  p.procost, p.prorows, p.provariadic, p.proisstrict, p.prosecdef, p.proleakproof,
  d.description
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang LEFT JOIN pg_description d ON d.objoid =
  p.oid AND d.classoid = 'pg_proc'::regclass
WHERE p.pronamespace = 'shop'::regnamespace ORDER BY p.proname;

-- == source of a function
SELECT pg_get_functiondef('shop.pairs'::regproc) AS source,
  pg_get_function_sqlbody('shop.pairs'::regproc) AS body;

-- == source of views
SELECT pg_get_viewdef('shop.titles'::regclass, true) AS pretty,
  pg_get_viewdef('shop.titles'::regclass) AS plain, pg_get_viewdef('shop.cheap'::regclass, 40) AS
  wrapped;

-- == views of the information schema
SELECT table_name, check_option, is_updatable, is_insertable_into FROM information_schema.views
  WHERE table_schema = 'shop' ORDER BY 1;

-- == roles
SELECT a.rolname, a.rolsuper, a.rolinherit, a.rolcreaterole, a.rolcreatedb, a.rolcanlogin,
  a.rolconnlimit, a.rolvaliduntil, a.rolbypassrls,
  (SELECT count(*) FROM pg_auth_members m WHERE m.roleid = a.oid) AS members, d.description
FROM pg_roles a LEFT JOIN pg_shdescription d ON d.objoid = a.oid WHERE a.rolname LIKE 'tools%'
  ORDER BY 1;

-- == members of roles
SELECT roleid::regrole AS role, member::regrole AS member, admin_option FROM pg_auth_members WHERE
  roleid::regrole::text LIKE 'tools%';

-- == privileges by the information schema
SELECT grantee, table_name, privilege_type, is_grantable, with_hierarchy FROM
  information_schema.table_privileges
WHERE table_schema = 'shop' AND grantee LIKE 'tools%' AND table_name IN ('books', 'titles') ORDER
  BY 1, 2, 3;

-- == privileges of columns
SELECT grantee, column_name, privilege_type FROM information_schema.column_privileges WHERE
  table_schema = 'shop' AND grantee = 'tools_writer' ORDER BY 2, 3;

-- == privileges of routines and usage
SELECT (SELECT count(*) FROM information_schema.routine_privileges WHERE grantee = 'tools_reader')
  AS routines,
  (SELECT count(*) FROM information_schema.usage_privileges WHERE grantee = 'tools_reader') AS
  usages;

-- == privileges by functions
SELECT has_table_privilege('tools_reader', 'shop.books', 'SELECT') AS table_yes,
  has_table_privilege('tools_writer', 'shop.books', 'DELETE, UPDATE') AS table_no,
  has_any_column_privilege('tools_writer', 'shop.books', 'UPDATE') AS any_column,
  has_column_privilege('tools_writer', 'shop.books', 'id', 'UPDATE') AS one_column,
  has_schema_privilege('tools_reader', 'shop', 'CREATE') AS schema,
  has_database_privilege('tools_writer', current_database(), 'CONNECT') AS database,
  has_function_privilege('tools_reader', 'shop.pairs(int, int)', 'EXECUTE') AS function,
  has_sequence_privilege('tools_reader', 'shop.numbers', 'USAGE') AS sequence,
  has_type_privilege('tools_reader', 'shop.mood', 'USAGE') AS type,
  has_language_privilege('tools_reader', 'plpgsql', 'USAGE') AS language,
  has_tablespace_privilege(current_user, 'pg_default', 'CREATE') AS tablespace;

-- == privileges of settings
SELECT has_parameter_privilege('tools_reader', 'work_mem', 'SET') AS parameter;

-- == dependencies
SELECT DISTINCT dep.deptype, cl.relname AS kind, CASE WHEN dep.refclassid = 'pg_class'::regclass
  THEN dep.refobjid::regclass::text END AS object
FROM pg_depend dep JOIN pg_class cl ON cl.oid = dep.refclassid
WHERE dep.objid = (SELECT oid FROM pg_rewrite WHERE ev_class = 'shop.titles'::regclass) AND
  dep.refclassid = 'pg_class'::regclass ORDER BY 3, 1;

-- == dependents of a table
SELECT DISTINCT c.relname, c.relkind FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN
  pg_class c ON c.oid = r.ev_class
WHERE d.refobjid = 'shop.books'::regclass AND d.classid = 'pg_rewrite'::regclass ORDER BY 1;

-- == size and rows of tables
SELECT relname, pg_total_relation_size(oid) >= 0 AS total, pg_relation_size(oid, 'main') >= 0 AS
  main, pg_size_pretty(0::bigint) AS nothing
FROM pg_class WHERE oid IN ('shop.authors'::regclass, 'shop.books'::regclass) ORDER BY 1;

-- == statistics
SELECT relname, n_tup_ins >= 0 AS inserted, seq_scan >= 0 AS scanned, last_vacuum IS NULL AS never,
  n_mod_since_analyze >= 0 AS changed FROM pg_stat_user_tables
WHERE schemaname = 'shop' AND relname = 'authors';

-- == extensions
SELECT e.extname, e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid =
  e.extnamespace WHERE extname = 'plpgsql';

-- == available extensions
SELECT name, version, relocatable, schema FROM pg_available_extension_versions WHERE name =
  'plpgsql';

-- == collations
SELECT collname, collencoding, collisdeterministic FROM pg_collation WHERE collname IN ('C',
  'ucs_basic') AND collencoding IN (-1, 6) ORDER BY 1;

-- == aggregates and operators
SELECT (SELECT count(*) FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid WHERE
  p.pronamespace = 'shop'::regnamespace) AS aggregates,
  (SELECT count(*) FROM pg_operator WHERE oprnamespace = 'shop'::regnamespace) AS operators;

-- == functions of operators
SELECT oprcode::text FROM pg_operator WHERE oprname = '+' AND oprleft = 'int4'::regtype AND
  oprright = 'int4'::regtype;

-- == jobs, foreign data, event triggers
SELECT (SELECT count(*) FROM pg_foreign_server) AS servers, (SELECT count(*) FROM
  pg_foreign_data_wrapper) AS wrappers, (SELECT count(*) FROM pg_event_trigger) AS triggers;

-- == sessions
SELECT application_name, state, usename, wait_event, left(query, 6) AS begins, leader_pid FROM
  pg_stat_activity WHERE pid = pg_backend_pid();

-- == transaction of the session
BEGIN;
CREATE TABLE shop.made (a int);
SELECT txid_current() > 0 AS current, to_regclass('shop.made') AS made;

-- == state of a transaction
SELECT txid_status(txid_current()) AS status;

-- == rollback
ROLLBACK;
SELECT to_regclass('shop.made') AS gone;

-- == columns by the information schema
SELECT column_name, ordinal_position, column_default, is_nullable, data_type, udt_schema, udt_name,
  domain_name, character_maximum_length, numeric_precision, numeric_scale,
  datetime_precision, is_identity, identity_generation, is_generated, generation_expression,
  is_updatable
FROM information_schema.columns WHERE table_schema = 'shop' AND table_name IN ('books', 'authors')
  AND column_name <> 'letters' ORDER BY table_name, ordinal_position;

-- == keys by the information schema
SELECT k.table_name, k.constraint_name, k.column_name, k.position_in_unique_constraint,
  r.unique_constraint_name, r.delete_rule
FROM information_schema.key_column_usage k LEFT JOIN information_schema.referential_constraints r
  USING (constraint_schema, constraint_name)
WHERE k.table_schema = 'shop' ORDER BY 1, 2, k.ordinal_position;

-- == routines by the information schema
SELECT routine_name, routine_type, data_type, external_language, is_deterministic, security_type
  FROM information_schema.routines WHERE routine_schema = 'shop' AND routine_type IS NOT NULL ORDER
  BY 1;

-- == parameters by the information schema
SELECT r.routine_name, p.ordinal_position, p.parameter_mode, p.parameter_name, p.data_type,
  p.parameter_default FROM information_schema.parameters p
  JOIN information_schema.routines r ON r.specific_name = p.specific_name WHERE r.routine_schema =
  'shop' AND routine_name IN ('pairs', 'reset') ORDER BY 1, 2;
