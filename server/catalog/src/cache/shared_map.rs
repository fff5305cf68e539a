//! A sorted map whose copies share what was not changed since.
//!
//! ```text
//!   before   root ─┬─ [a b c]                after   root'─┬─ [a b c]      shared
//!                  ├─ [d e f]                              ├─ [d e x f]    new
//!                  └─ [g h i]                              └─ [g h i]      shared
//! ```
//!
//! It is a tree. A copy costs one pointer. A change copies one node a level, so that its cost
//! depends on the depth of the tree and not on the number of entries.
//!
//! Rules that must always hold: no node below the root is empty; the keys of a child are not below
//! its own bound and below that of the next child. The bound of the first child counts as none.

use std::cmp::Ordering;
use std::sync::Arc;

/// The most entries of a leaf, and the most children of an inner node.
const NODE_MAX: usize = 64;

/// A sorted map that is cheap to copy.
#[derive(Clone, Debug)]
pub(crate) struct SharedMap<K, V> {
    root: Arc<Node<K, V>>,
}

#[derive(Clone, Debug)]
enum Node<K, V> {
    Leaf(Vec<(K, V)>),
    /// Children with their lower bounds.
    Inner(Vec<Child<K, V>>),
}

type Child<K, V> = (K, Arc<Node<K, V>>);

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap { root: Arc::new(Node::Leaf(Vec::new())) }
    }
}

/// The child that has what `order` compares with, if any child has it.
fn child_of<K, V>(children: &[Child<K, V>], order: &impl Fn(&K) -> Ordering) -> usize {
    let above = children.iter().skip(1);
    above.take_while(|(bound, _)| order(bound).is_le()).count()
}

impl<K, V> SharedMap<K, V> {
    /// Every entry in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.iter_from(|_| Ordering::Greater)
    }

    /// Every value in the order of keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The entries from the first key on that is not below what `order` compares with.
    pub(crate) fn iter_from(
        &self,
        order: impl Fn(&K) -> Ordering,
    ) -> impl Iterator<Item = (&K, &V)> {
        let (mut open, mut node) = (Vec::new(), &*self.root);
        let entries = loop {
            match node {
                Node::Inner(children) => {
                    let place = child_of(children, &order);
                    open.push(children[place + 1..].iter());
                    node = &children[place].1;
                }
                Node::Leaf(entries) => {
                    let first = entries.partition_point(|(key, _)| order(key).is_lt());
                    break entries[first..].iter();
                }
            }
        };
        Iter { open, entries }
    }

    /// The value of the key that `order` calls equal.
    pub(crate) fn get_by(&self, order: impl Fn(&K) -> Ordering) -> Option<&V> {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Inner(children) => node = &children[child_of(children, &order)].1,
                Node::Leaf(entries) => {
                    let found = entries.binary_search_by(|(key, _)| order(key)).ok()?;
                    return Some(&entries[found].1);
                }
            }
        }
    }
}

/// The way through the tree: the children still to come, level by level, and those of the leaf.
struct Iter<'m, K, V> {
    open: Vec<std::slice::Iter<'m, Child<K, V>>>,
    entries: std::slice::Iter<'m, (K, V)>,
}

impl<'m, K, V> Iterator for Iter<'m, K, V> {
    type Item = (&'m K, &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.entries.next() {
                return Some((key, value));
            }
            let (_, child) = loop {
                match self.open.last_mut()?.next() {
                    Some(child) => break child,
                    None => drop(self.open.pop()),
                }
            };
            let mut node = &**child;
            while let Node::Inner(children) = node {
                let mut children = children.iter();
                let Some((_, first)) = children.next() else { break };
                self.open.push(children);
                node = first;
            }
            if let Node::Leaf(entries) = node {
                self.entries = entries.iter();
            }
        }
    }
}

impl<K: Clone + Ord, V: Clone> SharedMap<K, V> {
    /// The value of a key.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.get_by(|known| known.cmp(key))
    }

    /// Adds or replaces an entry; the value before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let root = Arc::make_mut(&mut self.root);
        let (before, cut) = root.insert(key, value);
        if let Some((bound, above)) = cut {
            let below = std::mem::replace(root, Node::Inner(Vec::new()));
            // The bound of a first child counts as none.
            *root = Node::Inner(vec![(bound.clone(), Arc::new(below)), (bound, above)]);
        }
        before
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.get(key)?;
        let root = Arc::make_mut(&mut self.root);
        let before = root.remove(key);
        while let Node::Inner(children) = root
            && children.len() == 1
            && let Some((_, only)) = children.pop()
        {
            *root = Arc::unwrap_or_clone(only);
        }
        before
    }
}

impl<K: Clone + Ord, V: Clone> Node<K, V> {
    /// The value before, and a new neighbour above this node if it had too many entries.
    fn insert(&mut self, key: K, value: V) -> (Option<V>, Option<Child<K, V>>) {
        match self {
            Node::Leaf(entries) => {
                let place = match entries.binary_search_by(|(known, _)| known.cmp(&key)) {
                    Ok(place) => {
                        let before = std::mem::replace(&mut entries[place].1, value);
                        return (Some(before), None);
                    }
                    Err(place) => place,
                };
                entries.insert(place, (key, value));
                let above = cut(entries, place);
                let above = above.map(|above| (above[0].0.clone(), Arc::new(Node::Leaf(above))));
                (None, above)
            }
            Node::Inner(children) => {
                let place = child_of(children, &|bound: &K| bound.cmp(&key));
                let child = Arc::make_mut(&mut children[place].1);
                let (before, new) = child.insert(key, value);
                let Some(new) = new else { return (before, None) };
                children.insert(place + 1, new);
                let above = cut(children, place + 1);
                let above = above.map(|above| (above[0].0.clone(), Arc::new(Node::Inner(above))));
                (before, above)
            }
        }
    }

    /// Takes an entry out that is there. Nodes that get empty go.
    fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Node::Leaf(entries) => {
                let place = entries.binary_search_by(|(known, _)| known.cmp(key)).ok()?;
                Some(entries.remove(place).1)
            }
            Node::Inner(children) => {
                let place = child_of(children, &|bound: &K| bound.cmp(key));
                let child = Arc::make_mut(&mut children[place].1);
                let before = child.remove(key);
                if child.is_empty() {
                    children.remove(place);
                }
                before
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Node::Leaf(entries) => entries.is_empty(),
            Node::Inner(children) => children.is_empty(),
        }
    }
}

/// The upper part of a list that has become too long by what was added at `place`.
fn cut<T>(list: &mut Vec<T>, place: usize) -> Option<Vec<T>> {
    // Objects mostly come in the order of their ids: the front stays full.
    let is_last = place + 1 == list.len();
    let at = if is_last { NODE_MAX } else { NODE_MAX / 2 };
    (list.len() > NODE_MAX).then(|| list.split_off(at))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Follows random changes with a model; `keys` decides how deep the tree gets.
    fn compare_with_model(keys: u64, rounds: u64) {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
        for round in 0..rounds {
            let copy = map.clone();
            let key = random(keys);
            let is_shown = round % 97 == 0;
            let before = is_shown.then(|| model.clone());
            // Near the end everything goes.
            let removals = if round * 4 > rounds * 3 { 9 } else { 3 };
            match random(10) < removals {
                true => assert_eq!(map.remove(&key), model.remove(&key)),
                false => assert_eq!(map.insert(key, round), model.insert(key, round)),
            }
            assert_eq!(map.get(&key), model.get(&key));
            if let Some(before) = before {
                let all = |map: &SharedMap<u64, u64>| -> Vec<(u64, u64)> {
                    map.iter().map(|(key, value)| (*key, *value)).collect()
                };
                assert_eq!(all(&copy), before.into_iter().collect::<Vec<_>>());
                assert_eq!(all(&map), model.clone().into_iter().collect::<Vec<_>>());
                let from: Vec<u64> =
                    map.iter_from(|known| known.cmp(&key)).map(|(key, _)| *key).collect();
                let wanted: Vec<u64> = model.range(key..).map(|(key, _)| *key).collect();
                assert_eq!(from, wanted);
            }
        }
        let left: Vec<u64> = model.keys().copied().collect();
        for key in left {
            assert!(map.remove(&key).is_some());
        }
        assert_eq!(map.iter().count(), 0);
    }

    #[test]
    fn acts_like_a_sorted_map_and_leaves_its_copies_alone() {
        compare_with_model(40, 2_000);
        compare_with_model(500, 4_000);
        compare_with_model(20_000, 60_000);
    }

    fn nodes<V>(node: &Arc<Node<u32, V>>, found: &mut Vec<*const Node<u32, V>>) {
        found.push(Arc::as_ptr(node));
        if let Node::Inner(children) = &**node {
            children.iter().for_each(|(_, child)| nodes(child, found));
        }
    }

    /// How many nodes a change copies in a map of that many entries.
    fn copied(entries: u32) -> usize {
        let mut map = SharedMap::default();
        (0..entries).for_each(|key| _ = map.insert(2 * key, ()));
        let (copy, mut before, mut after) = (map.clone(), Vec::new(), Vec::new());
        map.insert(entries + 1, ());
        nodes(&copy.root, &mut before);
        nodes(&map.root, &mut after);
        after.iter().filter(|node| !before.contains(node)).count()
    }

    #[test]
    fn a_change_copies_one_node_a_level() {
        assert_eq!(copied(10), 1);
        assert!(copied(1_000) <= 3);
        assert!(copied(100_000) <= 5);
    }
}
