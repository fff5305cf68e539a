//! Runs the story of one seed and compares each answer with the model.

use std::fmt::Write;

use braid_testkit::random::Random;
use braid_testkit::store::may_lose_locks;
use braid_testkit::target::connect;
use tokio::runtime::Runtime;

use super::model::{Model, is_contention};
use super::session::{Open, Session};
use super::statement::{Answer, Row, Rows, Statement, TABLE};

const SESSIONS_MAX: usize = 3;

/// What has happened, so that a test can see that something did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub seeds: u64,
    pub statements: u64,
    pub committed: u64,
    pub retried: u64,
    pub restarted: u64,
    pub locked_out: u64,
    pub failed: u64,
    pub rolled_back_to: u64,
    pub locks_lost: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        self.seeds += other.seeds;
        self.statements += other.statements;
        self.committed += other.committed;
        self.retried += other.retried;
        self.restarted += other.restarted;
        self.locked_out += other.locked_out;
        self.failed += other.failed;
        self.rolled_back_to += other.rolled_back_to;
        self.locks_lost += other.locks_lost;
    }
}

/// Connections that tell one story after the other.
pub(super) struct Stage {
    runtime: Runtime,
    sessions: Vec<Session>,
    pub counts: Counts,
}

/// One story.
struct Story<'a> {
    seed: u64,
    random: Random,
    model: Model,
    sessions: &'a mut [Session],
    counts: &'a mut Counts,
    /// What was said so far, for the message of a failure.
    transcript: String,
}

impl Stage {
    pub(super) fn new(url: &str) -> Stage {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let sessions = runtime.block_on(async {
            let mut sessions = Vec::new();
            for _ in 0..SESSIONS_MAX {
                let client = connect(url, None).await;
                client.batch_execute("SET lock_timeout = '8ms'").await.expect("a setting");
                sessions.push(Session { client, open: None });
            }
            sessions
        });
        Stage { runtime, sessions, counts: Counts::default() }
    }

    pub(super) fn make_table(&self) {
        let made = self.runtime.block_on(self.sessions[0].client.batch_execute(TABLE));
        made.expect("the table");
    }

    /// Runs the story of that seed.
    ///
    /// # Panics
    /// If an answer fits no order; the message has the seed and all that was said.
    pub(super) fn tell(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let count = *random.pick(&[1, 2, 2, 3, 3]);
        let first: Rows = (0..4).map(|id| (id, Row { v: 0, u: Some(id) })).collect();
        self.counts.seeds += 1;
        let mut story = Story {
            seed,
            random,
            model: Model::new(first.clone()),
            sessions: &mut self.sessions[..count],
            counts: &mut self.counts,
            transcript: String::new(),
        };
        self.runtime.block_on(story.run(first));
    }
}

impl Story<'_> {
    async fn run(&mut self, first: Rows) {
        let fill = Statement::Insert(first.into_iter().collect()).sql(self.seed);
        assert_eq!(self.sessions[0].send(&fill).await, Answer::Count(4));
        for _ in 0..20 + self.random.below(30) {
            let at = self.random.below(self.sessions.len() as u64) as usize;
            match &self.sessions[at].open {
                None => self.begin(at).await,
                Some(open) if open.failed() && self.random.one_in(3) => self.end(at).await,
                Some(_) if self.random.one_in(8) => self.end(at).await,
                Some(_) => self.step(at).await,
            }
        }
        for at in 0..self.sessions.len() {
            while self.sessions[at].open.is_some() {
                self.end(at).await;
            }
        }
        let all = Statement::Range(0, 100);
        let answer = self.say(0, &all.sql(self.seed)).await;
        let newest = self.model.newest();
        let fits = self.model.fits_any(newest, &vec![(all, answer)]);
        self.assert(fits, "the rows at the end are others");
    }

    fn assert(&self, holds: bool, why: &str) {
        let seed = self.seed;
        assert!(
            holds,
            "seed {seed}: {why}; rerun with BRAID_TEST_SEED={seed}\n{}",
            self.transcript
        );
    }

    async fn say(&mut self, at: usize, sql: &str) -> Answer {
        let answer = self.sessions[at].send(sql).await;
        self.counts.statements += 1;
        writeln!(self.transcript, "  s{at}: {sql}\n        {answer}").expect("a text");
        answer
    }

    async fn begin(&mut self, at: usize) {
        let answer = self.say(at, "BEGIN").await;
        self.assert(answer == Answer::Count(0), "BEGIN fails");
        let restartable = self.random.one_in(4);
        if restartable {
            let answer = self.say(at, "SAVEPOINT cockroach_restart").await;
            self.assert(answer == Answer::Count(0), "SAVEPOINT cockroach_restart fails");
        }
        self.sessions[at].open = Some(Open { restartable, ..Open::default() });
    }

    async fn step(&mut self, at: usize) {
        let statement = self.choose(at);
        let newest = self.model.newest();
        let open = self.open(at);
        if !statement.is_mark() {
            // Its snapshot is taken now.
            open.since.get_or_insert(newest);
        }
        let since = open.since.unwrap_or(newest);
        let answer = self.say(at, &statement.sql(self.seed)).await;
        self.check_contention(at, since, &answer);
        self.check_locks(at, &statement, &answer);
        self.count(&statement, &answer);
        let failed = self.open(at).failed();
        let may_lock = statement.locks() && !failed;
        let open = self.open(at);
        open.may_lock |= may_lock;
        let found =
            answer == Answer::Count(1) || matches!(&answer, Answer::Rows(r) if r.len() == 1);
        if let Some(id) = statement.locked_id().filter(|_| found && !is_shared(&statement)) {
            open.held.insert(id);
        }
        open.doomed |= answer == Answer::Error("40001".to_owned());
        open.log.push((statement, answer));
        if open.begins_again() {
            self.forget_rivals(at);
            return;
        }
        if open.failed() && !open.restartable && open.savepoints().is_empty() {
            open.held.clear();
        }
        let open = self.sessions[at].open.as_ref().expect("is open");
        let fits = self.model.fits_any(since, &open.log);
        self.assert(fits, "the answers fit no committed state");
    }

    /// Any statement; but most savepoints that are named exist, and a failed transaction that has
    /// one mostly goes back to it.
    fn choose(&mut self, at: usize) -> Statement {
        let statement = Statement::random(&mut self.random);
        let (failed, savepoint) = (self.open(at).failed(), self.open(at).savepoints().pop());
        let savepoint = savepoint.map(|(name, _)| name);
        let mostly = !self.random.one_in(5);
        match (statement, savepoint) {
            (_, Some(name)) if failed && mostly => Statement::RollbackTo(name),
            (Statement::RollbackTo(_), Some(name)) if mostly => Statement::RollbackTo(name),
            (Statement::Release(_), Some(name)) if mostly => Statement::Release(name),
            (Statement::RollbackTo(name) | Statement::Release(name), None) if mostly => {
                Statement::Savepoint(name)
            }
            (statement, _) => statement,
        }
    }

    fn open(&mut self, at: usize) -> &mut Open {
        self.sessions[at].open.as_mut().expect("a transaction is open")
    }

    fn others(&self, at: usize) -> impl Iterator<Item = &Open> {
        let others = self.sessions.iter().enumerate().filter(move |(other, _)| *other != at);
        others.filter_map(|(_, session)| session.open.as_ref())
    }

    /// Nobody is told to try again, or kept out, without a reason.
    fn check_contention(&self, at: usize, since: usize, answer: &Answer) {
        if !is_contention(answer) {
            return;
        }
        if *answer == Answer::Error("40001".to_owned()) {
            // A transaction whose lock was lost has to try again too.
            let has_reason = self.model.newest() > since || may_lose_locks();
            self.assert(has_reason, "a retry error, and nobody has committed");
        } else {
            // A request for a lock that comes twice may come after the lock was given back.
            let locked = self.others(at).any(|open| open.may_lock) || may_lose_locks();
            self.assert(locked, "a lock error, and nobody has locks");
        }
    }

    /// A row that somebody has locked is not locked by another, unless the store loses locks: then
    /// only one of the two may commit.
    fn check_locks(&mut self, at: usize, statement: &Statement, answer: &Answer) {
        let Some(id) = statement.locked_id() else { return };
        if self.others(at).any(|open| open.held.contains(&id)) {
            let got = matches!(answer, Answer::Count(1))
                || matches!(answer, Answer::Rows(rows) if !rows.is_empty());
            if got && may_lose_locks() {
                return self.lose_lock(at, id);
            }
            self.assert(!got, "a row that another transaction has locked was locked");
        } else if matches!(statement, Statement::Get(_, super::statement::Lock::Skip))
            && *answer == Answer::Rows(Vec::new())
            && !self.others(at).any(|open| open.may_lock)
            && !may_lose_locks()
        {
            // Nobody may have a lock: it has to be missing, not skipped.
            let open = self.sessions[at].open.as_ref().expect("is open");
            let mut log = open.log.clone();
            let plain = Statement::Get(id, super::statement::Lock::None);
            log.push((plain, answer.clone()));
            let since = open.since.unwrap_or(0);
            self.assert(self.model.fits_any(since, &log), "a row was skipped that is not locked");
        }
    }

    /// Somebody's lock was lost, and this session has taken it.
    fn lose_lock(&mut self, at: usize, id: i64) {
        self.counts.locks_lost += 1;
        for other in (0..self.sessions.len()).filter(|other| *other != at) {
            let Some(open) = &mut self.sessions[other].open else { continue };
            if open.held.remove(&id) {
                open.rivals.insert(at);
                self.open(at).rivals.insert(other);
            }
        }
    }

    /// Its locks count no more: the transaction is over, or begins again.
    fn forget_rivals(&mut self, at: usize) {
        for session in self.sessions.iter_mut() {
            if let Some(open) = &mut session.open {
                open.rivals.remove(&at);
            }
        }
        if let Some(open) = &mut self.sessions[at].open {
            open.rivals.clear();
        }
    }

    fn count(&mut self, statement: &Statement, answer: &Answer) {
        match answer {
            Answer::Error(code) if code == "40001" => self.counts.retried += 1,
            Answer::Error(code) if code == "55P03" => self.counts.locked_out += 1,
            Answer::Error(_) => self.counts.failed += 1,
            _ if matches!(statement, Statement::RollbackTo(_)) => self.counts.rolled_back_to += 1,
            _ => {}
        }
    }

    async fn end(&mut self, at: usize) {
        let failed = self.open(at).failed();
        if self.open(at).restartable && failed && self.random.one_in(2) {
            return self.restart(at).await;
        }
        if self.random.one_in(5) {
            let answer = self.say(at, "ROLLBACK").await;
            self.assert(answer == Answer::Count(0), "ROLLBACK fails");
            self.sessions[at].open = None;
            self.forget_rivals(at);
            return;
        }
        let restartable = self.open(at).restartable;
        let release = restartable && !failed && self.random.one_in(2);
        let sql = if release { "RELEASE SAVEPOINT cockroach_restart" } else { "COMMIT" };
        let answer = self.say(at, sql).await;
        let open = self.sessions[at].open.take().expect("is open");
        let newest = self.model.newest();
        let since = open.since.unwrap_or(newest);
        self.check_contention(at, since, &answer);
        let committed = answer == Answer::Count(0) && !failed;
        if committed {
            self.counts.committed += 1;
            // One that changes nothing may stand where its snapshot was.
            let changes = self.model.changes(since, &open.log);
            let fits = self.model.commit(&open.log) || !changes;
            self.assert(fits, "committed, and its answers do not fit the newest state");
            self.assert(!open.is_beaten, "two have locked the same row, and both have committed");
            for rival in &open.rivals {
                self.open(*rival).is_beaten = true;
            }
        } else if !failed {
            self.counts.retried += 1;
            self.assert(is_contention(&answer), "COMMIT fails");
        }
        self.forget_rivals(at);
        if release && !committed && answer == Answer::Error("40001".to_owned()) {
            self.sessions[at].open = Some(open);
            return self.restart(at).await;
        }
        if release {
            let end = if committed { "COMMIT" } else { "ROLLBACK" };
            let answer = self.say(at, end).await;
            self.assert(answer == Answer::Count(0), "the end behind RELEASE fails");
        }
    }

    /// The client's half of a retry: a new attempt, with the locks of the one before.
    async fn restart(&mut self, at: usize) {
        let answer = self.say(at, "ROLLBACK TO SAVEPOINT cockroach_restart").await;
        self.assert(answer == Answer::Count(0), "the restart savepoint is gone");
        self.counts.restarted += 1;
        let open = self.open(at);
        open.log.clear();
        (open.since, open.doomed, open.is_beaten) = (None, false, false);
        if may_lose_locks() {
            open.held.clear();
        }
        self.forget_rivals(at);
    }
}

fn is_shared(statement: &Statement) -> bool {
    matches!(statement, Statement::Get(_, super::statement::Lock::Share))
}
