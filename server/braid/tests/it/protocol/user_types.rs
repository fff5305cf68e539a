//! Parameters whose types users made, by the oids that a driver has looked up.

use braid_testkit::server::{Config, Server};
use braid_testkit::target::connect;

const SETUP: &str = "CREATE TYPE pair AS (a int, b text);
    CREATE DOMAIN positive AS int CHECK (value > 0);
    CREATE TABLE t (p pair, ps pair[], n positive)";

#[test]
fn a_parameter_has_the_oid_of_a_composite_type_or_a_domain() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let server = Server::start(Config::new());
        let client = connect(server.sql_url(), None).await;
        client.batch_execute(SETUP).await.expect("is created");
        let described = client.prepare("SELECT p, ps, n FROM t").await.expect("is described");
        let types: Vec<_> = described.columns().iter().map(|c| c.type_().clone()).collect();
        let (pair, pairs) = (types[0].clone(), types[1].clone());
        let insert = "INSERT INTO t (p, ps) VALUES ($1, $2)";
        let insert = client.prepare_typed(insert, &[pair.clone(), pairs]).await;
        insert.expect("the types are known");
        let oid = "SELECT oid FROM pg_type WHERE typname = 'positive'";
        let oid: u32 = client.query_one(oid, &[]).await.expect("is found").get(0);
        let domain = tokio_postgres::types::Type::new(
            "positive".to_owned(),
            oid,
            tokio_postgres::types::Kind::Simple,
            "public".to_owned(),
        );
        let select = client.prepare_typed("SELECT $1, ($2).b", &[domain, pair]).await;
        let select = select.expect("the types are known");
        assert_eq!(select.columns()[1].type_().name(), "text");
    });
}
