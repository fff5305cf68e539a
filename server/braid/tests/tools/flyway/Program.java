package flyway;

import static support.Support.URL;
import static support.Support.USER;
import static support.Support.connect;
import static support.Support.fails;
import static support.Support.say;
import static support.Support.show;
import static support.Support.step;

import java.sql.Connection;
import java.util.Map;
import java.util.logging.LogManager;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.configuration.FluentConfiguration;

/** Flyway: migrate, info, validate, a failing migration, repair, baseline and clean. */
public final class Program {
    private Program() {}

    public static void main(String[] arguments) throws Exception {
        LogManager.getLogManager().reset();
        Flyway all = flyway("filesystem:migrations");
        try (Connection db = connect()) {
            step("migrate", () -> migrate(all, db));
            step("migrate again", () -> say(all.migrate().migrationsExecuted));
            step("validate", () -> say(all.validateWithResult().validationSuccessful));
            step("a broken migration", () -> broken(db));
            step("repair", () -> repair(all, db));
            step("clean", () -> clean(all, db));
            step("baseline", () -> baseline(db));
            step("several schemas", () -> schemas(db));
        }
    }

    private static Flyway flyway(String... locations) {
        return configuration(locations).load();
    }

    // An index that is made CONCURRENTLY waits for every transaction: so the lock of Flyway is of
    // the session, not of a transaction.
    private static FluentConfiguration configuration(String... locations) {
        return Flyway.configure()
                .dataSource(URL, USER, null)
                .locations(locations)
                .configuration(Map.of("flyway.postgresql.transactional.lock", "false"))
                .cleanDisabled(false);
    }

    private static void info(Flyway all) {
        for (MigrationInfo each : all.info().all()) {
            say(each.getVersion(), each.getDescription(), each.getType(), each.getState());
        }
    }

    private static void migrate(Flyway all, Connection db) throws Exception {
        info(all);
        var result = all.migrate();
        say(result.success, result.migrationsExecuted, result.targetSchemaVersion);
        info(all);
        show(db, "SELECT title, email FROM titles ORDER BY title");
        show(db, "SELECT installed_rank, version, script, success FROM flyway_schema_history ORDER BY 1");
    }

    private static void broken(Connection db) throws Exception {
        Flyway more = flyway("filesystem:migrations", "filesystem:broken");
        fails(more::migrate);
        info(more);
        // The failed migration was one transaction.
        show(db, "SELECT to_regclass('half')");
    }

    private static void repair(Flyway all, Connection db) throws Exception {
        try (var statement = db.createStatement()) {
            statement.execute("UPDATE flyway_schema_history SET checksum = 1 WHERE version = '1'");
        }
        say(all.validateWithResult().validationSuccessful);
        say(all.repair().repairActions.size());
        say(all.validateWithResult().validationSuccessful);
    }

    private static void clean(Flyway all, Connection db) throws Exception {
        var result = all.clean();
        say(result.schemasCleaned, result.schemasDropped);
        show(db, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace");
        show(db, "SELECT typname FROM pg_type WHERE typnamespace = 'public'::regnamespace");
    }

    private static void baseline(Connection db) throws Exception {
        try (var statement = db.createStatement()) {
            statement.execute("CREATE TYPE mood AS ENUM ('ok')");
            statement.execute("CREATE TABLE authors (id int PRIMARY KEY, email text)");
            statement.execute("INSERT INTO authors VALUES (1, 'x')");
        }
        Flyway own =
                configuration("filesystem:migrations").baselineVersion("1").load();
        fails(own::migrate);
        say(own.baseline().successfullyBaselined);
        info(own);
        own.clean();
    }

    private static void schemas(Connection db) throws Exception {
        Flyway own =
                configuration("filesystem:migrations")
                        .schemas("first", "second")
                        .table("history")
                        .load();
        own.migrate();
        show(db, "SELECT schemaname, tablename FROM pg_tables WHERE schemaname = 'first' ORDER BY 2");
        say(own.clean().schemasDropped);
        show(db, "SELECT nspname FROM pg_namespace WHERE nspname IN ('first', 'second')");
    }
}
