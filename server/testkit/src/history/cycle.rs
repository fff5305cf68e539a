//! Finds the shortest cycles of a component, classifies and explains them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::graph::{Cause, Graph};
use super::record::{History, Key};
use super::report::{Anomaly, Kind};

/// Cycles reported of one class.
const CYCLES_MAX: usize = 5;
/// Nodes of one component from which a cycle is searched; a shorter one may be missed beyond.
const STARTS_MAX: usize = 300;

type Step = (usize, Cause, usize);

/// The cycles of the graph, the simplest class first. What a simpler class explains is not
/// reported again in the next.
pub(super) fn find(graph: &Graph, history: &History, anomalies: &mut Vec<Anomaly>) {
    let writes = |cause| matches!(cause, Cause::WriteWrite(..));
    let values = |cause| matches!(cause, Cause::WriteWrite(..) | Cause::WriteRead(..));
    let data = |cause| cause != Cause::RealTime;
    let mut explained: BTreeSet<usize> = BTreeSet::new();
    search(graph, history, &writes, &mut explained, anomalies);
    search(graph, history, &values, &mut explained, anomalies);
    search(graph, history, &data, &mut explained, anomalies);
    search(graph, history, &|_| true, &mut explained, anomalies);
}

fn search(
    graph: &Graph,
    history: &History,
    takes: &dyn Fn(Cause) -> bool,
    explained: &mut BTreeSet<usize>,
    anomalies: &mut Vec<Anomaly>,
) {
    let mut reported = 0;
    for component in graph.components(takes) {
        if reported == CYCLES_MAX {
            return;
        }
        if component.iter().any(|node| explained.contains(node)) {
            continue;
        }
        let members: BTreeSet<usize> = component.iter().copied().collect();
        let Some(cycle) = shortest(graph, &members, takes) else { continue };
        anomalies.push(Anomaly { kind: classify(&cycle), description: explain(history, &cycle) });
        explained.extend(members.iter().filter(|node| graph.is_transaction(**node)));
        reported += 1;
    }
}

/// The shortest cycle, one with a single read-write edge before others if there is one.
fn shortest(
    graph: &Graph,
    members: &BTreeSet<usize>,
    takes: &dyn Fn(Cause) -> bool,
) -> Option<Vec<Step>> {
    let starts: Vec<usize> =
        members.iter().copied().filter(|node| graph.is_transaction(*node)).collect();
    let mut best: Option<Vec<Step>> = None;
    let rank = |cycle: &[Step]| (antis(cycle) > 1, cycle.len());
    for start in starts.iter().take(STARTS_MAX) {
        for (to, cause) in &graph.edges[*start] {
            if !members.contains(to) || !takes(*cause) {
                continue;
            }
            // A way back that adds no second read-write edge makes the simpler class.
            let simple = |other| takes(other) && !matches!(other, Cause::ReadWrite(..));
            let back = path(graph, members, &simple, *to, *start)
                .or_else(|| path(graph, members, takes, *to, *start));
            let Some(back) = back else { continue };
            let mut cycle = vec![(*start, *cause, *to)];
            cycle.extend(back);
            let cycle = without_moments(graph, cycle);
            if best.as_ref().is_none_or(|best| rank(&cycle) < rank(best)) {
                best = Some(cycle);
            }
        }
        if best.as_ref().is_some_and(|best| best.len() == 2 && antis(best) <= 1) {
            break;
        }
    }
    best
}

fn antis(cycle: &[Step]) -> usize {
    cycle.iter().filter(|(_, cause, _)| matches!(cause, Cause::ReadWrite(..))).count()
}

/// The path of the fewest transactions, inside the component; moments cost nothing.
fn path(
    graph: &Graph,
    members: &BTreeSet<usize>,
    takes: &dyn Fn(Cause) -> bool,
    from: usize,
    to: usize,
) -> Option<Vec<Step>> {
    let mut came: BTreeMap<usize, Step> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        if node == to {
            let mut steps = Vec::new();
            let mut at = to;
            while at != from {
                let step = came[&at];
                steps.push(step);
                at = step.0;
            }
            steps.reverse();
            return Some(steps);
        }
        for (next, cause) in &graph.edges[node] {
            let is_new = *next != from && !came.contains_key(next);
            if is_new && members.contains(next) && takes(*cause) {
                came.insert(*next, (node, *cause, *next));
                if graph.is_transaction(*next) {
                    queue.push_back(*next);
                } else {
                    queue.push_front(*next);
                }
            }
        }
    }
    None
}

/// Steps over moments in time become one step between transactions.
fn without_moments(graph: &Graph, mut cycle: Vec<Step>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    // Starts at a transaction, so every moment has a step before it.
    if let Some(first) = cycle.iter().position(|step| graph.is_transaction(step.0)) {
        cycle.rotate_left(first);
    }
    for step in cycle {
        match steps.last_mut() {
            Some(last) if !graph.is_transaction(last.2) => last.2 = step.2,
            _ => steps.push(step),
        }
    }
    steps
}

fn classify(cycle: &[Step]) -> Kind {
    let has = |wanted: fn(&Cause) -> bool| cycle.iter().any(|(_, cause, _)| wanted(cause));
    if has(|cause| matches!(cause, Cause::RealTime)) {
        return Kind::RealTime;
    }
    match antis(cycle) {
        0 if has(|cause| matches!(cause, Cause::WriteRead(..))) => Kind::CircularInformation,
        0 => Kind::WriteCycle,
        1 => Kind::ReadSkew,
        _ => Kind::WriteSkew,
    }
}

fn explain(history: &History, cycle: &[Step]) -> String {
    let mut text = format!("a cycle of {} transactions", cycle.len());
    for (from, _, _) in cycle {
        text.push_str(&format!("\n  T{from} is {}", history.transactions[*from]));
    }
    for (from, cause, to) in cycle {
        let why = match cause {
            Cause::WriteWrite(key, value) => {
                format!("T{to} put {value} behind what T{from} wrote to {key}")
            }
            Cause::WriteRead(key, value) => format!("T{to} read {value} of T{from} in {key}"),
            Cause::ReadWrite(key, value) => {
                let verb = if matches!(key, Key::List(_)) { "append" } else { "write" };
                format!("T{from} did not see T{to} {verb} {value} to {key}")
            }
            Cause::RealTime => format!("T{from} was answered before T{to} was sent"),
        };
        text.push_str(&format!("\n  T{from} before T{to}: {why}"));
    }
    text
}
