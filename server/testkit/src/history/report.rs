//! What the checker found.

use std::fmt;

/// The class of an anomaly, by Adya's names where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// G1a: a value was read whose write was rolled back.
    AbortedRead,
    /// G1b: a value was read that its own transaction replaced or added to before its end.
    IntermediateRead,
    /// A value was read that nobody wrote.
    GarbageRead,
    /// A value stands twice in a list, or two transactions wrote the same one.
    Duplicate,
    /// Two readings of a list of which neither is the start of the other.
    IncompatibleOrder,
    /// A transaction's reading contradicts its own earlier readings and writes.
    Internal,
    /// An acknowledged append is not in a reading that began after the acknowledgement.
    LostWrite,
    /// G0: a cycle of write-write edges.
    WriteCycle,
    /// G1c: a cycle of write-write and write-read edges.
    CircularInformation,
    /// G-single: a cycle with one read-write edge, as read skew and lost update make.
    ReadSkew,
    /// G2: a cycle with several read-write edges, as write skew makes.
    WriteSkew,
    /// A cycle that only real time closes: serializable, but somebody read a stale state.
    RealTime,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::AbortedRead => "G1a, aborted read",
            Kind::IntermediateRead => "G1b, intermediate read",
            Kind::GarbageRead => "garbage read",
            Kind::Duplicate => "duplicate",
            Kind::IncompatibleOrder => "incompatible order",
            Kind::Internal => "internal inconsistency",
            Kind::LostWrite => "lost write",
            Kind::WriteCycle => "G0, write cycle",
            Kind::CircularInformation => "G1c, circular information flow",
            Kind::ReadSkew => "G-single, read skew",
            Kind::WriteSkew => "G2, write skew",
            Kind::RealTime => "real-time violation",
        })
    }
}

/// One thing that strict serializability does not allow.
#[derive(Clone, Debug)]
pub struct Anomaly {
    /// Its class.
    pub kind: Kind,
    /// Which transactions, and why.
    pub description: String,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.description)
    }
}

/// The answer of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What was found, the simplest classes first; not all of it if there is much.
    pub anomalies: Vec<Anomaly>,
    /// Transactions that count as committed.
    pub committed: usize,
    /// Edges between them, those of real time left out.
    pub edges: usize,
}

impl Report {
    /// Whether something of that class was found.
    pub fn has(&self, kind: Kind) -> bool {
        self.anomalies.iter().any(|anomaly| anomaly.kind == kind)
    }

    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.anomalies.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} committed transactions, {} edges", self.committed, self.edges)?;
        for anomaly in &self.anomalies {
            write!(f, "\n{anomaly}")?;
        }
        Ok(())
    }
}
