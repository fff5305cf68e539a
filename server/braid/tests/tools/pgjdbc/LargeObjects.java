package pgjdbc;

import static support.Support.connect;
import static support.Support.fails;
import static support.Support.say;
import static support.Support.show;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.PGConnection;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;
import support.Support.Work;

/** Large objects: by the driver's own manager, which uses fast-path calls, and as Blob and Clob. */
final class LargeObjects {
    private LargeObjects() {}

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** The SQLSTATE of an error whose text holds the number of a large object. */
    private static String state(Work work) throws Exception {
        try {
            work.run();
            return "no error";
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    static void manager(Connection db) throws Exception {
        db.setAutoCommit(false);
        LargeObjectManager manager = db.unwrap(PGConnection.class).getLargeObjectAPI();
        long oid = manager.createLO(LargeObjectManager.READ | LargeObjectManager.WRITE);
        try (LargeObject object = manager.open(oid, LargeObjectManager.READWRITE)) {
            object.write(bytes("hello, large world"));
            object.seek(7);
            say(text(object.read(5)), object.tell(), object.size());
            object.seek(-5, LargeObject.SEEK_END);
            object.write(bytes("thing"));
            object.seek64(3_000_000_000L, LargeObject.SEEK_SET);
            say(object.tell64());
            object.truncate(12);
            say(object.size64());
            object.seek(0);
            say(text(object.read(100)));
            object.truncate64(14);
            object.seek(0);
            say(object.read(100).length);
        }
        db.commit();
        try (LargeObject object = manager.open(oid, LargeObjectManager.READ)) {
            LargeObject other = object.copy();
            say(other.getLongOID() == oid, text(other.read(5)), object.tell());
            InputStream input = object.getInputStream();
            say(text(input.readNBytes(5)), input.read());
        }
        fails(() -> manager.open(oid, LargeObjectManager.READ).write(bytes("x")));
        db.rollback();
        manager.delete(oid);
        say(state(() -> manager.open(oid, LargeObjectManager.READ)));
        db.rollback();
        say(manager.open(oid, LargeObjectManager.READ).size());
        manager.unlink(oid);
        db.commit();
        say(state(() -> manager.delete(oid)));
        db.rollback();
        db.setAutoCommit(true);
        fails(() -> manager.createLO());
        show(db, "SELECT count(*) FROM pg_largeobject_metadata");
    }

    static void streams(Connection db) throws Exception {
        db.setAutoCommit(false);
        LargeObjectManager manager = db.unwrap(PGConnection.class).getLargeObjectAPI();
        long oid = manager.createLO();
        byte[] part = new byte[10_000];
        for (int i = 0; i < part.length; i++) {
            part[i] = (byte) i;
        }
        try (LargeObject object = manager.open(oid, LargeObjectManager.WRITE);
                OutputStream output = object.getOutputStream()) {
            for (int n = 0; n < 20; n++) {
                output.write(part);
            }
        }
        db.commit();
        try (LargeObject object = manager.open(oid, LargeObjectManager.READ);
                InputStream input = object.getInputStream()) {
            byte[] all = input.readAllBytes();
            say(all.length, all[123_456], object.tell());
        }
        db.commit();
        manager.unlink(oid);
        db.commit();
        db.setAutoCommit(true);
    }

    static void catalog(Connection db) throws SQLException {
        show(db, "SELECT lo_from_bytea(1234567, 'some bytes')");
        show(
                db,
                """
                SELECT pageno, convert_from(data, 'UTF8') FROM pg_largeobject WHERE loid = 1234567
                """);
        show(db, "SELECT lo_unlink(1234567)");
    }

    static void blobs(Connection db) throws Exception {
        db.setAutoCommit(false);
        try (Statement statement = db.createStatement()) {
            statement.execute("CREATE TABLE scans (id int PRIMARY KEY, scan oid, story oid)");
            statement.execute(
                    "INSERT INTO scans VALUES (2, lo_from_bytea(0, ''), lo_from_bytea(0, ''))");
        }
        try (PreparedStatement insert =
                db.prepareStatement("INSERT INTO scans VALUES (1, ?, lo_from_bytea(0, ?))")) {
            insert.setBlob(1, new ByteArrayInputStream(bytes("scanned bytes")));
            insert.setBytes(2, bytes("a story"));
            insert.executeUpdate();
        }
        db.commit();
        try (PreparedStatement query =
                db.prepareStatement("SELECT scan, story FROM scans WHERE id = ?")) {
            query.setInt(1, 1);
            ResultSet row = query.executeQuery();
            row.next();
            readAndWrite(row.getBlob(1));
            Clob story = row.getClob(2);
            try (Reader reader = story.getCharacterStream()) {
                char[] letters = new char[20];
                say(story.length(), new String(letters, 0, reader.read(letters)));
            }
            query.setInt(1, 2);
            row = query.executeQuery();
            row.next();
            try (OutputStream output = row.getBlob(1).setBinaryStream(1)) {
                output.write(bytes("streamed"));
            }
        }
        db.commit();
        show(db, "SELECT id, convert_from(lo_get(scan), 'UTF8') FROM scans ORDER BY id");
        try (Statement statement = db.createStatement()) {
            statement.execute("SELECT lo_unlink(scan), lo_unlink(story) FROM scans");
            statement.execute("DROP TABLE scans");
        }
        db.commit();
        db.setAutoCommit(true);
        show(db, "SELECT count(*) FROM pg_largeobject_metadata");
    }

    private static void readAndWrite(Blob blob) throws Exception {
        say(blob.length(), text(blob.getBytes(9, 5)), blob.position(bytes("byte"), 1));
        try (InputStream input = blob.getBinaryStream(9, 3)) {
            say(text(input.readAllBytes()));
        }
        say(blob.setBytes(1, bytes("SCANNED")));
        blob.truncate(10);
        say(text(blob.getBytes(1, 99)));
        blob.free();
    }

    /** Another session sees a large object when its transaction has committed. */
    static void isolation(Connection db) throws Exception {
        db.setAutoCommit(false);
        long oid = db.unwrap(PGConnection.class).getLargeObjectAPI().createLO();
        try (Connection other = connect()) {
            other.setAutoCommit(false);
            LargeObjectManager theirs = other.unwrap(PGConnection.class).getLargeObjectAPI();
            say(state(() -> theirs.open(oid, LargeObjectManager.READ)));
            other.rollback();
            db.commit();
            say(theirs.open(oid, LargeObjectManager.READ).size());
            theirs.unlink(oid);
            other.commit();
        }
        db.setAutoCommit(true);
    }
}
