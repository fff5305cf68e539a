//! Plain strings that are read as escape strings.

use braid_sql::with_escape_strings;

fn rewritten(text: &str) -> Option<String> {
    with_escape_strings(text).expect("is lexed").map(|(text, _)| text)
}

#[test]
fn only_plain_strings_with_a_backslash_change() {
    let text = r"SELECT 'a', 'b\c', E'\d', $$\e$$, '\'f' -- '\g'";
    let wanted = r"SELECT 'a', E'b\c', E'\d', $$\e$$, E'\'f' -- '\g'";
    assert_eq!(rewritten(text).as_deref(), Some(wanted));
    assert_eq!(rewritten(r#"SELECT "a\b", x, 'é'"#), None);
    assert_eq!(rewritten("SELECT N'é\\n'").as_deref(), Some("SELECT E'é\\n'"));
    assert_eq!(rewritten("SELECT 'a'\n'\\n'").as_deref(), Some("SELECT E'a'\n'\\n'"));
}
