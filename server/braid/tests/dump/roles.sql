-- The roles of schema.sql, with what pg_dumpall writes of them.
CREATE ROLE dump_owner;
CREATE ROLE dump_reader WITH LOGIN CONNECTION LIMIT 7 VALID UNTIL '2031-01-02 03:04:05+00';
CREATE ROLE dump_writer WITH NOLOGIN CREATEDB CREATEROLE;
GRANT dump_reader TO dump_writer WITH ADMIN OPTION;
ALTER ROLE dump_reader SET statement_timeout = '5s';
ALTER ROLE dump_reader SET search_path = shop, public;
COMMENT ON ROLE dump_reader IS 'may look';
