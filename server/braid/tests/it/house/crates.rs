//! The crates under `server` as their syntax shows them: files, types, functions and which file
//! uses which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit_mut::{self, VisitMut};
use syn::{Attribute, ImplItem, Item, Signature, UseTree};

use super::tidy_checks::root;

/// A path of module names below the crate.
type ModulePath = Vec<String>;

/// One crate.
pub(super) struct Crate {
    /// Its folder below `server`.
    pub name: String,
    modules: BTreeMap<ModulePath, Module>,
}

/// One file.
struct Module {
    /// Its path from the root of the repository.
    file: String,
    /// Holds docs, modules and re-exports only.
    is_index: bool,
    syntax: syn::File,
    /// What names at its top level stand for, if they are imports.
    imports: BTreeMap<String, ModulePath>,
}

/// Every crate under `server` that has sources.
pub(super) fn crates() -> Vec<Crate> {
    let entries = std::fs::read_dir(root().join("server")).expect("the folder of the crates");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let sources = |name: &String| root().join(format!("server/{name}/src")).is_dir();
    let mut found: Vec<Crate> = names.filter(sources).map(Crate::read).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

impl Crate {
    fn read(name: String) -> Crate {
        let mut modules = BTreeMap::new();
        let folder = format!("server/{name}/src");
        read_folder(&folder, &Vec::new(), &mut modules);
        Crate { name, modules }
    }

    /// Folders with the number of their files.
    pub(super) fn folders(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for module in self.modules.values().filter(|module| !module.is_index) {
            let folder = Path::new(&module.file).parent().expect("a folder");
            *counts.entry(folder.to_string_lossy().into_owned()).or_default() += 1;
        }
        counts
    }

    /// Types with the number of their own methods.
    pub(super) fn methods(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for item in self.items() {
            let Item::Impl(block) = item else { continue };
            let syn::Type::Path(of) = &*block.self_ty else { continue };
            if block.trait_.is_some() {
                continue;
            }
            let name = of.path.segments.last().expect("a name").ident.to_string();
            let is_method = |item: &&ImplItem| matches!(item, ImplItem::Fn(_));
            *counts.entry(name).or_default() += block.items.iter().filter(is_method).count();
        }
        counts
    }

    /// Functions with the number of their parameters.
    pub(super) fn parameters(&self) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        for module in self.modules.values() {
            let mut signatures = Signatures(Vec::new());
            for item in module.syntax.items.iter().filter(|item| !is_test(attributes(item))) {
                signatures.visit_item_mut(&mut item.clone());
            }
            let named = |(name, count)| (format!("{} {name}", module.file), count);
            found.extend(signatures.0.into_iter().map(named));
        }
        found
    }

    /// Groups of files each of which uses all others, directly or through others.
    pub(super) fn circles(&self) -> Vec<Vec<String>> {
        // Numbers instead of paths: there are many pairs of files.
        let number: BTreeMap<&ModulePath, usize> =
            self.modules.keys().enumerate().map(|(at, path)| (path, at)).collect();
        let uses = |path| self.uses(path).into_iter().map(|used| number[used]).collect();
        let edges: Vec<Vec<usize>> = self.modules.keys().map(uses).collect();
        let reached: Vec<Vec<bool>> =
            (0..edges.len()).map(|from| reachable(from, &edges)).collect();
        let files: Vec<&String> = self.modules.values().map(|module| &module.file).collect();
        let mut circles = BTreeSet::new();
        for (from, reach) in reached.iter().enumerate() {
            let both = (0..edges.len()).filter(|&to| reach[to] && reached[to][from]);
            let circle: Vec<String> = both.map(|to| files[to].clone()).collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn items(&self) -> impl Iterator<Item = &Item> {
        let items = self.modules.values().flat_map(|module| &module.syntax.items);
        items.filter(|item| !is_test(attributes(item)))
    }

    /// The files that one uses, without itself and without those that only re-export.
    fn uses(&self, path: &ModulePath) -> BTreeSet<&ModulePath> {
        let module = &self.modules[path];
        if module.is_index {
            return BTreeSet::new();
        }
        let mut paths = Paths(Vec::new());
        for item in module.syntax.items.iter().filter(|item| !is_test(attributes(item))) {
            paths.visit_item_mut(&mut item.clone());
        }
        let used = paths.0.iter().filter_map(|used| self.resolve(&absolute(path, used)?, 0));
        used.filter(|used| *used != path && !self.modules[*used].is_index).collect()
    }

    /// The file in which an item is, followed through re-exports.
    fn resolve(&self, item: &[String], depth: usize) -> Option<&ModulePath> {
        let known = (0..=item.len()).rev().find(|n| self.modules.contains_key(&item[..*n]))?;
        let (path, module) = self.modules.get_key_value(&item[..known])?;
        let Some(name) = item.get(known).filter(|_| depth < 8) else { return Some(path) };
        match module.imports.get(name) {
            Some(target) => self.resolve(&[target, &item[known + 1..]].concat(), depth + 1),
            None => Some(path),
        }
    }
}

fn read_folder(folder: &str, path: &ModulePath, modules: &mut BTreeMap<ModulePath, Module>) {
    for entry in std::fs::read_dir(root().join(folder)).expect("a folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let file = format!("{folder}/{name}");
        let below = |name: &str| [path.as_slice(), &[name.to_owned()]].concat();
        if root().join(&file).is_dir() {
            read_folder(&file, &below(&name), modules);
        } else if let Some(stem) = name.strip_suffix(".rs") {
            let is_index = matches!(stem, "lib" | "main" | "mod");
            let path = if is_index { path.clone() } else { below(stem) };
            let text = std::fs::read_to_string(root().join(&file)).expect("a source");
            let syntax = syn::parse_file(&text).expect("a source that compiles");
            let imports = imports_of(&syntax, &path);
            modules.insert(path, Module { file, is_index, syntax, imports });
        }
    }
}

fn imports_of(syntax: &syn::File, path: &ModulePath) -> BTreeMap<String, ModulePath> {
    let mut imports = BTreeMap::new();
    for item in &syntax.items {
        let Item::Use(item) = item else { continue };
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        for (name, mut target) in leaves {
            // In an index a path may begin with the name of a child.
            if !matches!(target[0].as_str(), "crate" | "self" | "super") {
                target.insert(0, "self".to_owned());
            }
            imports.extend(absolute(path, &target).map(|target| (name, target)));
        }
    }
    imports
}

/// The names that a `use` brings in, with their paths.
fn flatten(tree: &UseTree, before: &mut ModulePath, leaves: &mut Vec<(String, ModulePath)>) {
    let with = |name: &syn::Ident| [before.as_slice(), &[name.to_string()]].concat();
    match tree {
        UseTree::Path(part) => {
            before.push(part.ident.to_string());
            flatten(&part.tree, before, leaves);
            before.pop();
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, before, leaves));
        }
        UseTree::Name(name) if name.ident == "self" => {
            leaves.push((before.last().cloned().unwrap_or_default(), before.clone()));
        }
        UseTree::Name(name) => leaves.push((name.ident.to_string(), with(&name.ident))),
        UseTree::Rename(rename) => leaves.push((rename.rename.to_string(), with(&rename.ident))),
        UseTree::Glob(_) => leaves.push(("*".to_owned(), before.clone())),
    }
}

/// A path from the crate's root, for one that begins with `crate`, `self` or `super`.
fn absolute(module: &ModulePath, path: &[String]) -> Option<ModulePath> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => base.clear(),
        "self" | "super" => {}
        _ => return None,
    }
    while let Some(first) = rest.first().filter(|first| is_relative(first)) {
        if first == "super" {
            base.pop();
        }
        rest = &rest[1..];
    }
    Some([base.as_slice(), rest].concat())
}

fn is_relative(segment: &str) -> bool {
    matches!(segment, "crate" | "self" | "super")
}

/// For each file whether another leads to it.
fn reachable(from: usize, edges: &[Vec<usize>]) -> Vec<bool> {
    let mut found = vec![false; edges.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        open.extend(edges[at].iter().filter(|&&next| !std::mem::replace(&mut found[next], true)));
    }
    found
}

fn is_test(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &&Attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
    };
    attributes.iter().find(is_test).is_some()
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Collects the parameters of functions.
struct Signatures(Vec<(String, usize)>);

impl VisitMut for Signatures {
    fn visit_signature_mut(&mut self, signature: &mut Signature) {
        let typed = |argument: &&syn::FnArg| matches!(argument, syn::FnArg::Typed(_));
        let count = signature.inputs.iter().filter(typed).count();
        self.0.push((signature.ident.to_string(), count));
    }
}

/// Collects paths that begin with `crate`, `self` or `super`.
struct Paths(Vec<ModulePath>);

impl VisitMut for Paths {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        let segments: ModulePath = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if segments.len() > 1 && is_relative(&segments[0]) {
            self.0.push(segments);
        }
        visit_mut::visit_path_mut(self, path);
    }

    fn visit_item_use_mut(&mut self, item: &mut syn::ItemUse) {
        let mut leaves = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut leaves);
        let leaves = leaves.into_iter().map(|(_, path)| path);
        self.0.extend(leaves.filter(|path| is_relative(&path[0])));
    }
}
