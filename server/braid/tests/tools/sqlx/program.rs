//! sqlx: migrations up and down, the pool, types, streams, COPY, its listener.

use std::path::Path;

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::TryStreamExt;
use serde_json::{json, Value};
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgListener, PgPool, PgPoolCopyExt, PgPoolOptions};
use sqlx::{Column, Connection, Executor, FromRow, Row, SqlStr, Statement, TypeInfo};
use uuid::Uuid;

#[path = "../support.rs"]
mod support;
use support::{fails, rows, server_error, step, url, Failure};

fn describe(error: &Failure) -> String {
    let found = match error.downcast_ref::<sqlx::Error>() {
        Some(found) => found,
        None => match error.downcast_ref::<sqlx::migrate::MigrateError>() {
            Some(sqlx::migrate::MigrateError::ExecuteMigration(found, _)) => found,
            _ => return error.to_string(),
        },
    };
    match found.as_database_error() {
        Some(server) => {
            let code = server.code().unwrap_or_default();
            server_error(&code, server.message(), server.constraint())
        }
        None => found.to_string(),
    }
}

#[derive(Debug, sqlx::Type)]
#[sqlx(type_name = "mood", rename_all = "lowercase")]
enum Mood {
    Sad,
    Ok,
    Happy,
}

#[derive(Debug, FromRow)]
#[allow(dead_code)]
struct Author {
    id: i32,
    uid: Uuid,
    email: String,
    feels: Mood,
    meta: Value,
    tags: Vec<String>,
    born: Option<NaiveDate>,
    created_at: DateTime<Utc>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let db = PgPoolOptions::new().max_connections(4).connect(&url()).await?;
    step("migrations", describe, migrations(&db)).await;
    step("insert and types", describe, types(&db)).await;
    step("enums and arrays", describe, enums(&db)).await;
    step("describe", describe, described(&db)).await;
    step("streams and pages", describe, pages(&db)).await;
    step("upsert and lists", describe, upsert(&db)).await;
    step("transactions", describe, transactions(&db)).await;
    step("copy", describe, copy(&db)).await;
    step("errors", describe, errors(&db)).await;
    step("a changed table", describe, changed(&db)).await;
    step("listener", describe, listener(&db)).await;
    step("undo", describe, undo(&db)).await;
    db.close().await;
    Ok(())
}

async fn tables(db: &PgPool) -> Result<(), Failure> {
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    println!("{:?}", sqlx::query_scalar::<_, String>(sql).fetch_all(db).await?);
    Ok(())
}

async fn migrations(db: &PgPool) -> Result<(), Failure> {
    let all = Migrator::new(Path::new("migrations")).await?;
    all.run(db).await?;
    all.run(db).await?;
    tables(db).await?;
    let sql = "SELECT version, description, success FROM _sqlx_migrations ORDER BY version";
    rows(&sqlx::query_as::<_, (i64, String, bool)>(sql).fetch_all(db).await?);
    Ok(())
}

async fn undo(db: &PgPool) -> Result<(), Failure> {
    let all = Migrator::new(Path::new("migrations")).await?;
    all.undo(db, 1).await?;
    tables(db).await?;
    all.undo(db, 0).await?;
    tables(db).await
}

async fn types(db: &PgPool) -> Result<(), Failure> {
    let created = DateTime::from_timestamp_micros(1).ok_or("no such time")?;
    let author: Author = sqlx::query_as(
        "INSERT INTO authors (uid, email, feels, meta, tags, born, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING *",
    )
    .bind(Uuid::from_u128(1))
    .bind("Ann@example.org")
    .bind(Mood::Happy)
    .bind(json!({"a": [1, null]}))
    .bind(vec!["x", "y \"z\""])
    .bind(NaiveDate::from_ymd_opt(1970, 1, 2))
    .bind(created)
    .fetch_one(db)
    .await?;
    println!("{author:?}");
    let done = sqlx::query(
        "INSERT INTO books (author_id, title, pages)
         SELECT 1, 'book ' || n, n FROM generate_series(1, $1) AS n",
    )
    .bind(25)
    .execute(db)
    .await?;
    println!("{}", done.rows_affected());
    Ok(())
}

async fn enums(db: &PgPool) -> Result<(), Failure> {
    let moods: Vec<Mood> = sqlx::query_scalar("UPDATE authors SET moods = $1 RETURNING moods")
        .bind(vec![Mood::Sad, Mood::Ok])
        .fetch_one(db)
        .await?;
    println!("{moods:?}");
    let row =
        sqlx::query("SELECT $1 AS a, $2 AS b, '{1,NULL}'::int8[] AS c, NULL::text AS d, $3 AS e")
            .bind(vec![1i32, -2])
            .bind(vec![0u8, 255])
            .bind(sqlx::types::Json(json!([1])))
            .fetch_one(db)
            .await?;
    println!("{:?} {:?}", row.try_get::<Vec<i32>, _>("a")?, row.try_get::<Vec<u8>, _>("b")?);
    let holes = row.try_get::<Vec<Option<i64>>, _>("c")?;
    println!("{holes:?} {:?}", row.try_get::<Option<String>, _>("d")?);
    println!("{}", row.try_get::<Value, _>("e")?);
    Ok(())
}

async fn described(db: &PgPool) -> Result<(), Failure> {
    let sql = "SELECT b.*, a.feels, a.moods, a.tags FROM books AS b, authors AS a
               WHERE a.feels = $1 AND b.id = $2";
    let mut one = db.acquire().await?;
    let statement = one.prepare(SqlStr::from_static(sql)).await?;
    for column in statement.columns() {
        println!("{} {} {}", column.ordinal(), column.name(), column.type_info().name());
    }
    let found = one.describe(SqlStr::from_static(sql)).await?;
    println!("{:?}", (0..found.columns().len()).map(|at| found.nullable(at)).collect::<Vec<_>>());
    Ok(())
}

async fn pages(db: &PgPool) -> Result<(), Failure> {
    let mut sum = 0;
    let mut ids = sqlx::query_scalar::<_, i64>("SELECT id FROM books").fetch(db);
    while let Some(id) = ids.try_next().await? {
        sum += id;
    }
    println!("{sum}");
    let page = sqlx::query_as::<_, (i64, String, String)>(
        "SELECT b.id, b.title, a.email FROM books AS b JOIN authors AS a ON a.id = b.author_id
         WHERE b.id > $1 ORDER BY b.id LIMIT $2",
    );
    rows(&page.bind(5i64).bind(3i64).fetch_all(db).await?);
    Ok(())
}

async fn upsert(db: &PgPool) -> Result<(), Failure> {
    for n in 1..3 {
        let found: (String, Value) = sqlx::query_as(
            "INSERT INTO authors (email, meta) VALUES ($1, $2)
             ON CONFLICT (lower(email)) DO UPDATE SET meta = authors.meta || excluded.meta
             RETURNING email, meta",
        )
        .bind("Zoe@example.org")
        .bind(json!({ format!("n{n}"): n }))
        .fetch_one(db)
        .await?;
        println!("{found:?}");
    }
    let mut many = sqlx::QueryBuilder::new("INSERT INTO books (author_id, title) ");
    many.push_values(1..4, |mut row, n| {
        row.push_bind(1).push_bind(format!("many {n}"));
    });
    println!("{}", many.build().execute(db).await?.rows_affected());
    let titles = vec!["many 1".to_owned(), "book 7".to_owned()];
    let found: Vec<i64> =
        sqlx::query_scalar("SELECT id FROM books WHERE title = ANY($1) ORDER BY id")
            .bind(titles)
            .fetch_all(db)
            .await?;
    println!("{}", found.len());
    Ok(())
}

async fn transactions(db: &PgPool) -> Result<(), Failure> {
    let mut outer = db.begin().await?;
    sqlx::query("UPDATE authors SET tags = '{kept}' WHERE id = 1").execute(&mut *outer).await?;
    let mut inner = outer.begin().await?;
    fails(describe, sqlx::query("SELECT * FROM nowhere").execute(&mut *inner).await);
    fails(describe, sqlx::query("SELECT 1").execute(&mut *inner).await);
    inner.rollback().await?;
    outer.commit().await?;
    let mut dropped = db.begin_with("BEGIN ISOLATION LEVEL SERIALIZABLE").await?;
    sqlx::query("DELETE FROM authors").execute(&mut *dropped).await?;
    drop(dropped);
    let sql = "SELECT id, tags FROM authors ORDER BY id";
    rows(&sqlx::query_as::<_, (i32, Vec<String>)>(sql).fetch_all(db).await?);
    Ok(())
}

async fn copy(db: &PgPool) -> Result<(), Failure> {
    let mut sink = db.copy_in_raw("COPY books (author_id, title) FROM STDIN").await?;
    sink.send("1\ttab\\there\n1\tsec".as_bytes()).await?;
    sink.send("ond\n".as_bytes()).await?;
    println!("{}", sink.finish().await?);
    let mut again = db.copy_in_raw("COPY books (author_id, title) FROM STDIN").await?;
    again.send("1\tsecond\n".as_bytes()).await?;
    fails(describe, again.finish().await);
    let aborted = db.copy_in_raw("COPY books (author_id, title) FROM STDIN").await?;
    aborted.abort("no more").await?;
    let sql = "COPY (SELECT title FROM books WHERE title !~ '[0-9]' ORDER BY id) TO STDOUT";
    let chunks: Vec<_> = db.copy_out_raw(sql).await?.try_collect().await?;
    for chunk in chunks {
        print!("{}", std::str::from_utf8(&chunk)?);
    }
    Ok(())
}

async fn errors(db: &PgPool) -> Result<(), Failure> {
    for sql in [
        "SELECT * FROM nowhere",
        "SELEC 1",
        "INSERT INTO authors (email) VALUES ('ANN@EXAMPLE.ORG')",
        "INSERT INTO books (author_id, title) VALUES (99, 'x')",
        "UPDATE books SET pages = -1",
        "UPDATE authors SET email = NULL",
        "INSERT INTO authors (email, feels) VALUES ('x', 'angry')",
    ] {
        fails(describe, sqlx::query(sql).execute(db).await);
    }
    fails(describe, sqlx::query("SELECT 1 / $1").bind(0).execute(db).await);
    fails(describe, sqlx::query("SELECT id FROM books WHERE id < 0").fetch_one(db).await);
    println!("{}", sqlx::query_scalar::<_, i32>("SELECT 1").fetch_one(db).await?);
    Ok(())
}

async fn changed(db: &PgPool) -> Result<(), Failure> {
    let mut one = db.acquire().await?;
    let sql = "SELECT * FROM books WHERE id = $1";
    println!("{}", sqlx::query(sql).bind(3i64).fetch_one(&mut *one).await?.len());
    one.execute("ALTER TABLE books ADD COLUMN price numeric DEFAULT 1.5").await?;
    fails(describe, sqlx::query(sql).bind(3i64).fetch_one(&mut *one).await);
    one.clear_cached_statements().await?;
    println!("{}", sqlx::query(sql).bind(3i64).fetch_one(&mut *one).await?.len());
    Ok(())
}

async fn listener(db: &PgPool) -> Result<(), Failure> {
    let mut listener = PgListener::connect_with(db).await?;
    listener.listen_all(["news", "more"]).await?;
    sqlx::query("SELECT pg_notify('more', $1)").bind("hello").execute(db).await?;
    let heard = listener.recv().await?;
    println!("{} {}", heard.channel(), heard.payload());
    listener.unlisten_all().await?;
    Ok(())
}
