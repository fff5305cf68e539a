package pgjdbc;

import static support.Support.connect;
import static support.Support.fails;
import static support.Support.rows;
import static support.Support.say;
import static support.Support.show;
import static support.Support.sorted;
import static support.Support.step;

import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.util.PGobject;

/** pgjdbc: batches, generated keys, cursors, arrays, savepoints, COPY, what DatabaseMetaData finds. */
public final class Program {
    private Program() {}

    private static Connection db;

    public static void main(String[] arguments) throws Exception {
        db = connect();
        step("schema", Program::schema);
        step("insert and types", Program::insertAndTypes);
        step("arrays and objects", Program::arrays);
        step("generated keys", Program::generatedKeys);
        step("batches", Program::batches);
        step("rewritten batches", Program::rewrittenBatches);
        step("a cursor of some rows", Program::cursor);
        step("scrollable and updatable", Program::updatable);
        step("server-side prepared", Program::prepared);
        step("upsert", Program::upsert);
        step("savepoints", Program::savepoints);
        step("autosave", Program::autosave);
        step("read-only and isolation", Program::readOnly);
        step("copy and notifications", Program::copy);
        step("errors", Program::errors);
        step("tables of the metadata", Program::tables);
        step("columns of the metadata", Program::columns);
        step("keys and indexes of the metadata", Program::keys);
        step("other metadata", Program::otherMetadata);
        step("metadata of results and parameters", Program::resultMetadata);
        step("statement timeout", Program::timeout);
        step("functions by prepareCall", () -> Routines.functions(db));
        step("cursors of functions", () -> Routines.cursors(db));
        step("procedures by prepareCall", () -> Routines.procedures(db));
        step("procedures that commit", () -> Routines.commits(db));
        step("errors of calls", () -> Routines.errors(db));
        step("metadata of routines", () -> Routines.metadata(db));
        step("large objects", () -> LargeObjects.manager(db));
        step("streams of large objects", () -> LargeObjects.streams(db));
        step("pages of large objects", () -> LargeObjects.catalog(db));
        step("blobs and clobs", () -> LargeObjects.blobs(db));
        step("large objects of two sessions", () -> LargeObjects.isolation(db));
        db.close();
    }

    private static void exec(String sql) throws SQLException {
        try (Statement statement = db.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void schema() throws SQLException {
        exec(
                """
                CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
                CREATE TABLE authors (
                  id serial PRIMARY KEY,
                  uid uuid NOT NULL DEFAULT gen_random_uuid(),
                  email text NOT NULL,
                  feels mood NOT NULL DEFAULT 'ok',
                  meta jsonb NOT NULL DEFAULT '{}',
                  tags text[] NOT NULL DEFAULT '{}',
                  born date,
                  created_at timestamptz NOT NULL DEFAULT now()
                );
                CREATE UNIQUE INDEX authors_email ON authors (lower(email));
                CREATE TABLE books (
                  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                  author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
                  title varchar(100) NOT NULL,
                  price numeric(10, 2) CHECK (price >= 0),
                  UNIQUE (author_id, title)
                );
                CREATE INDEX books_price ON books (price DESC) WHERE price > 10;
                CREATE VIEW titles AS SELECT title, email FROM books JOIN authors ON authors.id = author_id;
                COMMENT ON TABLE books IS 'what they wrote';
                COMMENT ON COLUMN books.price IS 'in euros';
                """);
    }

    private static void insertAndTypes() throws SQLException {
        String sql =
                """
                INSERT INTO authors (uid, email, feels, meta, tags, born, created_at)
                VALUES (?, ?, ?::mood, ?::jsonb, ?, ?, ?)
                """;
        try (PreparedStatement insert = db.prepareStatement(sql)) {
            insert.setObject(1, UUID.fromString("00000000-0000-4000-8000-000000000001"));
            insert.setString(2, "Ann@example.org");
            insert.setString(3, "happy");
            insert.setString(4, "{\"a\": [1, null]}");
            insert.setArray(5, db.createArrayOf("text", new String[] {"x", "y \"z\""}));
            insert.setObject(6, LocalDate.of(1970, 1, 2));
            insert.setObject(7, OffsetDateTime.of(1970, 1, 1, 0, 0, 0, 1000, ZoneOffset.UTC));
            say(insert.executeUpdate());
        }
        try (Statement statement = db.createStatement();
                ResultSet row = statement.executeQuery("SELECT * FROM authors")) {
            row.next();
            say(row.getObject("uid", UUID.class), row.getObject("feels"), row.getObject("meta"));
            say(row.getObject("born", LocalDate.class));
            say(row.getObject("created_at", OffsetDateTime.class));
            say(Arrays.toString((String[]) row.getArray("tags").getArray()));
        }
    }

    private static void arrays() throws SQLException {
        String sql = "SELECT ?::int8[], ?::int4[], ?::jsonb, ?::numeric, ?::bytea, ?::bool, ?::text";
        try (PreparedStatement query = db.prepareStatement(sql)) {
            query.setArray(1, db.createArrayOf("int8", new Long[] {1L, null, 3L}));
            query.setArray(2, db.createArrayOf("int4", new Integer[][] {{1, 2}, {3, 4}}));
            PGobject json = new PGobject();
            json.setType("jsonb");
            json.setValue("{\"b\": 1}");
            query.setObject(3, json);
            query.setBigDecimal(4, new BigDecimal("-12.340"));
            query.setBytes(5, new byte[] {0, -1});
            query.setBoolean(6, true);
            query.setNull(7, Types.VARCHAR);
            ResultSet row = query.executeQuery();
            row.next();
            say(Arrays.toString((Object[]) row.getArray(1).getArray()));
            say(Arrays.deepToString((Object[]) row.getArray(2).getArray()));
            say(row.getObject(3), row.getBigDecimal(4), Arrays.toString(row.getBytes(5)));
            say(row.getBoolean(6), row.getString(7), row.wasNull());
        }
        try (PreparedStatement query =
                db.prepareStatement("SELECT id FROM authors WHERE email = ANY (?)")) {
            query.setArray(1, db.createArrayOf("text", new String[] {"Ann@example.org", "x"}));
            rows(query.executeQuery());
        }
    }

    private static void generatedKeys() throws SQLException {
        String sql = "INSERT INTO books (author_id, title, price) VALUES (1, ?, 1.5)";
        try (PreparedStatement insert =
                db.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            insert.setString(1, "one");
            insert.executeUpdate();
            rows(insert.getGeneratedKeys());
        }
        try (PreparedStatement insert = db.prepareStatement(sql, new String[] {"id", "title"})) {
            insert.setString(1, "two");
            insert.addBatch();
            insert.setString(1, "three");
            insert.addBatch();
            say(Arrays.toString(insert.executeBatch()));
            rows(insert.getGeneratedKeys());
        }
    }

    private static void batches() throws SQLException {
        db.setAutoCommit(false);
        String sql = "INSERT INTO books (author_id, title, price) VALUES (?, ?, ?)";
        try (PreparedStatement insert = db.prepareStatement(sql)) {
            for (int n = 1; n <= 20; n++) {
                insert.setInt(1, 1);
                insert.setString(2, "book " + n);
                insert.setBigDecimal(3, new BigDecimal(n));
                insert.addBatch();
            }
            say(Arrays.toString(insert.executeBatch()));
            db.commit();
            insert.setInt(1, 1);
            insert.setString(2, "book 21");
            insert.setNull(3, Types.NUMERIC);
            insert.addBatch();
            insert.setInt(1, 99);
            insert.addBatch();
            fails(insert::executeBatch);
            db.rollback();
        }
        try (Statement several = db.createStatement()) {
            several.addBatch("UPDATE books SET price = price + 1 WHERE id < 3");
            several.addBatch("DELETE FROM books WHERE title = 'book 20'");
            say(Arrays.toString(several.executeBatch()));
        }
        db.commit();
        db.setAutoCommit(true);
        show(db, "SELECT count(*), sum(price) FROM books");
    }

    private static void rewrittenBatches() throws SQLException {
        try (Connection own = connect("reWriteBatchedInserts", "true");
                PreparedStatement insert =
                        own.prepareStatement(
                                "INSERT INTO books (author_id, title, price) VALUES (1, ?, ?)")) {
            for (int n = 1; n <= 200; n++) {
                insert.setString(1, "bulk " + n);
                insert.setInt(2, n);
                insert.addBatch();
            }
            say(Arrays.stream(insert.executeBatch()).distinct().boxed().toList());
            show(own, "SELECT count(*) FROM books WHERE title LIKE 'bulk%'");
            own.createStatement().executeUpdate("DELETE FROM books WHERE title LIKE 'bulk%'");
        }
    }

    private static void cursor() throws SQLException {
        db.setAutoCommit(false);
        try (Statement statement = db.createStatement()) {
            statement.setFetchSize(4);
            ResultSet rows = statement.executeQuery("SELECT id FROM books ORDER BY id");
            long sum = 0;
            int count = 0;
            while (rows.next()) {
                sum += rows.getLong(1);
                if (++count == 9) {
                    show(db, "SELECT 'between'");
                }
            }
            say(sum > 0, count);
        }
        db.commit();
        db.setAutoCommit(true);
        try (PreparedStatement limited = db.prepareStatement("SELECT id FROM books ORDER BY id")) {
            limited.setMaxRows(2);
            rows(limited.executeQuery());
        }
    }

    private static void updatable() throws SQLException {
        try (Statement statement =
                        db.createStatement(
                                ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                ResultSet rows =
                        statement.executeQuery("SELECT id, title, price FROM books ORDER BY id")) {
            rows.last();
            say(rows.getRow());
            rows.absolute(2);
            rows.updateBigDecimal("price", new BigDecimal("7.25"));
            rows.updateRow();
            rows.previous();
            rows.deleteRow();
        }
        show(db, "SELECT title, price FROM books ORDER BY id LIMIT 2");
    }

    private static void prepared() throws SQLException {
        String sql = "SELECT * FROM books WHERE title = ?";
        try (PreparedStatement query = db.prepareStatement(sql)) {
            query.unwrap(org.postgresql.PGStatement.class).setPrepareThreshold(2);
            for (int n = 1; n <= 8; n++) {
                if (n == 6) {
                    exec("ALTER TABLE books ADD COLUMN pages int NOT NULL DEFAULT 7");
                }
                query.setString(1, "book " + n);
                rows(query.executeQuery());
            }
        }
    }

    private static void upsert() throws SQLException {
        String sql =
                """
                INSERT INTO authors (email, meta) VALUES (?, ?::jsonb)
                ON CONFLICT (lower(email)) DO UPDATE SET meta = authors.meta || excluded.meta
                RETURNING email, meta, xmax = 0
                """;
        try (PreparedStatement insert = db.prepareStatement(sql)) {
            for (int n = 1; n <= 2; n++) {
                insert.setString(1, "bob@example.org");
                insert.setString(2, "{\"n" + n + "\": 1}");
                rows(insert.executeQuery());
            }
        }
    }

    private static void savepoints() throws SQLException {
        db.setAutoCommit(false);
        exec("UPDATE authors SET tags = '{kept}' WHERE id = 1");
        Savepoint named = db.setSavepoint("here");
        fails(() -> exec("SELECT * FROM nowhere"));
        fails(() -> exec("SELECT 1"));
        db.rollback(named);
        Savepoint unnamed = db.setSavepoint();
        exec("DELETE FROM authors");
        db.rollback(unnamed);
        db.releaseSavepoint(named);
        db.commit();
        db.setAutoCommit(true);
        show(db, "SELECT id, tags FROM authors ORDER BY id");
    }

    // The driver sets a savepoint before each statement, and goes back to it after an error.
    private static void autosave() throws SQLException {
        try (Connection own = connect("autosave", "always", "cleanupSavepoints", "true")) {
            own.setAutoCommit(false);
            try (Statement statement = own.createStatement()) {
                statement.executeUpdate("UPDATE authors SET tags = '{saved}' WHERE id = 1");
                fails(() -> statement.execute("SELECT * FROM nowhere"));
                show(own, "SELECT tags FROM authors WHERE id = 1");
            }
            own.commit();
        }
    }

    private static void readOnly() throws SQLException {
        try (Connection own = connect()) {
            own.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            own.setReadOnly(true);
            own.setAutoCommit(false);
            fails(() -> own.createStatement().executeUpdate("DELETE FROM authors"));
            own.rollback();
            say(own.getTransactionIsolation(), own.getSchema(), own.isValid(5));
            own.setSchema("pg_catalog");
            show(own, "SHOW search_path");
            own.rollback();
            own.setClientInfo("ApplicationName", "tools");
            show(own, "SHOW application_name");
        }
    }

    private static void copy() throws Exception {
        PGConnection own = db.unwrap(PGConnection.class);
        long rows =
                own.getCopyAPI()
                        .copyIn(
                                "COPY books (author_id, title, price) FROM STDIN (FORMAT csv)",
                                new StringReader("1,\"from, csv\",3\n1,another,\n"));
        say(rows);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        own.getCopyAPI()
                .copyOut("COPY (SELECT title, price FROM books ORDER BY id DESC LIMIT 2) TO STDOUT", out);
        say(out.toString().trim());
        exec("LISTEN news");
        exec("NOTIFY news, 'hello'");
        var heard = own.getNotifications(5000);
        say(heard.length, heard[0].getName(), heard[0].getParameter());
    }

    private static void errors() throws SQLException {
        fails(() -> exec("SELECT * FROM nowhere"));
        fails(() -> exec("SELEC 1"));
        fails(() -> exec("INSERT INTO authors (email) VALUES ('ANN@EXAMPLE.ORG')"));
        fails(() -> exec("INSERT INTO books (author_id, title) VALUES (99, 'x')"));
        fails(() -> exec("UPDATE books SET price = -1"));
        fails(() -> exec("UPDATE authors SET email = NULL"));
        fails(() -> exec("SELECT 'x'::int"));
        fails(() -> exec("INSERT INTO authors (email, feels) VALUES ('x', 'angry')"));
        show(db, "SELECT 1");
    }

    private static void tables() throws SQLException {
        DatabaseMetaData data = db.getMetaData();
        String[] shown = {"TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS"};
        named(data.getTables(null, "public", "%", null), shown);
        named(data.getTables(null, "public", "books", new String[] {"TABLE"}), shown);
        rows(data.getTableTypes());
        say(data.getDatabaseProductName(), data.getMaxColumnNameLength());
        sorted(data.getTablePrivileges(null, "public", "nowhere"));
    }

    // Not the first column, which is the name of the database.
    private static void columns() throws SQLException {
        try (ResultSet all = db.getMetaData().getColumns(null, "public", "%", "%")) {
            while (all.next()) {
                say(
                        all.getString("TABLE_NAME"),
                        all.getString("COLUMN_NAME"),
                        all.getInt("DATA_TYPE"),
                        all.getString("TYPE_NAME"),
                        all.getInt("COLUMN_SIZE"),
                        all.getInt("DECIMAL_DIGITS"),
                        all.getString("IS_NULLABLE"),
                        all.getString("COLUMN_DEF"),
                        all.getString("IS_AUTOINCREMENT"),
                        all.getString("REMARKS"));
            }
        }
    }

    private static void keys() throws SQLException {
        DatabaseMetaData data = db.getMetaData();
        rowsFrom(data.getPrimaryKeys(null, "public", "books"), 2);
        rowsFrom(data.getImportedKeys(null, "public", "books"), 2);
        rowsFrom(data.getExportedKeys(null, "public", "authors"), 2);
        rowsFrom(data.getCrossReference(null, null, "authors", null, null, "books"), 2);
        rowsFrom(data.getBestRowIdentifier(null, "public", "books", 0, true), 1);
        for (String table : new String[] {"authors", "books"}) {
            try (ResultSet all = data.getIndexInfo(null, "public", table, false, true)) {
                while (all.next()) {
                    say(
                            all.getBoolean("NON_UNIQUE"),
                            all.getString("INDEX_NAME"),
                            all.getInt("ORDINAL_POSITION"),
                            all.getString("COLUMN_NAME"),
                            all.getString("ASC_OR_DESC"),
                            all.getString("FILTER_CONDITION"));
                }
            }
        }
    }

    // Prints the rows from this column on: the first is the name of the database in some results.
    private static void rowsFrom(ResultSet result, int first) throws SQLException {
        ResultSetMetaData columns = result.getMetaData();
        while (result.next()) {
            StringBuilder line = new StringBuilder();
            for (int i = first; i <= columns.getColumnCount(); i++) {
                String name = columns.getColumnName(i);
                if (!name.endsWith("_CAT")) {
                    line.append(result.getString(i)).append(" | ");
                }
            }
            say(line.toString().trim());
        }
        result.close();
    }

    private static void otherMetadata() throws SQLException {
        DatabaseMetaData data = db.getMetaData();
        try (ResultSet all = data.getSchemas(null, "pub%")) {
            all.next();
            say(all.getString(1));
        }
        named(data.getUDTs(null, "public", "%", null), "TYPE_NAME", "DATA_TYPE");
        named(data.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
        named(data.getFunctions(null, "public", "%"), "FUNCTION_NAME");
        rows(data.getClientInfoProperties());
        say(data.getSQLKeywords().length() > 100);
        try (ResultSet types = data.getTypeInfo()) {
            int count = 0;
            while (types.next()) {
                if (types.getString(1).matches("int4|text|mood|uuid|serial|numeric|timestamptz")) {
                    count++;
                }
            }
            say(count);
        }
    }

    private static void named(ResultSet result, String... names) throws SQLException {
        java.util.TreeSet<String> lines = new java.util.TreeSet<>();
        while (result.next()) {
            StringBuilder line = new StringBuilder();
            for (String name : names) {
                line.append(result.getString(name)).append(' ');
            }
            lines.add(line.toString().trim());
        }
        result.close();
        lines.forEach(line -> say(line));
    }

    private static void resultMetadata() throws SQLException {
        String sql =
                "SELECT b.*, a.feels, a.tags AS marks, 1 + b.id AS next FROM books AS b"
                        + " JOIN authors AS a ON a.id = b.author_id WHERE b.id = ? AND a.feels = ?::mood";
        try (PreparedStatement query = db.prepareStatement(sql)) {
            ResultSetMetaData data = query.getMetaData();
            for (int i = 1; i <= data.getColumnCount(); i++) {
                say(
                        data.getColumnLabel(i),
                        data.getColumnName(i),
                        data.getTableName(i),
                        data.getSchemaName(i),
                        data.getColumnTypeName(i),
                        data.getColumnType(i),
                        data.getPrecision(i),
                        data.getScale(i),
                        data.isNullable(i),
                        data.isAutoIncrement(i),
                        data.getColumnClassName(i));
            }
            var parameters = query.getParameterMetaData();
            for (int i = 1; i <= parameters.getParameterCount(); i++) {
                say(parameters.getParameterTypeName(i), parameters.getParameterClassName(i));
            }
        }
    }

    private static void timeout() throws SQLException {
        try (Statement statement = db.createStatement()) {
            statement.setQueryTimeout(1);
            fails(() -> statement.execute("SELECT pg_sleep(30)"));
        }
        show(db, "SELECT 1");
    }
}
