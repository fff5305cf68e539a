package hibernate;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Lob;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import jakarta.persistence.UniqueConstraint;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.hibernate.annotations.Check;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.type.SqlTypes;

/** The entities of the program. */
final class Model {
    private Model() {}

    /** An enum of the database. */
    enum Mood {
        SAD,
        OK,
        HAPPY
    }

    /** Who writes. */
    @Entity(name = "Author")
    static class Author {
        @Id
        @GeneratedValue(strategy = GenerationType.IDENTITY)
        Long id;

        UUID uid;

        @Column(nullable = false, unique = true)
        String email;

        @JdbcTypeCode(SqlTypes.NAMED_ENUM)
        Mood feels;

        @JdbcTypeCode(SqlTypes.ARRAY)
        List<String> tags = new ArrayList<>();

        @JdbcTypeCode(SqlTypes.JSON)
        String meta;

        Instant created;
        @Version int version;

        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL)
        @OrderBy("id")
        List<Book> books = new ArrayList<>();

        Author() {}

        Author(String email, Mood feels) {
            this.email = email;
            this.feels = feels;
        }
    }

    /** Large objects, which are columns of type oid. */
    @Entity(name = "Scan")
    static class Scan {
        @Id Long id;

        @Lob byte[] photo;

        @Lob String story;

        @Lob java.sql.Blob stream;
    }

    /** What they write. */
    @Entity(name = "Book")
    @Table(
            indexes = @Index(columnList = "price desc"),
            uniqueConstraints = @UniqueConstraint(columnNames = {"author_id", "title"}))
    @Check(constraints = "price >= 0")
    static class Book {
        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE)
        Long id;

        @ManyToOne(optional = false)
        Author author;

        @Column(length = 100, nullable = false)
        String title;

        @Column(precision = 10, scale = 2)
        BigDecimal price;

        Book() {}

        Book(Author author, String title, BigDecimal price) {
            this.author = author;
            this.title = title;
            this.price = price;
        }
    }
}
