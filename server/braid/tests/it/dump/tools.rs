//! The programs of PostgreSQL's client, and the comparison of dumps.

#![allow(clippy::print_stdout, reason = "a test says what it left out")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use braid_testkit::size::Size;
use braid_testkit::target::{Database, Target};

/// The superuser that restores on both servers, so that owners have the same name.
pub(super) const ADMIN: &str = "dump_admin";
/// The roles of `roles.sql`.
pub(super) const ROLES: [&str; 3] = ["dump_owner", "dump_reader", "dump_writer"];

/// The folder with `psql`, `pg_dump`, `pg_dumpall` and `pg_restore` of version 15.
pub(super) struct Tools(PathBuf);

impl Tools {
    /// `None`, with a line on the test's output, if they are not installed.
    pub(super) fn find() -> Option<Tools> {
        let folders = ["/usr/lib/postgresql/15/bin", ""].map(PathBuf::from);
        let found = folders.into_iter().find(|folder| {
            let output = Command::new(folder.join("pg_dump")).arg("--version").output();
            output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(" 15."))
        });
        if found.is_none() {
            println!("skipped: pg_dump of PostgreSQL 15 is not installed");
        }
        found.map(Tools)
    }

    /// Runs a program; its output.
    ///
    /// # Panics
    /// If it fails or complains.
    pub(super) fn run(&self, program: &str, args: &[&str]) -> String {
        let output = self.output(program, args);
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        let only_notices = complaints.lines().all(|line| line.contains("NOTICE"));
        assert!(output.status.success() && only_notices, "{program} {args:?}: {complaints}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn output(&self, program: &str, args: &[&str]) -> Output {
        let mut command = Command::new(self.0.join(program));
        command.args(args).env_remove("PGOPTIONS");
        command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
    }

    /// Runs a script of SQL; its output. The first error ends it.
    pub(super) fn script(&self, url: &str, file: &Path) -> String {
        let file = file.to_str().expect("a name");
        self.run("psql", &["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", file])
    }

    /// Runs one statement.
    pub(super) fn sql(&self, url: &str, sql: &str) -> String {
        self.run("psql", &["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
    }

    /// The dump of a database as SQL.
    pub(super) fn dump(&self, url: &str) -> String {
        self.run("pg_dump", &["-d", url])
    }

    /// Dumps a database in a format and restores it into an empty one, without an error.
    pub(super) fn copy(&self, from: &str, to: &str, format: Format) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("dump");
        let name = file.to_str().expect("a name");
        let letter = format.letter();
        let mut dump = vec!["-F", letter, "-f", name, "-d", from];
        if format == Format::Directory {
            dump.extend(["-j", "2"]);
        }
        self.run("pg_dump", &dump);
        match format {
            Format::Plain => drop(self.script(to, &file)),
            Format::Tar => drop(self.run("pg_restore", &["-e", "-d", to, name])),
            // Several jobs cannot stop at the first error, but they report it.
            _ => drop(self.run("pg_restore", &["-j", "2", "-d", to, name])),
        }
    }
}

/// The formats of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Plain,
    Custom,
    Directory,
    Tar,
}

impl Format {
    const ALL: [Format; 4] = [Format::Plain, Format::Custom, Format::Directory, Format::Tar];
    /// Text read by `psql`, and a restore by several jobs.
    const SAMPLE: [Format; 2] = [Format::Plain, Format::Directory];

    /// The formats to dump in, at this size of tests.
    pub(super) fn of_size() -> &'static [Format] {
        Size::from_env().pick::<&'static [Format]>(&Self::SAMPLE, &Self::SAMPLE, &Self::ALL)
    }

    fn letter(self) -> &'static str {
        match self {
            Format::Plain => "p",
            Format::Custom => "c",
            Format::Directory => "d",
            Format::Tar => "t",
        }
    }
}

/// A file beside the tests.
pub(super) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dump").join(name)
}

/// The URL of a database for [`ADMIN`].
pub(super) fn admin_url(database: &Database) -> String {
    let url = database.url();
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (_, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    format!("{scheme}://{ADMIN}@{place}")
}

/// Held while roles are made: tests share a PostgreSQL and run side by side.
static MAKING_ROLES: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Makes the roles that are not there yet. Tests share a PostgreSQL, so the roles stay.
pub(super) async fn make_roles(tools: &Tools, target: &Target) {
    let _alone = MAKING_ROLES.lock().await;
    let database = target.create_database("dump_roles").await;
    let url = database.url();
    let known = tools.sql(&url, "SELECT rolname FROM pg_roles");
    let is_known = |name: &str| known.lines().any(|line| line == name);
    if !is_known(ADMIN) {
        tools.sql(&url, &format!("CREATE ROLE {ADMIN} SUPERUSER LOGIN"));
    }
    if !ROLES.iter().all(|role| is_known(role)) {
        tools.script(&url, &file("roles.sql"));
    }
    database.drop().await;
}

/// Runs a check on every server, once its roles are made; the results, BraidDB's first. `None`
/// without the programs.
pub(super) fn on_each_target<T>(check: impl AsyncFn(&Tools, &Target) -> T) -> Option<Vec<T>> {
    let tools = Tools::find()?;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    Some(runtime.block_on(async {
        let mut results = Vec::new();
        for target in Target::all() {
            make_roles(&tools, &target).await;
            results.push(check(&tools, &target).await);
        }
        results
    }))
}

/// How messages call the server.
pub(super) fn server_name(target: &Target) -> &'static str {
    if target.is_postgres() { "PostgreSQL" } else { "BraidDB" }
}

/// Fails unless two dumps are the same; names the first difference.
pub(super) fn assert_same(what: &str, first: &str, second: &str) {
    let (first, second) = (comparable(first), comparable(second));
    for (at, (a, b)) in first.iter().zip(&second).enumerate() {
        let before = &first[at.saturating_sub(8)..at];
        assert_eq!(a, b, "{what}: after {before:#?}");
    }
    assert_eq!(first.len(), second.len(), "{what}: one dump is longer");
}

/// The lines of a dump, without what names the server.
fn comparable(dump: &str) -> Vec<String> {
    let is_about_server = |line: &str| {
        line.starts_with("\\restrict")
            || line.starts_with("\\unrestrict")
            || line.starts_with("-- Dumped ")
    };
    dump.lines().filter(|line| !is_about_server(line)).map(bare).collect()
}

/// A line whose expression has lost the parentheses, casts and operator names that PostgreSQL
/// writes into it: they differ with who has stored it.
fn bare(line: &str) -> String {
    let has_expression =
        [" DEFAULT ", " CHECK (", " AS (", " WHERE "].iter().any(|word| line.contains(word));
    if !has_expression {
        return line.to_owned();
    }
    let line = line.replace(['(', ')'], "").replace(" LIKE ", " ~~ ");
    let mut out = String::new();
    let mut parts = line.split("::");
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || "[]_ ".contains(c)));
        let kept =
            part.find(" NOT NULL").filter(|at| end.is_none_or(|end| *at < end)).or_else(|| {
                part.find([' ', ',', ')']).filter(|_| !part.to_lowercase().starts_with("timestamp"))
            });
        out.push_str(&part[kept.or(end).unwrap_or(part.len())..]);
    }
    out
}
