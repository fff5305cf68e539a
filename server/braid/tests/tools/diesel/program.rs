//! diesel over tokio-postgres (diesel-async): queries, associations, upsert, transactions.

use chrono::{DateTime, NaiveDate, Utc};
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel::upsert::excluded;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use serde_json::{json, Value};
use uuid::Uuid;

#[path = "../support.rs"]
mod support;
use support::{fails, rows, server_error, step, url, Failure};

diesel::table! {
    authors (id) {
        id -> Integer,
        uid -> Uuid,
        email -> Text,
        meta -> Jsonb,
        tags -> Array<Text>,
        born -> Nullable<Date>,
        created_at -> Timestamptz,
    }
}

diesel::table! {
    books (id) {
        id -> BigInt,
        author_id -> Integer,
        title -> Varchar,
        pages -> Nullable<Integer>,
        scores -> Nullable<Array<Nullable<Integer>>>,
    }
}

diesel::joinable!(books -> authors (author_id));
diesel::allow_tables_to_appear_in_same_query!(authors, books);

#[derive(Debug, Identifiable, Queryable, Selectable)]
#[allow(dead_code)]
struct Author {
    id: i32,
    uid: Uuid,
    email: String,
    meta: Value,
    tags: Vec<String>,
    born: Option<NaiveDate>,
    created_at: DateTime<Utc>,
}

#[derive(Debug, Associations, Identifiable, Queryable, Selectable)]
#[diesel(belongs_to(Author))]
#[allow(dead_code)]
struct Book {
    id: i64,
    author_id: i32,
    title: String,
    pages: Option<i32>,
    scores: Option<Vec<Option<i32>>>,
}

#[derive(Insertable)]
#[diesel(table_name = books)]
struct NewBook {
    author_id: i32,
    title: String,
    pages: Option<i32>,
    scores: Option<Vec<Option<i32>>>,
}

#[derive(AsChangeset)]
#[diesel(table_name = books)]
struct Change {
    title: Option<String>,
    pages: Option<i32>,
}

fn describe(error: &Failure) -> String {
    match error.downcast_ref::<Error>() {
        Some(Error::DatabaseError(kind, information)) => {
            let kind: &DatabaseErrorKind = kind;
            let name = format!("{kind:?}");
            server_error(&name, information.message(), information.constraint_name())
        }
        _ => error.to_string(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut db = AsyncPgConnection::establish(&url()).await?;
    step("schema", describe, schema(&mut db)).await;
    step("insert and types", describe, insert(&mut db)).await;
    step("filters and pages", describe, filters(&mut db)).await;
    step("relations", describe, relations(&mut db)).await;
    step("operators of PostgreSQL", describe, operators(&mut db)).await;
    step("update and delete", describe, update(&mut db)).await;
    step("upsert", describe, upsert(&mut db)).await;
    step("raw queries", describe, raw(&mut db)).await;
    step("transactions", describe, transactions(&mut db)).await;
    step("errors", describe, errors(&mut db)).await;
    Ok(())
}

async fn schema(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    db.batch_execute(
        "CREATE TABLE authors (
           id serial PRIMARY KEY,
           uid uuid NOT NULL DEFAULT gen_random_uuid(),
           email text NOT NULL,
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
           scores int[],
           UNIQUE (author_id, title)
         );",
    )
    .await?;
    Ok(())
}

async fn insert(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    let created = DateTime::from_timestamp_micros(1).ok_or("no such time")?;
    let author: Author = diesel::insert_into(authors::table)
        .values((
            authors::uid.eq(Uuid::from_u128(1)),
            authors::email.eq("Ann@example.org"),
            authors::meta.eq(json!({"a": [1, null]})),
            authors::tags.eq(vec!["x", "y \"z\""]),
            authors::born.eq(NaiveDate::from_ymd_opt(1970, 1, 2)),
            authors::created_at.eq(created),
        ))
        .get_result(db)
        .await?;
    println!("{author:?}");
    let books: Vec<NewBook> = (1..26)
        .map(|n| NewBook {
            author_id: author.id,
            title: format!("book {n}"),
            pages: (n % 5 != 0).then_some(n),
            scores: Some(vec![Some(n), None]),
        })
        .collect();
    println!("{}", diesel::insert_into(books::table).values(&books).execute(db).await?);
    let email = authors::email.eq("bob@example.org");
    let id: i32 = diesel::insert_into(authors::table)
        .values(email)
        .returning(authors::id)
        .get_result(db)
        .await?;
    println!("{id}");
    Ok(())
}

async fn filters(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    let found: Vec<Book> = books::table
        .filter(books::pages.gt(10).and(books::title.like("book 1%")).or(books::id.eq_any([1, 3])))
        .order(books::id.desc())
        .limit(3)
        .offset(1)
        .select(Book::as_select())
        .load(db)
        .await?;
    rows(&found);
    let count: i64 = books::table.filter(books::pages.is_null()).count().get_result(db).await?;
    let (most, sum): (Option<i32>, Option<i64>) = books::table
        .select((diesel::dsl::max(books::pages), diesel::dsl::sum(books::pages)))
        .first(db)
        .await?;
    println!("{count} {most:?} {sum:?}");
    let groups: Vec<(i32, i64)> = books::table
        .group_by(books::author_id)
        .having(diesel::dsl::count(books::id).gt(1))
        .select((books::author_id, diesel::dsl::count(books::id)))
        .load(db)
        .await?;
    rows(&groups);
    Ok(())
}

async fn relations(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    let pairs: Vec<(String, Option<String>)> = authors::table
        .left_join(books::table.on(books::author_id.eq(authors::id).and(books::id.lt(3))))
        .select((authors::email, books::title.nullable()))
        .order((authors::id, books::id))
        .load(db)
        .await?;
    rows(&pairs);
    let all: Vec<Author> = authors::table.order(authors::id).load(db).await?;
    let theirs: Vec<Book> = Book::belonging_to(&all).load(db).await?;
    let counts: Vec<usize> = theirs.grouped_by(&all).iter().map(Vec::len).collect();
    println!("{counts:?}");
    let with: Vec<String> = authors::table
        .filter(diesel::dsl::exists(books::table.filter(books::author_id.eq(authors::id))))
        .select(authors::email)
        .load(db)
        .await?;
    println!("{with:?}");
    Ok(())
}

async fn operators(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    let by_tag = authors::table.filter(authors::tags.contains(vec!["x"]));
    println!("{}", by_tag.count().get_result::<i64>(db).await?);
    let by_meta = authors::table.filter(authors::meta.contains(json!({"a": [1]})));
    println!("{}", by_meta.count().get_result::<i64>(db).await?);
    let names = authors::table.filter(authors::email.ilike("ANN%")).select(authors::email);
    println!("{:?}", names.load::<String>(db).await?);
    let distinct = books::table.distinct_on(books::author_id).order((books::author_id, books::id));
    println!("{:?}", distinct.select(books::title).load::<String>(db).await?);
    let locked = books::table.for_update().skip_locked().order(books::id).limit(1);
    println!("{:?}", locked.select(books::title).load::<String>(db).await?);
    Ok(())
}

async fn update(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    let change = Change { title: Some("changed".to_owned()), pages: None };
    let book: Book = diesel::update(books::table.find(2)).set(&change).get_result(db).await?;
    println!("{book:?}");
    let more = diesel::update(books::table.filter(books::id.lt(4)))
        .set(books::pages.eq(books::pages + 100));
    println!("{}", more.execute(db).await?);
    let gone: Vec<i64> = diesel::delete(books::table.filter(books::id.gt(23)))
        .returning(books::id)
        .get_results(db)
        .await?;
    println!("{}", gone.len());
    Ok(())
}

async fn upsert(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    for pages in [7, 8] {
        let book: Book = diesel::insert_into(books::table)
            .values((books::author_id.eq(1), books::title.eq("upserted"), books::pages.eq(pages)))
            .on_conflict((books::author_id, books::title))
            .do_update()
            .set(books::pages.eq(excluded(books::pages)))
            .get_result(db)
            .await?;
        println!("{} {:?}", book.title, book.pages);
    }
    let nothing = diesel::insert_into(books::table)
        .values((books::author_id.eq(1), books::title.eq("upserted")))
        .on_conflict_do_nothing();
    println!("{}", nothing.execute(db).await?);
    Ok(())
}

#[derive(Debug, QueryableByName)]
#[allow(dead_code)]
struct Counted {
    #[diesel(sql_type = diesel::sql_types::Text)]
    email: String,
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    books: i64,
}

async fn raw(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    let found: Vec<Counted> = diesel::sql_query(
        "SELECT a.email, count(b.id) AS books FROM authors AS a
         LEFT JOIN books AS b ON b.author_id = a.id WHERE a.id <= $1 GROUP BY a.id ORDER BY a.id",
    )
    .bind::<diesel::sql_types::Integer, _>(2)
    .load(db)
    .await?;
    rows(&found);
    Ok(())
}

async fn transactions(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    db.transaction::<(), Error, _>(async |outer| {
        diesel::update(authors::table.find(1))
            .set(authors::tags.eq(vec!["kept"]))
            .execute(outer)
            .await?;
        let inner = outer
            .transaction::<(), Error, _>(async |inner| {
                diesel::sql_query("SELECT * FROM nowhere").execute(inner).await?;
                Ok(())
            })
            .await;
        fails(describe, inner);
        Ok(())
    })
    .await?;
    let undone = db
        .transaction::<(), Error, _>(async |outer| {
            diesel::delete(authors::table).execute(outer).await?;
            Err(Error::RollbackTransaction)
        })
        .await;
    fails(describe, undone);
    let reader = db
        .build_transaction()
        .serializable()
        .read_only()
        .deferrable()
        .run::<usize, Error, _>(async |own| diesel::delete(authors::table).execute(own).await)
        .await;
    fails(describe, reader);
    let tags = authors::table.order(authors::id).select(authors::tags);
    println!("{:?}", tags.load::<Vec<String>>(db).await?);
    Ok(())
}

async fn errors(db: &mut AsyncPgConnection) -> Result<(), Failure> {
    let book = |author: i32, title: &str| {
        let values = (books::author_id.eq(author), books::title.eq(title.to_owned()));
        diesel::insert_into(books::table).values(values)
    };
    fails(describe, book(1, "book 1").execute(db).await);
    fails(describe, book(99, "x").execute(db).await);
    fails(describe, book(1, &"x".repeat(101)).execute(db).await);
    let negative = diesel::update(books::table).set(books::pages.eq(-1));
    fails(describe, negative.execute(db).await);
    let same = diesel::insert_into(authors::table).values(authors::email.eq("ANN@example.org"));
    fails(describe, same.execute(db).await);
    fails(describe, books::table.find(-1).first::<Book>(db).await);
    fails(describe, diesel::sql_query("SELEC 1").execute(db).await);
    println!("{}", books::table.count().get_result::<i64>(db).await? > 0);
    Ok(())
}
