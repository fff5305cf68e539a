//! tokio-postgres: prepared statements, pipelining, portals, COPY in text and binary, types.

use std::error::Error as _;
use std::pin::pin;

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{future, SinkExt, StreamExt, TryStreamExt};
use serde_json::{json, Value};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::{FromSql, Kind, ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, NoTls, SimpleQueryMessage};
use uuid::Uuid;

#[path = "../support.rs"]
mod support;
use support::{fails, rows, server_error, step, url, Failure};

fn describe(error: &Failure) -> String {
    match error.downcast_ref::<tokio_postgres::Error>() {
        Some(error) => match error.as_db_error() {
            Some(server) => {
                server_error(server.code().code(), server.message(), server.constraint())
            }
            None => match error.source() {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            },
        },
        None => error.to_string(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let (mut db, connection) = tokio_postgres::connect(&url(), NoTls).await?;
    tokio::spawn(connection);
    step("schema", describe, schema(&db)).await;
    step("insert and types", describe, types(&db)).await;
    step("enums", describe, enums(&db)).await;
    step("arrays and null", describe, arrays(&db)).await;
    step("prepared statements", describe, prepared(&db)).await;
    step("pipelined", describe, pipelined(&db)).await;
    step("simple queries", describe, simple(&db)).await;
    step("transactions", describe, transactions(&mut db)).await;
    step("a portal", describe, portal(&mut db)).await;
    step("copy", describe, copy(&db)).await;
    step("binary copy", describe, binary_copy(&db)).await;
    step("upsert, relations, pages", describe, upsert(&db)).await;
    step("errors", describe, errors(&db)).await;
    step("notifications and notices", describe, notifications()).await;
    step("cancel", describe, cancel(&db)).await;
    Ok(())
}

async fn schema(db: &Client) -> Result<(), Failure> {
    db.batch_execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
         CREATE TABLE authors (
           id serial PRIMARY KEY,
           uid uuid NOT NULL DEFAULT gen_random_uuid(),
           email text NOT NULL,
           feels mood NOT NULL DEFAULT 'ok',
           moods mood[],
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
           pages int CHECK (pages >= 0),
           UNIQUE (author_id, title)
         );",
    )
    .await?;
    Ok(())
}

async fn types(db: &Client) -> Result<(), Failure> {
    let created = DateTime::from_timestamp_micros(1).ok_or("no such time")?;
    let row = db
        .query_one(
            "INSERT INTO authors (uid, email, meta, tags, born, created_at)
             VALUES ($1, $2, $3, $4, $5, $6) RETURNING *",
            &[
                &Uuid::from_u128(1),
                &"Ann@example.org",
                &json!({"a": [1, null]}),
                &vec!["x", "y \"z\""],
                &NaiveDate::from_ymd_opt(1970, 1, 2),
                &created,
            ],
        )
        .await?;
    for column in row.columns() {
        let place = (column.table_oid().is_some(), column.column_id());
        println!("{} {} {place:?}", column.name(), column.type_());
    }
    let (uid, meta, tags): (Uuid, Value, Vec<String>) =
        (row.get("uid"), row.get("meta"), row.get("tags"));
    let (born, created): (NaiveDate, DateTime<Utc>) = (row.get("born"), row.get("created_at"));
    println!("{uid} {meta} {tags:?} {born} {created}");
    let count = db
        .execute(
            "INSERT INTO books (author_id, title, pages)
             SELECT 1, 'book ' || n, n FROM generate_series(1, $1::int) AS n",
            &[&25],
        )
        .await?;
    println!("{count}");
    Ok(())
}

/// An enum by its label.
#[derive(Debug)]
#[allow(dead_code)]
struct Mood(String);

impl<'a> FromSql<'a> for Mood {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Mood(std::str::from_utf8(raw)?.to_owned()))
    }

    fn accepts(ty: &Type) -> bool {
        ty.name() == "mood"
    }
}

async fn enums(db: &Client) -> Result<(), Failure> {
    let statement = db.prepare("SELECT feels, moods, 'sad'::mood FROM authors").await?;
    for column in statement.columns() {
        let ty = column.type_();
        let element = match ty.kind() {
            Kind::Array(element) => element,
            _ => ty,
        };
        println!("{} of {:?}", ty.name(), element.kind());
    }
    let row = db.query_one(&statement, &[]).await?;
    println!("{:?} {:?}", row.get::<_, Mood>(0), row.get::<_, Option<Vec<Mood>>>(1));
    let update = "UPDATE authors SET moods = $1::text[]::mood[] RETURNING moods";
    let row = db.query_one(update, &[&vec!["happy", "sad"]]).await?;
    println!("{:?}", row.get::<_, Vec<Mood>>(0));
    Ok(())
}

async fn arrays(db: &Client) -> Result<(), Failure> {
    let row = db
        .query_one(
            "SELECT $1::int4[], '{1,NULL}'::int8[], $2::bytea, $3::text, 1.5::float4, 2.5::float8,
                    true, 'c'::\"char\", 7::oid, '10:20:30.5'::time, '2020-02-29 12:00'::timestamp,
                    '10.0.0.1'::inet",
            &[&vec![1, -2], &&[0u8, 255][..], &None::<String>],
        )
        .await?;
    println!("{:?} {:?}", row.get::<_, Vec<i32>>(0), row.get::<_, Vec<Option<i64>>>(1));
    println!("{:?} {:?}", row.get::<_, &[u8]>(2), row.get::<_, Option<&str>>(3));
    println!("{} {} {}", row.get::<_, f32>(4), row.get::<_, f64>(5), row.get::<_, bool>(6));
    println!("{} {}", row.get::<_, i8>(7), row.get::<_, u32>(8));
    let (time, stamp): (chrono::NaiveTime, chrono::NaiveDateTime) = (row.get(9), row.get(10));
    println!("{time} {stamp} {}", row.get::<_, std::net::IpAddr>(11));
    Ok(())
}

async fn prepared(db: &Client) -> Result<(), Failure> {
    let typed = db
        .prepare_typed("SELECT title FROM books WHERE id = $1 OR title = $2", &[Type::INT4])
        .await?;
    println!("{:?}", typed.params());
    let found = db.query(&typed, &[&3, &"book 4"]).await?;
    rows(&found.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>());
    fails(describe, db.query(&typed, &[&3]).await);
    fails(describe, db.query(&typed, &[&"x", &"y"]).await);
    let all = db.prepare("SELECT * FROM books WHERE id = $1").await?;
    println!("{}", db.query_one(&all, &[&3i64]).await?.len());
    db.batch_execute("ALTER TABLE books ADD COLUMN price numeric DEFAULT 1.5").await?;
    fails(describe, db.query_one(&all, &[&3i64]).await);
    println!("{:?}", db.query_opt("SELECT 1 WHERE false", &[]).await?.is_none());
    Ok(())
}

async fn pipelined(db: &Client) -> Result<(), Failure> {
    let twice = db.prepare("SELECT $1::int * 2").await?;
    let both: [&(dyn ToSql + Sync); 2] = [&1, &2];
    let results = future::join_all(both.map(|n| {
        let twice = &twice;
        async move { db.query_one(twice, &[n]).await }
    }));
    for row in results.await {
        println!("{}", row?.get::<_, i32>(0));
    }
    let (wrong, right) =
        future::join(db.query("SELECT 1 / 0", &[]), db.query("SELECT 1", &[])).await;
    fails(describe, wrong);
    println!("{}", right?.len());
    Ok(())
}

async fn simple(db: &Client) -> Result<(), Failure> {
    let text = "SELECT 1 AS a, NULL AS b; UPDATE books SET pages = pages; SELECT 'x' WHERE false";
    for message in db.simple_query(text).await? {
        match message {
            SimpleQueryMessage::Row(row) => println!("{:?} {:?}", row.get("a"), row.get("b")),
            SimpleQueryMessage::CommandComplete(count) => println!("complete {count}"),
            SimpleQueryMessage::RowDescription(columns) => println!("{} columns", columns.len()),
            _ => println!("another message"),
        }
    }
    Ok(())
}

async fn transactions(db: &mut Client) -> Result<(), Failure> {
    let mut outer = db.transaction().await?;
    outer.execute("UPDATE authors SET tags = '{kept}'", &[]).await?;
    let inner = outer.savepoint("here").await?;
    fails(describe, inner.query("SELECT * FROM nowhere", &[]).await);
    fails(describe, inner.query("SELECT 1", &[]).await);
    inner.rollback().await?;
    outer.commit().await?;
    let builder = db.build_transaction().read_only(true);
    let level = tokio_postgres::IsolationLevel::Serializable;
    let reader = builder.isolation_level(level).deferrable(true).start().await?;
    fails(describe, reader.execute("DELETE FROM authors", &[]).await);
    drop(reader);
    println!("{:?}", db.query_one("SELECT tags FROM authors", &[]).await?.get::<_, Vec<String>>(0));
    Ok(())
}

async fn portal(db: &mut Client) -> Result<(), Failure> {
    let transaction = db.transaction().await?;
    let portal = transaction.bind("SELECT id FROM books ORDER BY id", &[]).await?;
    for count in [3, 2] {
        let found = transaction.query_portal(&portal, count).await?;
        println!("{:?}", found.iter().map(|row| row.get::<_, i64>(0)).collect::<Vec<_>>());
    }
    transaction.commit().await?;
    Ok(())
}

async fn copy(db: &Client) -> Result<(), Failure> {
    let sink = db.copy_in("COPY books (author_id, title) FROM STDIN").await?;
    let mut sink = pin!(sink);
    sink.send(bytes("1\ttab\\there\n1\tsec")).await?;
    sink.send(bytes("ond\n")).await?;
    println!("{}", sink.finish().await?);
    let again = db.copy_in("COPY books (author_id, title) FROM STDIN").await?;
    let mut again = pin!(again);
    again.send(bytes("1\tsecond\n")).await?;
    fails(describe, again.finish().await);
    let sql = "COPY (SELECT title FROM books ORDER BY id DESC LIMIT 2) TO STDOUT (FORMAT csv)";
    let chunks: Vec<_> = db.copy_out(sql).await?.try_collect().await?;
    for chunk in chunks {
        print!("{}", std::str::from_utf8(&chunk)?);
    }
    Ok(())
}

fn bytes(text: &str) -> std::io::Cursor<Vec<u8>> {
    std::io::Cursor::new(text.as_bytes().to_vec())
}

async fn binary_copy(db: &Client) -> Result<(), Failure> {
    let types = [Type::TEXT, Type::JSONB, Type::TEXT_ARRAY, Type::DATE, Type::UUID];
    let sql = "COPY authors (email, meta, tags, born, uid) FROM STDIN (FORMAT binary)";
    let writer = BinaryCopyInWriter::new(db.copy_in(sql).await?, &types);
    let mut writer = pin!(writer);
    let date = NaiveDate::from_ymd_opt(2020, 2, 29);
    for n in 2..4u128 {
        let (email, uid) = (format!("copy{n}@example.org"), Uuid::from_u128(n));
        let row: [&(dyn ToSql + Sync); 5] = [&email, &json!({"n": 1}), &vec!["t"], &date, &uid];
        writer.as_mut().write(&row).await?;
    }
    println!("{}", writer.finish().await?);
    let sql = "COPY (SELECT email, meta, tags, born, uid FROM authors WHERE born > '2000-01-01'
               ORDER BY email) TO STDOUT (FORMAT binary)";
    let reader = BinaryCopyOutStream::new(db.copy_out(sql).await?, &types);
    let mut reader = pin!(reader);
    while let Some(row) = reader.next().await {
        let row = row?;
        let (email, meta, tags): (&str, Value, Vec<&str>) = (row.get(0), row.get(1), row.get(2));
        println!("{email} {meta} {tags:?} {:?} {}", row.get::<NaiveDate>(3), row.get::<Uuid>(4));
    }
    Ok(())
}

async fn upsert(db: &Client) -> Result<(), Failure> {
    for n in 1..3 {
        let row = db
            .query_one(
                "INSERT INTO authors (email, meta) VALUES ($1, $2)
                 ON CONFLICT (lower(email)) DO UPDATE SET meta = authors.meta || excluded.meta
                 RETURNING email, meta",
                &[&"Zoe@example.org", &json!({ format!("n{n}"): n })],
            )
            .await?;
        println!("{} {}", row.get::<_, &str>(0), row.get::<_, Value>(1));
    }
    let pages = db
        .query(
            "SELECT a.email, b.title FROM books AS b JOIN authors AS a ON a.id = b.author_id
             WHERE b.id > $1 ORDER BY b.id LIMIT $2",
            &[&5i64, &3i64],
        )
        .await?;
    let pairs = pages.iter().map(|row| (row.get::<_, &str>(0), row.get::<_, &str>(1)));
    rows(&pairs.collect::<Vec<_>>());
    Ok(())
}

async fn errors(db: &Client) -> Result<(), Failure> {
    for sql in [
        "SELECT * FROM nowhere",
        "SELEC 1",
        "INSERT INTO authors (email) VALUES ('ANN@EXAMPLE.ORG')",
        "INSERT INTO books (author_id, title) VALUES (99, 'x')",
        "UPDATE books SET pages = -1",
        "UPDATE authors SET email = NULL",
        "INSERT INTO authors (email, feels) VALUES ('x', 'angry')",
        "INSERT INTO books (id, author_id, title) VALUES (1, 1, 'x')",
    ] {
        fails(describe, db.execute(sql, &[]).await);
    }
    println!("{}", db.query_one("SELECT 1", &[]).await?.get::<_, i32>(0));
    Ok(())
}

async fn notifications() -> Result<(), Failure> {
    let (own, mut connection) = tokio_postgres::connect(&url(), NoTls).await?;
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
        while let Some(Ok(message)) = messages.next().await {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    own.batch_execute("LISTEN news; DROP TABLE IF EXISTS nowhere; NOTIFY news, 'hello'").await?;
    for _ in 0..2 {
        match heard.recv().await {
            Some(AsyncMessage::Notification(found)) => {
                println!("{} {}", found.channel(), found.payload());
            }
            Some(AsyncMessage::Notice(notice)) => {
                println!("{} {}", notice.severity(), notice.message());
            }
            _ => println!("another message"),
        }
    }
    Ok(())
}

async fn cancel(db: &Client) -> Result<(), Failure> {
    let token = db.cancel_token();
    let ((), slept) = future::join(
        async {
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            if let Err(error) = token.cancel_query(NoTls).await {
                println!("{error}");
            }
        },
        db.query("SELECT pg_sleep(30)", &[]),
    )
    .await;
    fails(describe, slept);
    Ok(())
}
