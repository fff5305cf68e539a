//! The sqllogictest corpus over the wire: everything that real PostgreSQL passes must pass here.
//!
//! `BRAID_SLT_DIR` names the folder of the corpus; without it the test says so and passes.
//! `BRAID_TEST_SIZE` small runs the first records of a few files, medium runs every twelfth file,
//! so some of each kind, and full runs everything.
//!
//! The full size also checks the runner, if `POSTGRES_URL` names a real PostgreSQL: the corpus must
//! give exactly the figures in `slt_figures.txt` there. `UPDATE_GOLDENFILES=1` then records the
//! queries that PostgreSQL fails in `slt_exceptions.txt`.

#![allow(clippy::print_stdout, reason = "a test says what it did and what it left out")]

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_testkit::size::Size;
use braid_testkit::slt::{Corpus, Exceptions, Figures, Report, parse, run_file};
use braid_testkit::target::Target;

const LABEL: &str = "postgresql";
/// The small size: one file of each kind, and this number of records of each.
const SMALL_RECORDS: usize = 300;
const SMALL_FILES: [&str; 12] = [
    "test/evidence/in2.test",
    "test/evidence/slt_lang_createview.test",
    "test/index/between/10/slt_good_0.test",
    "test/index/delete/10/slt_good_0.test",
    "test/index/in/10/slt_good_0.test",
    "test/index/orderby/10/slt_good_0.test",
    "test/index/view/100/slt_good_0.test",
    "test/random/aggregates/slt_good_0.test",
    "test/random/expr/slt_good_0.test",
    "test/random/groupby/slt_good_0.test",
    "test/random/select/slt_good_0.test",
    "test/select1.test",
];

#[test]
fn the_corpus_passes_where_postgresql_passes() {
    let Some(corpus) = corpus() else { return };
    let size = Size::from_env();
    let files: Vec<String> = match size {
        Size::Small => SMALL_FILES.map(str::to_owned).to_vec(),
        Size::Medium => corpus.files().iter().step_by(12).cloned().collect(),
        Size::Full => corpus.files().to_vec(),
    };
    let records_max = size.pick(SMALL_RECORDS, usize::MAX, usize::MAX);

    check_server(&run_all(&Target::from_env(), &corpus, &files, records_max), size);
}

#[test]
fn the_runner_gives_the_published_figures() {
    let (Some(corpus), Some(target)) = (corpus(), Target::postgres()) else { return };
    if Size::from_env() != Size::Full {
        println!("skipped: BRAID_TEST_SIZE is not full");
        return;
    }
    check_runner(&run_all(&target, &corpus, corpus.files(), usize::MAX));
}

fn corpus() -> Option<Corpus> {
    let Some(folder) = std::env::var_os("BRAID_SLT_DIR") else {
        println!("skipped: BRAID_SLT_DIR does not name the folder of the sqllogictest corpus");
        return None;
    };
    Some(Corpus::open(Path::new(&folder)).expect("the corpus"))
}

/// Runs the files side by side, each in a database of its own.
fn run_all(
    target: &Target,
    corpus: &Corpus,
    files: &[String],
    records_max: usize,
) -> Vec<(String, Report)> {
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::new());
    let lanes = std::thread::available_parallelism().map_or(2, usize::from) * 2;
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut records = parse(&corpus.text(file).expect("a file"), LABEL);
                    records.truncate(records_max);
                    let report = runtime.block_on(async {
                        let database = target.create_database("slt").await;
                        let client = database.connect().await;
                        let report = run_file(&client, &records).await;
                        drop(client);
                        database.drop().await;
                        report
                    });
                    println!("{file}: {} passed, {} failed", report.passed, report.failed_queries);
                    reports.lock().expect("no lane panicked").push((file.clone(), report));
                }
            });
        }
    });
    let mut reports = reports.into_inner().expect("no lane panicked");
    reports.sort_by(|a, b| a.0.cmp(&b.0));
    reports
}

/// Real PostgreSQL gives the published figures, or the runner is wrong.
fn check_runner(reports: &[(String, Report)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt_exceptions.txt");
    let mut exceptions = Exceptions::default();
    for (file, report) in reports {
        report.failures.iter().for_each(|failure| exceptions.add(file, failure.line));
    }
    let figures = Figures::parse(include_str!("../../slt_figures.txt"));
    let mut wrong = Vec::new();
    for (file, report) in reports {
        let failed = report.stopped.is_none().then_some(report.failed_queries);
        let found = Figures { passed: report.passed, failed };
        if figures.get(file) != Some(&found) {
            wrong.push(format!("{file}: {:?} instead of {:?}", found, figures.get(file)));
            for failure in report.failures.iter().take(3) {
                wrong.push(format!("  line {}: {}\n{}", failure.line, failure.why, failure.sql));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(reports.len(), figures.len());
    let printed = format!(
        "# Records that real PostgreSQL 15 fails, by file and line; recorded by tests/slt.rs.\n{}",
        exceptions.print()
    );
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&path, printed).expect("the list of exceptions is written");
    } else {
        assert_eq!(std::fs::read_to_string(&path).expect("the list of exceptions"), printed);
    }
}

/// Whatever PostgreSQL passes, passes.
fn check_server(reports: &[(String, Report)], size: Size) {
    let exceptions = Exceptions::parse(include_str!("../../slt_exceptions.txt"));
    let figures = Figures::parse(include_str!("../../slt_figures.txt"));
    let mut wrong = Vec::new();
    for (file, report) in reports {
        let stops = figures.get(file).is_some_and(|figures| figures.failed.is_none());
        // Behind the statement that stops PostgreSQL nothing is known of it.
        let end = exceptions.last(file).filter(|_| stops).unwrap_or(usize::MAX);
        let ours: Vec<_> = report
            .failures
            .iter()
            .filter(|failure| !exceptions.contains(file, failure.line) && failure.line < end)
            .collect();
        for failure in ours.iter().take(5) {
            wrong.push(format!("{file}:{}: {}\n{}", failure.line, failure.why, failure.sql));
        }
        if ours.len() > 5 {
            wrong.push(format!("{file}: {} more", ours.len() - 5));
        }
        let wanted = figures.get(file).map_or(0, |figures| figures.passed);
        if size != Size::Small && report.passed < wanted && ours.is_empty() {
            wrong.push(format!("{file}: {} passed, PostgreSQL passes {wanted}", report.passed));
        }
    }
    let passed: usize = reports.iter().map(|(_, report)| report.passed).sum();
    println!("{passed} queries passed in {} files", reports.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
