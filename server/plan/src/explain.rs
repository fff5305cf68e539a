//! A plan as text, one line an operator.

use braid_catalog::Catalog;

use crate::node::Node;

/// A line of an explained plan: depth and text.
pub type Line = (usize, String);

/// Prints a plan that is laid out. Names come from descriptors; nothing is evaluated.
pub fn explain(node: &Node, catalog: &Catalog) -> Vec<Line> {
    let mut lines = Vec::new();
    print(node, catalog, 0, &mut lines);
    lines
}

fn print(node: &Node, catalog: &Catalog, depth: usize, lines: &mut Vec<Line>) {
    lines.push((depth, title(node)));
    let mut copy = node.clone();
    crate::rules::walk::children_mut(&mut copy, &mut |child| {
        print(child, catalog, depth + 1, lines);
    });
}

/// One operator's line.
fn title(node: &Node) -> String {
    match node {
        Node::Values(values) => format!("Values ({} rows)", values.rows.len()),
        Node::Scan(scan) => format!("Scan on {}", scan.alias),
        Node::Virtual(scan) => format!("Catalog View {}", scan.table.name),
        Node::Function(_) => "Function Scan".to_owned(),
        Node::Filter(_) => "Filter".to_owned(),
        Node::Project(_) => "Project".to_owned(),
        Node::ProjectSet(_) => "Project Set".to_owned(),
        Node::Join(join) => format!("{:?} Join", join.kind),
        Node::Aggregate(_) => "Aggregate".to_owned(),
        Node::Window(_) => "Window".to_owned(),
        Node::Sort(_) => "Sort".to_owned(),
        Node::Limit(_) => "Limit".to_owned(),
        Node::Distinct(_) => "Distinct".to_owned(),
        Node::SetOp(op) => format!("{:?}", op.kind),
        Node::With(_) => "With".to_owned(),
        Node::CteScan(scan) => format!("CTE Scan on {}", scan.name),
        Node::Insert(insert) => format!("Insert on {}", insert.table.name),
        Node::Update(update) => format!("Update on {}", update.table.name),
        Node::Delete(delete) => format!("Delete on {}", delete.table.name),
    }
}
