//! The graph of who stands before whom, and its strongly connected components.

use super::record::{Key, Value};

/// Why one transaction stands before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cause {
    /// The second wrote after the value of the first.
    WriteWrite(Key, Value),
    /// The second read the value of the first.
    WriteRead(Key, Value),
    /// The first read the state that the second changed by this value.
    ReadWrite(Key, Value),
    /// The first was answered before the second was sent.
    RealTime,
}

/// Nodes below `transactions` are transactions, the others moments in time, each after the one
/// before: n moments and 3n edges say what n² edges between transactions would.
#[derive(Debug)]
pub(super) struct Graph {
    pub edges: Vec<Vec<(usize, Cause)>>,
    pub transactions: usize,
}

impl Graph {
    pub(super) fn new(transactions: usize) -> Graph {
        Graph { edges: vec![Vec::new(); transactions], transactions }
    }

    pub(super) fn add(&mut self, from: usize, to: usize, cause: Cause) {
        if from != to {
            self.edges[from].push((to, cause));
        }
    }

    /// A new node after all others.
    pub(super) fn add_node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    pub(super) fn is_transaction(&self, node: usize) -> bool {
        node < self.transactions
    }

    /// The components of more than one node, over the edges that `takes` accepts. (Tarjan's way,
    /// with a stack of its own: histories are deeper than a thread's stack.)
    pub(super) fn components(&self, takes: impl Fn(Cause) -> bool) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let count = self.edges.len();
        let (mut index, mut low) = (vec![NEW; count], vec![0; count]);
        let (mut on_stack, mut stack) = (vec![false; count], Vec::new());
        let (mut next, mut found) = (0, Vec::new());
        for root in 0..count {
            if index[root] != NEW {
                continue;
            }
            let mut calls = vec![(root, 0)];
            while let Some((node, at)) = calls.pop() {
                if at == 0 {
                    (index[node], low[node]) = (next, next);
                    next += 1;
                    stack.push(node);
                    on_stack[node] = true;
                }
                let mut child = None;
                for (offset, (to, cause)) in self.edges[node][at..].iter().enumerate() {
                    if !takes(*cause) {
                        continue;
                    }
                    if index[*to] == NEW {
                        child = Some((*to, at + offset + 1));
                        break;
                    } else if on_stack[*to] {
                        low[node] = low[node].min(index[*to]);
                    }
                }
                if let Some((to, resume)) = child {
                    calls.push((node, resume));
                    calls.push((to, 0));
                    continue;
                }
                if let Some((parent, _)) = calls.last() {
                    low[*parent] = low[*parent].min(low[node]);
                }
                if low[node] == index[node] {
                    let start = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                    let component = stack.split_off(start);
                    component.iter().for_each(|member| on_stack[*member] = false);
                    if component.len() > 1 {
                        found.push(component);
                    }
                }
            }
        }
        found
    }
}
