package support;

import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * What the Java programs share: where the database is, and how a step prints its results.
 *
 * <p>A program is a list of steps. A step prints {@code == name}, then its lines. A step that throws
 * prints the error and the program goes on, so that one run shows everything that differs.
 */
public final class Support {
    private Support() {}

    private static final URI ADDRESS = URI.create(System.getenv("DATABASE_URL"));

    /** The user of the database of this run. */
    public static final String USER = ADDRESS.getUserInfo();

    /** The JDBC address of the database of this run; each program has an empty one of its own. */
    public static final String URL =
            "jdbc:postgresql://" + ADDRESS.getHost() + ":" + ADDRESS.getPort() + ADDRESS.getPath();

    /** A piece of work that may throw. */
    public interface Work {
        void run() throws Exception;
    }

    /** Opens a connection with these names and values as properties. */
    public static Connection connect(String... properties) throws SQLException {
        Properties all = new Properties();
        all.setProperty("user", USER);
        for (int i = 0; i < properties.length; i += 2) {
            all.setProperty(properties[i], properties[i + 1]);
        }
        return DriverManager.getConnection(URL, all);
    }

    /** Prints one line. */
    public static void say(Object... values) {
        List<String> texts = new ArrayList<>();
        for (Object value : values) {
            texts.add(String.valueOf(value));
        }
        System.out.println(String.join(" ", texts));
    }

    /** Prints all rows of a result; its columns by their texts. */
    public static void rows(ResultSet result) throws SQLException {
        List<String> lines = lines(result);
        lines.forEach(Support::say);
        say("(" + lines.size() + " rows)");
    }

    /** Prints all rows in the order of their texts. */
    public static void sorted(ResultSet result) throws SQLException {
        List<String> lines = lines(result);
        Collections.sort(lines);
        lines.forEach(Support::say);
        say("(" + lines.size() + " rows)");
    }

    private static List<String> lines(ResultSet result) throws SQLException {
        ResultSetMetaData columns = result.getMetaData();
        List<String> lines = new ArrayList<>();
        while (result.next()) {
            List<String> values = new ArrayList<>();
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                values.add(result.getString(i));
            }
            lines.add(String.join(" | ", values.stream().map(String::valueOf).toList()));
        }
        result.close();
        return lines;
    }

    /** Prints the rows of a query. */
    public static void show(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            rows(statement.executeQuery(sql));
        }
    }

    /** Runs one step. An error becomes a line of the output. */
    public static void step(String name, Work work) {
        say("==", name);
        try {
            work.run();
        } catch (Exception error) {
            say("error", describe(error));
        }
    }

    /** Expects that the work fails, and prints how. */
    public static void fails(Work work) {
        try {
            work.run();
            say("no error, although one was expected");
        } catch (Exception error) {
            say("fails with", describe(error));
        }
    }

    private static String describe(Throwable error) {
        for (Throwable inner = error; inner != null; inner = inner.getCause()) {
            if (inner instanceof PSQLException ours && ours.getServerErrorMessage() != null) {
                ServerErrorMessage server = ours.getServerErrorMessage();
                String constraint =
                        server.getConstraint() == null ? "" : " [" + server.getConstraint() + "]";
                return server.getSQLState() + " " + server.getMessage() + constraint;
            }
        }
        String message = String.valueOf(error.getMessage());
        return error.getClass().getSimpleName() + ": " + message.split("\n")[0];
    }
}
