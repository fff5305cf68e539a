package hibernate;

import static support.Support.URL;
import static support.Support.USER;
import static support.Support.connect;
import static support.Support.fails;
import static support.Support.say;
import static support.Support.show;
import static support.Support.step;

import hibernate.Model.Author;
import hibernate.Model.Book;
import hibernate.Model.Mood;
import hibernate.Model.Scan;
import jakarta.persistence.LockModeType;
import java.math.BigDecimal;
import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.logging.LogManager;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Hibernate: schema update and validate, relations, enums, upsert, pages, locks, batches. */
public final class Program {
    private Program() {}

    private static Connection db;
    private static SessionFactory factory;

    public static void main(String[] arguments) throws Exception {
        LogManager.getLogManager().reset();
        db = connect();
        step("update creates the schema", () -> schema("update"));
        step("update finds nothing to do", () -> schema("update"));
        step("validate", () -> schema("validate"));
        step("a missing column", Program::missingColumn);
        factory = factory("validate");
        step("insert with relations", Program::insert);
        step("queries", Program::queries);
        step("pages and batches", Program::pages);
        step("criteria and joins", Program::joins);
        step("merge of a stateless session", Program::merge);
        step("insert on conflict", Program::upsert);
        step("optimistic and row locks", Program::locks);
        step("transactions", Program::transactions);
        step("errors", Program::errors);
        step("large objects", Program::largeObjects);
        factory.close();
        step("drop", () -> drop());
        db.close();
    }

    private static SessionFactory factory(String schema) {
        return new Configuration()
                .setProperty("hibernate.connection.url", URL)
                .setProperty("hibernate.connection.username", USER)
                .setProperty("hibernate.hbm2ddl.auto", schema)
                .setProperty("hibernate.jdbc.batch_size", "10")
                .setProperty("hibernate.order_inserts", "true")
                .setProperty("hibernate.jdbc.time_zone", "UTC")
                .addAnnotatedClass(Author.class)
                .addAnnotatedClass(Book.class)
                .addAnnotatedClass(Scan.class)
                .buildSessionFactory();
    }

    private static void schema(String how) throws Exception {
        factory(how).close();
        show(
                db,
                """
                SELECT table_name, column_name, data_type, udt_name, is_nullable, is_identity
                FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2
                """);
        show(
                db,
                """
                SELECT conrelid::regclass, contype, pg_get_constraintdef(oid) FROM pg_constraint
                WHERE connamespace = 'public'::regnamespace ORDER BY conrelid::regclass::text, 2, 3
                """);
        show(db, "SELECT relname, relkind FROM pg_class WHERE relkind = 'S' ORDER BY 1");
    }

    private static void missingColumn() throws Exception {
        try (var statement = db.createStatement()) {
            statement.execute("ALTER TABLE book RENAME COLUMN price TO cost");
            fails(() -> factory("validate").close());
            statement.execute("ALTER TABLE book RENAME COLUMN cost TO price");
        }
    }

    private static void insert() {
        factory.inTransaction(
                session -> {
                    Author ann = new Author("ann@example.org", Mood.HAPPY);
                    ann.tags = List.of("x", "y \"z\"");
                    ann.meta = "{\"a\": [1, null]}";
                    ann.created = Instant.ofEpochSecond(0, 1000);
                    ann.uid = new UUID(0, 1);
                    for (int n = 1; n <= 25; n++) {
                        ann.books.add(new Book(ann, "book " + n, new BigDecimal(n)));
                    }
                    session.persist(ann);
                    session.persist(new Author("bob@example.org", Mood.SAD));
                });
        Author found =
                factory.fromTransaction(
                        session -> {
                            Author ann = session.find(Author.class, 1L);
                            say(ann.books.size());
                            return ann;
                        });
        say(found.uid, found.email, found.feels, found.tags, found.meta, found.created);
    }

    private static void queries() {
        factory.inTransaction(
                session -> {
                    say(
                            session.createQuery(
                                            "select b.title from Book b where b.price > :least"
                                                    + " and b.author.email like 'ann%' order by b.id",
                                            String.class)
                                    .setParameter("least", new BigDecimal("22.5"))
                                    .getResultList());
                    say(
                            session.createQuery(
                                            "select count(b), sum(b.price), max(b.title) from Book b",
                                            Object[].class)
                                    .getResultList()
                                    .stream()
                                    .map(java.util.Arrays::toString)
                                    .toList());
                    say(
                            session.createQuery(
                                            "select email from Author where feels = :mood", String.class)
                                    .setParameter("mood", Mood.SAD)
                                    .getResultList());
                    say(
                            session.createNativeQuery(
                                            "select id, title from book where title = ?1", Object[].class)
                                    .setParameter(1, "book 3")
                                    .getResultList()
                                    .size());
                    say(
                            session.createMutationQuery(
                                            "update Book set price = price + 1 where id < 3")
                                    .executeUpdate());
                });
    }

    private static void pages() {
        factory.inTransaction(
                session -> {
                    say(
                            session.createQuery("from Book order by id", Book.class)
                                    .setFirstResult(5)
                                    .setMaxResults(3)
                                    .getResultList()
                                    .stream()
                                    .map(book -> book.title)
                                    .toList());
                    try (var rows =
                            session.createQuery("from Book order by id", Book.class)
                                    .setFetchSize(7)
                                    .getResultStream()) {
                        say(rows.mapToInt(book -> book.title.length()).sum());
                    }
                });
    }

    private static void joins() {
        factory.inTransaction(
                session -> {
                    var builder = session.getCriteriaBuilder();
                    var query = builder.createQuery(Author.class);
                    var root = query.from(Author.class);
                    root.fetch("books", jakarta.persistence.criteria.JoinType.LEFT);
                    query.where(builder.like(builder.lower(root.get("email")), "%EXAMPLE%".toLowerCase()));
                    query.orderBy(builder.asc(root.get("id"))).distinct(true);
                    say(
                            session.createQuery(query).getResultList().stream()
                                    .map(author -> author.email + " " + author.books.size())
                                    .toList());
                    say(
                            session.createQuery(
                                            "select a.email, rank() over (order by size(a.books) desc)"
                                                    + " from Author a order by a.id",
                                            Object[].class)
                                    .getResultList()
                                    .stream()
                                    .map(java.util.Arrays::toString)
                                    .toList());
                });
    }

    private static void merge() {
        var session = factory.openStatelessSession();
        var transaction = session.beginTransaction();
        Author bob = session.get(Author.class, 2L);
        bob.feels = Mood.OK;
        session.upsert(bob);
        transaction.commit();
        session.close();
        factory.inTransaction(again -> say(again.find(Author.class, 2L).feels));
    }

    private static void upsert() {
        factory.inTransaction(
                again ->
                        say(
                                again.createMutationQuery(
                                                "insert into Author (id, email, feels, version)"
                                                        + " values (2, 'x@example.org', SAD, 0)"
                                                        + " on conflict (id) do update set feels = excluded.feels")
                                        .executeUpdate()));
    }

    private static void locks() {
        Author stale = factory.fromTransaction(session -> session.find(Author.class, 2L));
        factory.inTransaction(session -> session.find(Author.class, 2L).tags = List.of("new"));
        stale.tags = List.of("old");
        fails(() -> factory.inTransaction(session -> session.merge(stale)));
        factory.inTransaction(
                session ->
                        say(session.find(Author.class, 2L, LockModeType.PESSIMISTIC_WRITE).tags));
    }

    private static void transactions() {
        fails(
                () ->
                        factory.inTransaction(
                                session -> {
                                    session.createMutationQuery("delete from Book").executeUpdate();
                                    throw new IllegalStateException("undone");
                                }));
        factory.inTransaction(
                session ->
                        say(
                                session.createQuery("select count(*) from Book", Long.class)
                                        .getSingleResult()));
    }

    private static void errors() {
        fails(
                () ->
                        factory.inTransaction(
                                session -> session.persist(new Author("ann@example.org", Mood.OK))));
        fails(
                () ->
                        factory.inTransaction(
                                session ->
                                        session.createNativeQuery("select * from nowhere", Object.class)
                                                .getResultList()));
        factory.inTransaction(
                session -> say(session.createNativeQuery("select 1", Integer.class).getResultList()));
    }

    private static void largeObjects() throws Exception {
        factory.inTransaction(
                session -> {
                    Scan scan = new Scan();
                    scan.id = 1L;
                    scan.photo = new byte[] {0, 1, -1};
                    scan.story = "a long story";
                    scan.stream = session.getLobHelper().createBlob(new byte[5000]);
                    session.persist(scan);
                });
        factory.inTransaction(
                session -> {
                    Scan scan = session.find(Scan.class, 1L);
                    say(java.util.Arrays.toString(scan.photo), scan.story);
                    try {
                        say(scan.stream.length(), scan.stream.getBytes(1, 3).length);
                    } catch (java.sql.SQLException error) {
                        throw new IllegalStateException(error);
                    }
                    scan.photo = new byte[] {7};
                    scan.story = null;
                });
        factory.inTransaction(
                session -> {
                    Scan scan = session.find(Scan.class, 1L);
                    say(java.util.Arrays.toString(scan.photo), scan.story);
                    session.remove(scan);
                });
        show(db, "SELECT count(*) FROM pg_largeobject_metadata");
        try (var statement = db.createStatement()) {
            statement.execute("SELECT lo_unlink(oid) FROM pg_largeobject_metadata");
        }
    }

    private static void drop() throws Exception {
        factory("create-drop").close();
        show(db, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace");
    }
}
