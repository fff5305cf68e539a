//! Spans in the form of OTLP over HTTP, in JSON.

use braid_server::{Span, SpanSubject};
use serde_json::{Value, json};

/// `SPAN_KIND_SERVER`
const KIND_SERVER: u8 = 2;
/// `STATUS_CODE_ERROR`
const STATUS_ERROR: u8 = 2;

/// The body of a request that brings these spans.
pub(crate) fn body(spans: &[Span], version: &str) -> String {
    let resource = [text("service.name", "braiddb"), text("service.version", version)];
    let spans: Vec<Value> = spans.iter().map(of_span).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{ "scope": { "name": "braiddb", "version": version }, "spans": spans }],
    }] })
    .to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// 64-bit numbers are strings in this form.
fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn of_span(span: &Span) -> Value {
    let mut attributes = vec![
        text("db.system.name", "braiddb"),
        text("db.namespace", &span.database),
        text("braiddb.user", &span.user),
        number("braiddb.pid", i64::from(span.pid)),
    ];
    let name = match &span.subject {
        SpanSubject::Statement { class, text: query, retries } => {
            attributes.push(text("db.operation.name", &class.as_str().to_uppercase()));
            attributes.push(text("db.query.text", query));
            attributes.push(number("braiddb.retries", i64::from(*retries)));
            class.as_str().to_uppercase()
        }
        SpanSubject::Transaction { has_written, is_committed } => {
            let kind = if *has_written { "read_write" } else { "read_only" };
            let outcome = if *is_committed { "committed" } else { "rolled_back" };
            attributes.push(text("braiddb.transaction.kind", kind));
            attributes.push(text("braiddb.transaction.outcome", outcome));
            "TRANSACTION".to_owned()
        }
    };
    let mut status = json!({});
    if let Some(sqlstate) = span.sqlstate {
        attributes.push(text("db.response.status_code", sqlstate));
        attributes.push(text("error.type", sqlstate));
        status = json!({ "code": STATUS_ERROR });
    }
    json!({
        "traceId": format!("{:032x}", span.trace_id),
        "spanId": format!("{:016x}", span.span_id),
        "parentSpanId": format!("{:016x}", span.parent_id),
        "name": name,
        "kind": KIND_SERVER,
        "startTimeUnixNano": span.start_nanos.to_string(),
        "endTimeUnixNano": span.end_nanos.to_string(),
        "attributes": attributes,
        "status": status,
    })
}
