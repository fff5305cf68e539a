//! ALTER DATABASE … SET and ALTER ROLE … IN DATABASE … SET: the sessions that begin afterwards have
//! the settings. The same on PostgreSQL, if `POSTGRES_URL` names one.

use braid_testkit::target::{Database, Target};

#[test]
fn later_sessions_have_the_settings() {
    check(&Target::from_env());
}

#[test]
fn later_sessions_have_the_settings_on_postgres() {
    if let Some(target) = Target::postgres() {
        check(&target);
    }
}

fn check(target: &Target) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let database = target.create_database("stored_settings").await;
        change(&database, "ALTER DATABASE {database} SET work_mem = '8MB'").await;
        assert_eq!(shown(&database, "work_mem").await, "8MB");
        change(&database, "ALTER ROLE {user} IN DATABASE {database} SET work_mem TO '9MB'").await;
        change(&database, "ALTER DATABASE {database} SET search_path = a, \"B c\"").await;
        assert_eq!(shown(&database, "work_mem").await, "9MB");
        assert_eq!(shown(&database, "search_path").await, "a, \"B c\"");
        change(&database, "ALTER ROLE {user} IN DATABASE {database} RESET ALL").await;
        assert_eq!(shown(&database, "work_mem").await, "8MB");
        change(&database, "ALTER DATABASE {database} RESET work_mem").await;
        change(&database, "ALTER DATABASE {database} SET search_path TO DEFAULT").await;
        assert_eq!(shown(&database, "work_mem").await, "4MB");
        database.drop().await;
    });
}

async fn change(database: &Database, sql: &str) {
    let client = database.connect().await;
    let row = client
        .query_one("SELECT quote_ident(current_database()), quote_ident(current_user)", &[])
        .await
        .expect("the names");
    let (name, user): (String, String) = (row.get(0), row.get(1));
    let sql = sql.replace("{database}", &name).replace("{user}", &user);
    client.batch_execute(&sql).await.expect("the change");
}

async fn shown(database: &Database, name: &str) -> String {
    let client = database.connect().await;
    let row = client.query_one("SELECT current_setting($1)", &[&name]).await.expect("a setting");
    row.get(0)
}
