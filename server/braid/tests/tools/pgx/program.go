// pgx: the pool, batches, COPY in binary, the pipeline, notifications, every mode of execution.
package main

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	. "braiddb.dev/tools"
)

// Milliseconds that the program waits for a notification.
const notificationWait = 10 * time.Second

var ctx = context.Background()
var conn = Must(pgx.Connect(ctx, URL))

func main() {
	defer conn.Close(ctx)
	Step("schema", schema)
	Step("enums and arrays of them", enums)
	Step("insert and types", insertAndTypes)
	Step("arrays and null", arrays)
	Step("modes of execution", modes)
	Step("rows to structs, pages", pages)
	Step("batch", batch)
	Step("copy", copyFrom)
	Step("pipeline", pipeline)
	Step("upsert on an expression", upsert)
	Step("transactions", transactions)
	Step("errors", failures)
	Step("introspection", introspection)
	Step("listen and notify", notifications)
	Step("a pool", pool)
	Step("cancel", cancel)
}

func exec(sql string, args ...any) error {
	_, err := conn.Exec(ctx, sql, args...)
	return err
}

// Prints the rows of a query as arrays of their Go values.
func show(sql string, args ...any) error {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	values := func(row pgx.CollectableRow) ([]any, error) { return row.Values() }
	found, err := pgx.CollectRows(rows, values)
	if err != nil {
		return err
	}
	Rows(found)
	return nil
}

func schema() error {
	return exec(`
		CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
		CREATE TABLE authors (
			id serial PRIMARY KEY,
			uid uuid NOT NULL DEFAULT gen_random_uuid(),
			email text NOT NULL,
			feels mood NOT NULL DEFAULT 'ok',
			moods mood[],
			meta jsonb NOT NULL DEFAULT '{}',
			tags text[] NOT NULL DEFAULT '{}',
			born date,
			host inet,
			created_at timestamptz NOT NULL DEFAULT now()
		);
		CREATE UNIQUE INDEX authors_email ON authors (lower(email));
		CREATE TABLE books (
			id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			author_id int NOT NULL REFERENCES authors ON DELETE CASCADE,
			title varchar(100) NOT NULL,
			price numeric(10, 2) CHECK (price >= 0),
			scores int[],
			UNIQUE (author_id, title)
		);
		CREATE INDEX books_price ON books (price DESC) WHERE price > 10;
	`)
}

func enums() error {
	kinds, err := conn.LoadTypes(ctx, []string{"mood", "_mood", "authors"})
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		Say(kind.Name)
	}
	conn.TypeMap().RegisterTypes(kinds)
	var feels string
	var moods []string
	err = conn.QueryRow(ctx, `
		INSERT INTO authors (email, feels, moods) VALUES ($1, $2, $3) RETURNING feels, moods`,
		"Ann@example.org", "happy", []string{"sad", "ok"}).Scan(&feels, &moods)
	Say(feels, moods)
	Fails(exec("INSERT INTO authors (email, feels) VALUES ($1, $2)", "x@example.org", "angry"))
	return err
}

func insertAndTypes() error {
	rows, err := conn.Query(ctx, `
		UPDATE authors SET meta = $1, tags = $2, born = $3, host = $4, created_at = $5, uid = $6
		WHERE id = 1 RETURNING *`,
		map[string]any{"a": []any{1, nil}}, []string{"x", `y "z"`},
		time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC), netip.MustParsePrefix("10.0.0.0/8"),
		time.Unix(0, 1000).UTC(), "00000000-0000-4000-8000-000000000001")
	if err != nil {
		return err
	}
	for _, field := range rows.FieldDescriptions() {
		if kind, ok := conn.TypeMap().TypeForOID(field.DataTypeOID); ok {
			Say(field.Name, kind.Name, field.DataTypeSize, field.TypeModifier, field.TableAttributeNumber)
		}
	}
	found, err := pgx.CollectRows(rows, pgx.RowToMap)
	if err != nil {
		return err
	}
	for _, row := range found {
		row["created_at"] = row["created_at"].(time.Time).UTC()
		Say(row)
	}
	Say(rows.CommandTag().String())
	return exec(`
		INSERT INTO books (author_id, title, price, scores)
		SELECT 1, 'book ' || n, n * 1.5, ARRAY[n, n * 2] FROM generate_series(1, $1::int) AS n`, 25)
}

func arrays() error {
	var flat []int32
	var holes []*int32
	var matrix [][]int64
	var duration time.Duration
	var interval pgtype.Interval
	var number pgtype.Numeric
	var clock pgtype.Time
	var raw []byte
	err := conn.QueryRow(ctx, `
		SELECT $1::int4[], '{1,NULL,3}'::int4[], '{{1,2},{3,4}}'::int8[],
			'90 minutes'::interval, '1 mon 2 days 03:04:05.6'::interval, '-12.340'::numeric,
			'23:59:59.5'::time, $2::bytea`,
		[]int32{1, 2}, []byte{0, 255}).
		Scan(&flat, &holes, &matrix, &duration, &interval, &number, &clock, &raw)
	if err != nil {
		return err
	}
	Say(flat, holes, matrix, duration.String(), interval, number, clock, raw)
	err = show(`SELECT 'NaN'::float8 = 'NaN'::float8, 'infinity'::timestamptz > now(), '(1,2)'::text,
		NULL::int, ''::text, 'a'::"char", 'b'::name, 1::oid, '{}'::text[], 'x'::bpchar(3),
		'2020-02-29'::date, true, 1::int2, 1.5::real, 2.5::float8, '{"a":1}'::json,
		'00:11:22:33:44:55'::macaddr`)
	return err
}

func modes() error {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		Say(mode.String())
		for n := 0; n < 2; n++ {
			err := show(`SELECT title, price, scores, $2::text FROM books WHERE id = $1 ORDER BY id`,
				mode, n+1, "it's")
			if err != nil {
				return err
			}
		}
		Fails(exec("SELECT 1 / $1::int", mode, 0))
	}
	// A prepared statement outlives a change of its table.
	if err := show("SELECT * FROM books WHERE id = $1", 3); err != nil {
		return err
	}
	if err := exec("ALTER TABLE books ADD COLUMN pages int NOT NULL DEFAULT 7"); err != nil {
		return err
	}
	Fails(show("SELECT * FROM books WHERE id = $1", 3))
	return show("SELECT * FROM books WHERE id = $1", 3)
}

func pages() error {
	type book struct {
		ID     int64
		Title  string
		Author string `db:"email"`
	}
	last := int64(0)
	for page := 0; page < 2; page++ {
		rows, err := conn.Query(ctx, `
			SELECT b.id, b.title, a.email FROM books AS b JOIN authors AS a ON a.id = b.author_id
			WHERE b.id > @last ORDER BY b.id LIMIT @count`, pgx.NamedArgs{"last": last, "count": 3})
		if err != nil {
			return err
		}
		books, err := pgx.CollectRows(rows, pgx.RowToStructByName[book])
		if err != nil {
			return err
		}
		Rows(books)
		last = books[len(books)-1].ID
	}
	return show(`
		SELECT a.id, count(*), jsonb_agg(b.title ORDER BY b.id) FILTER (WHERE b.id < 4)
		FROM authors AS a LEFT JOIN books AS b ON b.author_id = a.id GROUP BY a.id`)
}

func batch() error {
	queue := &pgx.Batch{}
	for n := 1; n <= 3; n++ {
		queue.Queue("SELECT title FROM books WHERE id = $1", n).QueryRow(func(row pgx.Row) error {
			var title string
			err := row.Scan(&title)
			Say(title)
			return err
		})
	}
	queue.Queue("UPDATE books SET price = price + $1 WHERE id < $2", 1, 4)
	if err := conn.SendBatch(ctx, queue).Close(); err != nil {
		return err
	}
	// The statements of a batch are one transaction.
	wrong := &pgx.Batch{}
	wrong.Queue("DELETE FROM books WHERE id = 1")
	wrong.Queue("INSERT INTO books (author_id, title) VALUES ($1, 'x')", 99)
	wrong.Queue("DELETE FROM books WHERE id = 2")
	Fails(conn.SendBatch(ctx, wrong).Close())
	return show("SELECT id, price FROM books WHERE id <= 3 ORDER BY id")
}

func copyFrom() error {
	if err := exec("INSERT INTO authors (email) VALUES ('bob@example.org')"); err != nil {
		return err
	}
	var bob int
	if err := conn.QueryRow(ctx, "SELECT max(id) FROM authors").Scan(&bob); err != nil {
		return err
	}
	columns := []string{"author_id", "title", "price", "scores"}
	data := [][]any{
		{bob, "tab\there", "9.99", []int32{1, 2}},
		{bob, "second", nil, nil},
	}
	count, err := conn.CopyFrom(ctx, pgx.Identifier{"books"}, columns, pgx.CopyFromRows(data))
	if err != nil {
		return err
	}
	Say(count)
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"books"}, columns, pgx.CopyFromRows(data))
	Fails(err)
	columns = []string{"email", "feels", "moods", "meta", "born", "created_at"}
	eve := []any{
		"eve@example.org", "sad", []string{"happy"}, map[string]int{"n": 1},
		time.Unix(86400, 0).UTC(), time.Unix(0, 0),
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"authors"}, columns, pgx.CopyFromRows([][]any{eve}))
	if err != nil {
		return err
	}
	var text strings.Builder
	tag, err := conn.PgConn().CopyTo(ctx, &text,
		`COPY (SELECT title, price, scores FROM books WHERE author_id <> 1 ORDER BY id)
		TO STDOUT WITH (FORMAT csv, HEADER)`)
	if err != nil {
		return err
	}
	Say(tag.String(), strings.TrimSpace(text.String()))
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("no number\tx\n"),
		"COPY books (author_id, title) FROM STDIN")
	Fails(err)
	return show("SELECT email, feels::text, moods::text, meta, born::text FROM authors ORDER BY id")
}

func pipeline() error {
	pipe := conn.PgConn().StartPipeline(ctx)
	pipe.SendPrepare("twice", "SELECT $1::int * 2", nil)
	if err := pipe.Sync(); err != nil {
		return err
	}
	for n := 1; n <= 3; n++ {
		pipe.SendQueryPrepared("twice", [][]byte{{'0' + byte(n)}}, nil, nil)
	}
	pipe.SendQueryParams("SELECT 1 / 0", nil, nil, nil, nil)
	pipe.SendQueryParams("SELECT 'skipped'", nil, nil, nil, nil)
	if err := pipe.Sync(); err != nil {
		return err
	}
	pipe.SendQueryParams("SELECT 'after'", nil, nil, nil, nil)
	if err := pipe.Sync(); err != nil {
		return err
	}
	for {
		results, err := pipe.GetResults()
		if err != nil {
			Fails(err)
			continue
		}
		if results == nil {
			break
		}
		sayResult(results)
	}
	return pipe.Close()
}

func upsert() error {
	for n := 1; n <= 2; n++ {
		err := show(`
			INSERT INTO authors (email, meta) VALUES ($1, $2)
			ON CONFLICT (lower(email)) DO UPDATE SET meta = authors.meta || excluded.meta
			RETURNING email, meta, xmax = 0`, "Zoe@example.org", map[string]int{"n": n})
		if err != nil {
			return err
		}
	}
	return exec("DELETE FROM authors WHERE lower(email) = $1", "zoe@example.org")
}

func transactions() error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE authors SET tags = '{kept}' WHERE id = 1"); err != nil {
			return err
		}
		inner := pgx.BeginFunc(ctx, tx, func(nested pgx.Tx) error {
			_, err := nested.Exec(ctx, "SELECT * FROM nowhere")
			return err
		})
		Fails(inner)
		return nil
	})
	if err != nil {
		return err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{
		IsoLevel: pgx.Serializable, AccessMode: pgx.ReadOnly, DeferrableMode: pgx.Deferrable,
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "DELETE FROM authors")
	Fails(err)
	_, err = tx.Exec(ctx, "SELECT 1")
	Fails(err)
	Fails(tx.Commit(ctx))
	undone := errors.New("undone")
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM authors"); err != nil {
			return err
		}
		return undone
	})
	Say(errors.Is(err, undone))
	return show("SELECT id, tags FROM authors ORDER BY id LIMIT 2")
}

func failures() error {
	Fails(exec("SELECT * FROM nowhere"))
	Fails(exec("SELEC 1"))
	Fails(exec("INSERT INTO authors (email) VALUES ($1)", "ANN@EXAMPLE.ORG"))
	Fails(exec("INSERT INTO books (author_id, title) VALUES ($1, 'book 1')", 1))
	Fails(exec("UPDATE books SET price = -1"))
	Fails(exec("UPDATE authors SET email = NULL"))
	Fails(exec("INSERT INTO books (id, author_id, title) VALUES (1, 1, 'x')"))
	Fails(exec("SELECT $1", 1, 2))
	Fails(exec("SELECT count(*) FROM books WHERE id = $1", "x"))
	Fails(exec("INSERT INTO books (author_id, title) VALUES (1, repeat('x', 101))"))
	return show("SELECT 1 AS ok")
}

func introspection() error {
	err := show(`
		SELECT column_name::text, data_type::text, udt_name::text, is_nullable::text, is_identity::text
		FROM information_schema.columns WHERE table_name = 'authors' ORDER BY ordinal_position`)
	if err != nil {
		return err
	}
	err = show("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname")
	if err != nil {
		return err
	}
	return show(`
		SELECT conname::text, contype::text, pg_get_constraintdef(oid) FROM pg_constraint
		WHERE conrelid IN ('authors'::regclass, 'books'::regclass) ORDER BY conname`)
}

func notifications() error {
	if err := exec("LISTEN news"); err != nil {
		return err
	}
	if err := exec("SELECT pg_notify('news', $1)", "hello"); err != nil {
		return err
	}
	if err := exec("NOTIFY news"); err != nil {
		return err
	}
	bounded, done := context.WithTimeout(ctx, notificationWait)
	defer done()
	for n := 0; n < 2; n++ {
		heard, err := conn.WaitForNotification(bounded)
		if err != nil {
			return err
		}
		Say(heard.Channel, heard.Payload, heard.PID == conn.PgConn().PID())
	}
	return exec("UNLISTEN *")
}

func pool() error {
	config, err := pgxpool.ParseConfig(URL)
	if err != nil {
		return err
	}
	config.MaxConns = 4
	config.ConnConfig.RuntimeParams["application_name"] = "tools"
	several, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer several.Close()
	answers := make(chan int)
	for n := 0; n < 20; n++ {
		go func() {
			var twice int
			if err := several.QueryRow(ctx, "SELECT $1::int * 2", n).Scan(&twice); err != nil {
				twice = -1000
			}
			answers <- twice
		}()
	}
	sum := 0
	for n := 0; n < 20; n++ {
		sum += <-answers
	}
	var name string
	err = several.QueryRow(ctx, "SHOW application_name").Scan(&name)
	Say(sum, name)
	return err
}

func cancel() error {
	own, err := pgx.Connect(ctx, URL)
	if err != nil {
		return err
	}
	defer own.Close(ctx)
	done := make(chan error)
	go func() {
		_, err := own.Exec(ctx, "SELECT pg_sleep(30)")
		done <- err
	}()
	for n := 0; n < 100; n++ {
		time.Sleep(100 * time.Millisecond)
		if err := own.PgConn().CancelRequest(ctx); err != nil {
			return err
		}
		select {
		case err := <-done:
			Fails(err)
			return nil
		default:
		}
	}
	return errors.New("the query was not cancelled")
}
