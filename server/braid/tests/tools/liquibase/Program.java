package liquibase;

import static support.Support.connect;
import static support.Support.fails;
import static support.Support.say;
import static support.Support.show;
import static support.Support.step;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.Map;
import java.util.TreeSet;
import java.util.logging.LogManager;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.diff.DiffResult;
import liquibase.diff.compare.CompareControl;
import liquibase.diff.output.DiffOutputControl;
import liquibase.diff.output.changelog.DiffToChangeLog;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.DatabaseSnapshot;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.ui.LoggerUIService;

/** Liquibase: update, status, rollback, tags, a snapshot as a changelog, diff, drop all. */
public final class Program {
    private Program() {}

    private static Connection db;

    public static void main(String[] arguments) throws Exception {
        LogManager.getLogManager().reset();
        Scope.enter(Map.of(Scope.Attr.ui.name(), new LoggerUIService()));
        db = connect();
        // Liquibase closes the connection that it has been given.
        try (Liquibase all = open("changelog.xml")) {
            step("status and update", () -> update(all));
            step("update again", () -> again(all));
            step("changelog of what is there", () -> generate(all.getDatabase()));
            step("rollback", () -> rollback(all));
            step("diff", () -> diff(all));
            step("drop all", () -> dropAll(all));
        }
        try (Liquibase wrong = open("broken.xml")) {
            step("a broken change", () -> broken(wrong));
        }
        db.close();
    }

    private static Liquibase open(String file) throws Exception {
        Database database =
                DatabaseFactory.getInstance()
                        .findCorrectDatabaseImplementation(new JdbcConnection(connect()));
        return new Liquibase(file, new DirectoryResourceAccessor(Path.of(".")), database);
    }

    private static void tables() throws Exception {
        show(db, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
    }

    private static void update(Liquibase all) throws Exception {
        say(all.listUnrunChangeSets(new Contexts(), new LabelExpression()).size());
        all.update(2, "");
        all.tag("books");
        all.update(new Contexts());
        all.tag("first");
        tables();
        show(db, "SELECT id, orderexecuted, exectype, tag FROM databasechangelog ORDER BY 2");
        show(db, "SELECT id, locked FROM databasechangeloglock");
        show(db, "INSERT INTO books (author_id, title) VALUES (1, 'x') RETURNING id, price, page_count");
    }

    private static void again(Liquibase all) throws Exception {
        all.update(new Contexts());
        say(all.listUnrunChangeSets(new Contexts(), new LabelExpression()).size());
        all.validate();
        all.clearCheckSums();
        all.update(new Contexts());
    }

    private static void generate(Database database) throws Exception {
        DatabaseSnapshot snapshot =
                SnapshotGeneratorFactory.getInstance()
                        .createSnapshot(
                                database.getDefaultSchema(), database, new SnapshotControl(database));
        DiffResult missing =
                liquibase.diff.DiffGeneratorFactory.getInstance()
                        .compare(snapshot, null, new CompareControl());
        DiffToChangeLog changes = new DiffToChangeLog(missing, new DiffOutputControl());
        changes.setChangeSetAuthor("ann");
        changes.setIdRoot("1");
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        changes.print(new PrintStream(out));
        // The name of the database is left out. The order of the changes is that of unordered rows.
        out.toString()
                .lines()
                .filter(line -> !line.matches(".*(databaseChangeLog|hangeSet|<.xml).*"))
                .map(line -> line.replaceAll("(c|C|[a-z]+TableC)atalogName=\"\\w+\" ", ""))
                .sorted()
                .forEach(line -> say(line));
    }

    private static void rollback(Liquibase all) throws Exception {
        all.rollback(2, new Contexts(), new LabelExpression());
        show(db, "SELECT id FROM databasechangelog ORDER BY orderexecuted");
        show(db, "SELECT indexname FROM pg_indexes WHERE tablename = 'authors' ORDER BY 1");
        all.update(new Contexts());
        all.rollback("books", new Contexts());
        show(db, "SELECT id FROM databasechangelog ORDER BY orderexecuted");
    }

    private static void diff(Liquibase all) throws Exception {
        try (Connection other = connect()) {
            other.createStatement()
                    .execute(
                            """
                            CREATE SCHEMA other;
                            CREATE TABLE other.authors (id bigint PRIMARY KEY, email varchar(10), x int);
                            CREATE TABLE other.extra (id int);
                            """);
            other.setSchema("other");
            Database changed =
                    DatabaseFactory.getInstance()
                            .findCorrectDatabaseImplementation(new JdbcConnection(other));
            changed.setDefaultSchemaName("other");
            DiffResult result = all.diff(all.getDatabase(), changed, new CompareControl());
            TreeSet<String> lines = new TreeSet<>();
            result.getMissingObjects().forEach(each -> lines.add("missing " + name(each)));
            result.getUnexpectedObjects().forEach(each -> lines.add("unexpected " + name(each)));
            result.getChangedObjects()
                    .forEach((each, how) -> how.getDifferences().forEach(
                            one -> lines.add("changed " + name(each) + " " + one)));
            lines.forEach(line -> say(line));
        }
    }

    private static String name(liquibase.structure.DatabaseObject each) {
        return each.getObjectTypeName() + " " + each.getName();
    }

    private static void dropAll(Liquibase all) throws Exception {
        all.dropAll();
        tables();
        db.createStatement().execute("DROP TYPE IF EXISTS mood");
    }

    private static void broken(Liquibase wrong) throws Exception {
        fails(() -> wrong.update(new Contexts()));
        tables();
        show(db, "SELECT locked FROM databasechangeloglock");
    }
}
