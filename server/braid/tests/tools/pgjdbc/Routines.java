package pgjdbc;

import static support.Support.fails;
import static support.Support.rows;
import static support.Support.say;
import static support.Support.show;
import static support.Support.sorted;

import java.math.BigDecimal;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.Arrays;
import support.Support;

/** Calls of functions and procedures by CallableStatement. */
final class Routines {
    private Routines() {}

    private static final String ROUTINES =
            """
            CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n';
            CREATE FUNCTION shout(INOUT line text, times int, OUT length int, OUT price numeric)
              LANGUAGE plpgsql AS $$
            BEGIN
              line := upper(repeat(line, times));
              length := length(line);
              price := 1.25 * times;
            END
            $$;
            CREATE FUNCTION nothing() RETURNS void LANGUAGE sql AS 'SELECT 1';
            CREATE FUNCTION opened(low int) RETURNS refcursor LANGUAGE plpgsql AS $$
            DECLARE
              found refcursor := 'found';
            BEGIN
              OPEN found FOR SELECT n, 'row ' || n FROM generate_series(low, 4) AS n;
              RETURN found;
            END
            $$;
            CREATE FUNCTION several() RETURNS SETOF int LANGUAGE sql AS 'VALUES (1), (2)';
            CREATE FUNCTION sums(numbers int[]) RETURNS bigint[] LANGUAGE sql
              AS 'SELECT array_agg(s) FROM (SELECT sum(x) OVER (ORDER BY o) AS s
                    FROM unnest(numbers) WITH ORDINALITY AS u (x, o)) AS t';
            CREATE PROCEDURE move(step int, INOUT place int, INOUT note text DEFAULT 'none')
              LANGUAGE plpgsql AS $$
            BEGIN
              IF step = 0 THEN
                RAISE EXCEPTION 'no step' USING ERRCODE = 'P0009', HINT = 'Give a number.';
              END IF;
              place := place + step;
              note := note || ' moved';
            END
            $$;
            CREATE TABLE steps (n int);
            CREATE PROCEDURE fill(count int) LANGUAGE plpgsql AS $$
            BEGIN
              FOR i IN 1..count LOOP
                INSERT INTO steps VALUES (i);
                IF i % 2 = 0 THEN
                  COMMIT;
                ELSE
                  ROLLBACK;
                END IF;
              END LOOP;
            END
            $$;
            """;

    static void functions(Connection db) throws SQLException {
        try (Statement statement = db.createStatement()) {
            statement.execute(ROUTINES);
        }
        try (CallableStatement call = db.prepareCall("{? = call twice(?)}")) {
            call.registerOutParameter(1, Types.INTEGER);
            for (int n = 1; n <= 7; n++) {
                call.setInt(2, n);
                call.execute();
                say(call.getInt(1));
            }
            call.setNull(2, Types.INTEGER);
            call.execute();
            say(call.getInt(1), call.wasNull());
        }
        try (CallableStatement call = db.prepareCall("{call shout(?, ?, ?, ?)}")) {
            call.setString(1, "ab");
            call.setInt(2, 3);
            call.registerOutParameter(1, Types.VARCHAR);
            call.registerOutParameter(3, Types.INTEGER);
            call.registerOutParameter(4, Types.NUMERIC);
            call.execute();
            BigDecimal price = call.getBigDecimal(4);
            say(call.getString(1), call.getInt(3), price.equals(new BigDecimal("3.75")));
            say(call.getObject(3).getClass().getSimpleName());
        }
        try (CallableStatement call = db.prepareCall("{? = call nothing()}")) {
            call.registerOutParameter(1, Types.OTHER);
            say(call.execute());
        }
        try (CallableStatement call = db.prepareCall("{call nothing()}")) {
            say(call.execute());
        }
        try (CallableStatement call = db.prepareCall("{call several()}")) {
            rows(call.executeQuery());
        }
        try (CallableStatement call = db.prepareCall("{? = call sums(?)}")) {
            call.registerOutParameter(1, Types.ARRAY);
            call.setArray(2, db.createArrayOf("int4", new Integer[] {1, 2, 3}));
            call.execute();
            say(Arrays.toString((Object[]) call.getArray(1).getArray()));
        }
    }

    /** A cursor of a function lives as long as its transaction. */
    static void cursors(Connection db) throws SQLException {
        db.setAutoCommit(false);
        try (CallableStatement call = db.prepareCall("{? = call opened(?)}")) {
            call.registerOutParameter(1, Types.REF_CURSOR);
            call.setInt(2, 2);
            call.execute();
            rows((ResultSet) call.getObject(1));
        }
        db.commit();
        db.setAutoCommit(true);
    }

    static void procedures(Connection db) throws SQLException {
        try (CallableStatement call = db.prepareCall("call move(?, ?, ?)")) {
            for (int step = 1; step <= 6; step++) {
                call.setInt(1, step);
                call.setInt(2, 10);
                call.setString(3, "it");
                call.registerOutParameter(2, Types.INTEGER);
                call.registerOutParameter(3, Types.VARCHAR);
                call.execute();
                say(call.getInt(2), call.getString(3));
            }
            call.setInt(1, 0);
            fails(call::execute);
        }
    }

    static void commits(Connection db) throws SQLException {
        try (CallableStatement call = db.prepareCall("call fill(?)")) {
            call.setInt(1, 5);
            fails(() -> inTransaction(db, call));
            call.execute();
        }
        show(db, "SELECT n FROM steps ORDER BY n");
    }

    // A procedure that commits needs a CALL outside a transaction.
    private static void inTransaction(Connection db, CallableStatement call) throws SQLException {
        db.setAutoCommit(false);
        try {
            call.execute();
        } finally {
            db.rollback();
            db.setAutoCommit(true);
        }
    }

    static void errors(Connection db) {
        fails(() -> db.prepareCall("{? = call nowhere(?)}").execute());
        fails(
                () -> {
                    try (CallableStatement call = db.prepareCall("{? = call twice(?)}")) {
                        call.registerOutParameter(1, Types.VARCHAR);
                        call.setInt(2, 1);
                        call.execute();
                    }
                });
        fails(() -> Support.show(db, "CALL twice(1)"));
        fails(() -> Support.show(db, "SELECT move(1, 2)"));
    }

    static void metadata(Connection db) throws SQLException {
        DatabaseMetaData data = db.getMetaData();
        for (ResultSet found :
                new ResultSet[] {
                    data.getFunctions(null, "public", "shout"),
                    data.getProcedures(null, "public", "m%")
                }) {
            while (found.next()) {
                say(found.getString(2), found.getString(3), found.getString(4));
            }
        }
        for (ResultSet found :
                new ResultSet[] {
                    data.getFunctionColumns(null, "public", "shout", "%"),
                    data.getProcedureColumns(null, "public", "move", "%")
                }) {
            while (found.next()) {
                say(
                        found.getString("COLUMN_NAME"),
                        found.getInt("COLUMN_TYPE"),
                        found.getInt("DATA_TYPE"),
                        found.getString("TYPE_NAME"),
                        found.getInt("ORDINAL_POSITION"));
            }
        }
        sorted(data.getFunctions(null, "nowhere", "%"));
    }
}
