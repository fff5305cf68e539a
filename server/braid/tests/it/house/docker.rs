//! The files in `docker/`, as far as they can be tried without a Docker engine.
//!
//! - Compose: everything that is referred to is there, images are pinned, flags and variables of
//!   the gateways are the server's own, and a server starts with them (over the TiKV stand-in).
//! - Dockerfile: what is copied exists and is not ignored; the command and the health check work.
//! - Balancer, Prometheus and Grafana speak of services and metrics that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use braid_testkit::server::{self, Config, Server};
use braid_testkit::tikv::{self, TikvStandIn};
use yaml_rust2::{Yaml, YamlLoader};

/// Our own image.
const IMAGE: &str = "braiddb:0.1.0";

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(name: &str) -> String {
    let path = top().join("docker").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(name: &str) -> Yaml {
    let all = YamlLoader::load_from_str(&text(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    merged(all.into_iter().next().unwrap_or_else(|| panic!("{name} is empty")))
}

/// With `<<` carried out: what stands beside it goes before what it brings.
fn merged(yaml: Yaml) -> Yaml {
    match yaml {
        Yaml::Hash(hash) => {
            let merge = Yaml::String("<<".to_owned());
            let mut all = yaml_rust2::yaml::Hash::new();
            if let Some(Yaml::Hash(base)) = hash.get(&merge).cloned().map(merged) {
                all.extend(base);
            }
            let own = hash.into_iter().filter(|(key, _)| *key != merge);
            all.extend(own.map(|(key, value)| (key, merged(value))));
            Yaml::Hash(all)
        }
        Yaml::Array(items) => Yaml::Array(items.into_iter().map(merged).collect()),
        other => other,
    }
}

fn entries(yaml: &Yaml) -> BTreeMap<String, &Yaml> {
    let hash = yaml.as_hash().into_iter().flatten();
    hash.map(|(key, value)| (key.as_str().expect("a name").to_owned(), value)).collect()
}

fn strings(yaml: &Yaml) -> Vec<&str> {
    yaml.as_vec().into_iter().flatten().map(|item| item.as_str().expect("a text")).collect()
}

fn services(compose: &Yaml) -> BTreeMap<String, &Yaml> {
    entries(&compose["services"])
}

/// The servers among the services.
fn gateways(compose: &Yaml) -> BTreeMap<String, &Yaml> {
    services(compose).into_iter().filter(|(_, s)| s["image"].as_str() == Some(IMAGE)).collect()
}

fn help() -> String {
    let output = Command::new(server::binary()).args(["start", "--help"]).output();
    let output = output.expect("the server's help");
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn is_known(help: &str, variable: &str) -> bool {
    help.contains(&format!("[env: {variable}="))
}

#[test]
fn compose_refers_to_what_exists() {
    let compose = yaml("compose.yaml");
    let services = services(&compose);
    let volumes = entries(&compose["volumes"]);
    let mut used = BTreeSet::new();
    for (name, service) in &services {
        let image = service["image"].as_str().unwrap_or_else(|| panic!("{name} has no image"));
        let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
        let pinned = tag.trim_start_matches('v').split('.').count() >= 3;
        assert!(pinned, "{name}: {image} is not pinned to a version");
        for (needed, how) in entries(&service["depends_on"]) {
            let other = services.get(&needed).unwrap_or_else(|| panic!("{name} needs {needed}"));
            let condition = how["condition"].as_str().expect("a condition");
            assert!(["service_started", "service_healthy"].contains(&condition), "{condition}");
            let own = other["image"].as_str() == Some(IMAGE);
            let checked = own || !other["healthcheck"].is_badvalue();
            assert!(condition != "service_healthy" || checked, "{needed} has no health check");
            assert!(other["profiles"].is_badvalue(), "{name} needs {needed}, which may not run");
        }
        for volume in strings(&service["volumes"]) {
            let from = volume.split(':').next().expect("a source");
            match from.strip_prefix("./") {
                Some(file) => assert!(top().join("docker").join(file).exists(), "{name}: {from}"),
                None => {
                    assert!(volumes.contains_key(from), "{name}: no volume {from}");
                    used.insert(from.to_owned());
                }
            }
        }
        for port in strings(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{name} is published beyond loopback: {port}");
        }
    }
    assert_eq!(used, volumes.into_keys().collect(), "volumes that are declared and used");
    let parts = |start: &str| services.keys().filter(|name| name.starts_with(start)).count();
    assert_eq!((parts("pd"), parts("tikv"), parts("gateway")), (3, 3, 3));
}

/// The hosts and ports of `host:port,…`.
fn places(text: &str) -> Vec<(String, u16)> {
    let place = |one: &str| {
        let (host, port) = one.rsplit_once(':')?;
        Some((host.to_owned(), port.parse().ok()?))
    };
    text.split(',').map(|one| place(one).unwrap_or_else(|| panic!("{one} of {text}"))).collect()
}

#[test]
fn the_parts_of_the_cluster_find_each_other() {
    let compose = yaml("compose.yaml");
    let services = services(&compose);
    let option = |name: &str, flag: &str| {
        let all = strings(&services[name]["command"]);
        let found = all.iter().find_map(|arg| arg.strip_prefix(flag)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("{name} has no {flag}")).to_owned()
    };
    for number in 1..=3 {
        let (pd, tikv) = (format!("pd{number}"), format!("tikv{number}"));
        assert_eq!(option(&pd, "--name"), pd);
        assert_eq!(option(&pd, "--advertise-client-urls"), format!("http://{pd}:2379"));
        assert_eq!(option(&pd, "--client-urls"), "http://0.0.0.0:2379");
        let cluster = "pd1=http://pd1:2380,pd2=http://pd2:2380,pd3=http://pd3:2380";
        assert_eq!(option(&pd, "--initial-cluster"), cluster);
        assert_eq!(option(&tikv, "--advertise-addr"), format!("{tikv}:20160"));
        assert_eq!(option(&tikv, "--addr"), "0.0.0.0:20160");
        let members = places(&option(&tikv, "--pd-endpoints"));
        assert_eq!(members, places("pd1:2379,pd2:2379,pd3:2379"));
        let file = option(&tikv, "--config");
        let mounted = format!("./tikv.toml:{file}:ro");
        assert!(strings(&services[&tikv]["volumes"]).contains(&mounted.as_str()));
        for data in [&pd, &tikv] {
            let volume = format!("{data}:{}", option(data, "--data-dir"));
            assert!(strings(&services[data]["volumes"]).contains(&volume.as_str()), "{volume}");
        }
    }
    for (name, gateway) in gateways(&compose) {
        let store = gateway["environment"]["BRAID_STORE"].as_str().expect("a store");
        let members = store.strip_prefix("tikv://").expect("TiKV").split('?').next();
        let members = places(members.expect("members"));
        assert_eq!(members, places("pd1:2379,pd2:2379,pd3:2379"), "{name}");
    }
}

#[test]
fn gateways_are_given_what_the_server_knows() {
    let help = help();
    let compose = yaml("compose.yaml");
    let tls = yaml("compose.tls.yaml");
    let gateways = gateways(&compose);
    let overridden = services(&tls);
    assert_eq!(gateways.keys().collect::<Vec<_>>(), overridden.keys().collect::<Vec<_>>());
    for (name, gateway) in gateways.iter().chain(&overridden) {
        for (variable, value) in entries(&gateway["environment"]) {
            assert!(is_known(&help, &variable), "{name}: the server knows no {variable}");
            // A number or a boolean without quotes is not what compose hands on.
            assert!(value.as_str().is_some(), "{name}: {variable} is no text");
        }
        for arg in strings(&gateway["command"]) {
            let flag = arg.split('=').next().expect("a flag");
            assert!(flag == "start" || help.contains(flag), "{name}: the server knows no {flag}");
        }
    }
    for line in text("Dockerfile").lines().chain(text("README.md").lines()) {
        for word in line.split(|c: char| !c.is_ascii_uppercase() && c != '_') {
            if word.starts_with("BRAID_") {
                assert!(is_known(&help, word), "the server knows no {word}: {line}");
            }
        }
    }
}

/// Status and body of a page.
fn get(http: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(http.trim_start_matches("http://")).expect("connects");
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, answer.split_once("\r\n\r\n").expect("a body").1.to_owned())
}

/// The words of a Dockerfile's instruction, its continuation lines included.
fn instructions(name: &str) -> Vec<String> {
    let all = text("Dockerfile").replace("\\\n", " ");
    let of = |line: &str| line.strip_prefix(name).map(|rest| rest.trim().to_owned());
    all.lines().filter_map(of).collect()
}

/// The list at the end of an instruction.
fn list(instruction: &str) -> Vec<String> {
    let start = instruction.find('[').expect("a list");
    serde_json::from_str(&instruction[start..]).expect("a list in JSON")
}

#[test]
fn a_server_starts_with_the_environment_of_a_gateway() {
    let cluster = TikvStandIn::start(tikv::Config::default());
    let compose = yaml("compose.yaml");
    let mut config = Config::new();
    for (variable, value) in entries(&gateways(&compose)["gateway1"]["environment"]) {
        let value = value.as_str().expect("a text");
        match variable.as_str() {
            // The ports are this machine's, the members of PD the stand-in's.
            "BRAID_LISTEN" | "BRAID_HTTP" => assert!(value.starts_with("0.0.0.0:"), "{value}"),
            "BRAID_STORE" => {
                let options = value.split_once('?').map_or("", |(_, options)| options);
                config = config.store(format!("{}?{options}", cluster.store_url()));
            }
            _ => config = config.env(variable, value),
        }
    }
    let server = Server::start(config);
    let http = server.http_url();
    assert_eq!(get(http, "/health/ready").0, 200);
    health_check_of_the_image(http);
    metrics_on_the_board(&get(http, "/metrics").1);
    // Some numbers are of one kind of store only.
    let embedded = Server::start(Config::new());
    let mut shown = told(&get(http, "/metrics").1);
    shown.append(&mut told(&get(embedded.http_url(), "/metrics").1));
    assert_eq!(documented(), shown, "server/docs/reference/metrics.md and /metrics");
}

/// The image's health check against a running server, and against nobody.
fn health_check_of_the_image(http: &str) {
    let check = instructions("HEALTHCHECK").pop().expect("a health check");
    let words = list(&check);
    let port = http.rsplit_once(':').expect("a port").1;
    let run = |port: &str| {
        let args = words[1..].iter().map(|word| word.replace("/8080", &format!("/{port}")));
        Command::new(&words[0]).args(args).output().expect("the check runs").status.success()
    };
    assert!(check.contains("127.0.0.1/8080") && run(port), "{check}");
    assert!(!run("1"), "a server that is not there is healthy: {check}");
}

/// The names of metrics in an expression of Prometheus.
fn metrics_in(expr: &str) -> BTreeSet<String> {
    let words = expr.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| word.starts_with("braid_") || word.starts_with("sql_"));
    ours.map(str::to_owned).collect()
}

/// The names of the samples on `/metrics`.
fn samples(metrics: &str) -> BTreeSet<String> {
    let lines = metrics.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(['{', ' ']).next().unwrap_or_default().to_owned()).collect()
}

fn metrics_on_the_board(metrics: &str) {
    let samples = samples(metrics);
    let board: serde_json::Value =
        serde_json::from_str(&text("grafana/dashboards/braiddb.json")).expect("JSON");
    let mut seen = 0;
    for panel in board["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expr = target["expr"].as_str().expect("an expression");
            let found = metrics_in(expr);
            assert!(!found.is_empty() || expr.contains("up{"), "{expr}");
            for name in found {
                assert!(samples.contains(&name), "there is no {name}: {expr}");
                seen += 1;
            }
            assert!(expr.contains("job=\"braiddb\""), "{expr}");
        }
    }
    assert!(seen > 20, "{seen} metrics on the board");
}

/// The families on `/metrics`.
fn told(metrics: &str) -> BTreeSet<String> {
    let types = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

/// The families in the tables of metrics.md.
fn documented() -> BTreeSet<String> {
    let path = top().join("server/docs/reference/metrics.md");
    let text = std::fs::read_to_string(path).expect("server/docs/reference/metrics.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.split('{').next()?.to_owned())).collect()
}

#[test]
fn the_image_has_what_it_copies_and_runs() {
    let ignored = text("Dockerfile.dockerignore");
    let kept: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    assert_eq!(ignored.lines().next(), Some("*"));
    for copy in instructions("COPY ") {
        if copy.starts_with("--from=build") {
            continue;
        }
        let words: Vec<&str> = copy.split_whitespace().collect();
        for source in &words[..words.len() - 1] {
            assert!(top().join(source).exists(), "COPY {source}");
            assert!(kept.contains(source), "{source} is ignored");
        }
    }
    for from in instructions("FROM ") {
        let image = from.split(' ').next().expect("an image");
        assert!(image.rsplit_once(':').is_some_and(|(_, tag)| tag.contains('.')), "{image}");
    }
    assert!(instructions("USER ").iter().all(|user| user != "root" && user != "0"));
    let command = [
        list(&instructions("ENTRYPOINT")[0]),
        list(&instructions("CMD").pop().expect("a command")),
    ]
    .concat();
    assert_eq!(command, ["braid", "start"]);
    assert!(help().contains("--store"));
    let env = instructions("ENV ").join(" ");
    let exposed = instructions("EXPOSE ").join(" ");
    for (variable, port) in [("BRAID_LISTEN", "26257"), ("BRAID_HTTP", "8080")] {
        assert!(env.contains(&format!("{variable}=0.0.0.0:{port}")), "{env}");
        assert!(exposed.contains(port), "{exposed}");
    }
}

/// The rules that Prometheus loads are mounted, documented, and about metrics that exist.
#[test]
fn alert_rules_are_loaded_and_documented() {
    let rules = text("alerts.yaml");
    let monitoring = top().join("server/docs/operations/monitoring.md");
    let monitoring = std::fs::read_to_string(monitoring).expect("monitoring.md");
    assert!(monitoring.contains(&format!("```yaml\n{rules}```")), "alerts.yaml in monitoring.md");
    assert_eq!(strings(&yaml("prometheus.yaml")["rule_files"]), ["alerts.yaml"]);
    let compose = yaml("compose.yaml");
    let mounted = strings(&services(&compose)["prometheus"]["volumes"]);
    assert!(mounted.contains(&"./alerts.yaml:/etc/prometheus/alerts.yaml:ro"), "{mounted:?}");
    let families = documented();
    for rule in yaml("alerts.yaml")["groups"][0]["rules"].as_vec().expect("rules") {
        let (name, expr) = (rule["alert"].as_str().expect("a name"), rule["expr"].as_str());
        assert!(monitoring.contains(&format!("| `{name}` |")), "{name} is explained");
        for metric in metrics_in(expr.expect("an expression")) {
            let family = metric.strip_suffix("_bucket").unwrap_or(&metric);
            assert!(families.contains(family), "{name}: there is no {metric}");
        }
    }
}

/// Prometheus does not start if it cannot parse a rule.
#[test]
fn prometheus_reads_its_configuration_and_the_rules() {
    let file = top().join("docker/prometheus.yaml");
    match Command::new("promtool").args(["check", "config"]).arg(file).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no promtool on the PATH");
        }
        Err(error) => panic!("promtool: {error}"),
        Ok(output) => assert!(output.status.success(), "{output:?}"),
    }
}

#[test]
fn balancer_and_prometheus_name_services_and_their_ports() {
    let compose = yaml("compose.yaml");
    let services = services(&compose);
    let balancer = text("haproxy.cfg");
    let servers: Vec<Vec<&str>> = balancer
        .lines()
        .filter_map(|line| line.trim().strip_prefix("server "))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let named: Vec<String> = servers.iter().map(|words| words[0].to_owned()).collect();
    assert_eq!(named, gateways(&compose).into_keys().collect::<Vec<_>>());
    for words in &servers {
        assert_eq!(words[1], format!("{}:26257", words[0]));
    }
    for line in [
        "option httpchk GET /health/ready",
        "option redispatch 1",
        "check port 8080",
        "bind :26257",
    ] {
        assert!(balancer.contains(line), "{line}");
    }
    let prometheus = yaml("prometheus.yaml");
    let ports = BTreeMap::from([("pd", 2379), ("tikv", 20180), ("gateway", 8080)]);
    let mut scraped = BTreeSet::new();
    for job in prometheus["scrape_configs"].as_vec().expect("jobs") {
        let fixed = job["static_configs"].as_vec().into_iter().flatten();
        let fixed = fixed.flat_map(|group| strings(&group["targets"])).map(str::to_owned);
        let found = job["dns_sd_configs"].as_vec().into_iter().flatten().flat_map(|sd| {
            let port = sd["port"].as_i64().expect("a port");
            strings(&sd["names"]).into_iter().map(move |name| format!("{name}:{port}"))
        });
        for (host, port) in fixed.chain(found).flat_map(|target| places(&target)) {
            assert!(services.contains_key(&host), "there is no {host}");
            let kind = host.trim_end_matches(|c: char| c.is_ascii_digit());
            assert_eq!(port, *ports.get(kind).unwrap_or(&8404), "{host}");
            scraped.insert(host);
        }
    }
    let all = services.keys().filter(|name| !["prometheus", "grafana"].contains(&name.as_str()));
    assert_eq!(scraped, all.cloned().collect());
    let source = yaml("grafana/provisioning/datasources/prometheus.yaml");
    assert_eq!(source["datasources"][0]["url"].as_str(), Some("http://prometheus:9090"));
    assert_eq!(source["datasources"][0]["uid"].as_str(), Some("prometheus"));
    let boards = yaml("grafana/provisioning/dashboards/braiddb.yaml");
    let path = boards["providers"][0]["options"]["path"].as_str().expect("a path");
    let mounted = format!("./grafana/dashboards:{path}:ro");
    assert!(strings(&services["grafana"]["volumes"]).contains(&mounted.as_str()));
    let home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        .as_str()
        .expect("a board");
    assert_eq!(home, format!("{path}/braiddb.json"));
}
