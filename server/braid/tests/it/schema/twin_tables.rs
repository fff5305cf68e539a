//! Two tables of the same rows, of which one gets indexes: indexes must change no answer.

use braid_testkit::server::Server;
use braid_testkit::target::{connect, first_column};
use tokio_postgres::Client;

/// The table without indexes, and the one that gets them.
const TABLES: [&str; 2] = ["plain", "indexed"];

/// The tables `plain` and `indexed`. `@` and a blank in a statement stand for either of them.
pub(crate) struct TwinTables {
    pub client: Client,
}

fn named(statement: &str, table: &str) -> String {
    statement.replace("@ ", &format!("{table} "))
}

impl TwinTables {
    /// Makes both tables.
    pub(crate) async fn create(server: &Server, columns: &str) -> TwinTables {
        let client = connect(server.sql_url(), None).await;
        for table in TABLES {
            client.batch_execute(&format!("CREATE TABLE {table} ({columns})")).await.expect("made");
        }
        TwinTables { client }
    }

    /// Runs a statement on both tables: it changes as many rows, or fails alike.
    pub(crate) async fn change(&self, statement: &str) {
        let mut outcomes = Vec::new();
        for table in TABLES {
            let done = self.client.execute(&named(statement, table), &[]).await;
            outcomes.push(done.map_err(|error| match error.code() {
                Some(state) => state.code().to_owned(),
                None => error.to_string(),
            }));
        }
        assert_eq!(outcomes[0], outcomes[1], "{statement}");
    }

    /// Asks both tables: the rows are the same. The query of the table with indexes is returned.
    pub(crate) async fn query(&self, query: &str) -> String {
        let [plain, indexed] = TABLES.map(|table| named(query, table));
        let rows = first_column(&self.client, &plain).await;
        assert_eq!(rows, first_column(&self.client, &indexed).await, "{indexed}");
        indexed
    }

    /// `CHECK TABLE` finds nothing in the table with indexes.
    pub(crate) async fn check(&self) {
        let findings = first_column(&self.client, "CHECK TABLE indexed").await;
        assert!(findings.is_empty(), "{findings:?}");
    }
}
