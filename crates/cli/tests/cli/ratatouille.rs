//! `exm ratatouille`: the page, the server that shows it, and the scenes that it is opened with.

// Not all of it: the build script assembles the page.
#[path = "../../build/page.rs"]
#[allow(dead_code)]
mod assembly;

use crate::common::{Folder, assert_fails, error_of};
use crate::running::Running;
use base64ct::{Base64, Encoding};
use flate2::{Compression, write::GzEncoder};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A running server, and its URL.
struct Served {
    running: Running,
    url: String,
}

impl Served {
    /// That of a command; none, which is recorded, if the program was built without the page.
    fn start(folder: &Folder, words: &str) -> Option<Served> {
        let mut running = Running::start(&mut folder.exm(words));
        let mut url = String::new();
        let stdout = running.0.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut url).expect("text");
        if url.is_empty() {
            let mut error = String::new();
            running.0.stderr.take().expect("it is piped").read_to_string(&mut error).expect("text");
            assert!(is_without_page(&error), "{error}");
            return None;
        }
        Some(Served { running, url: url.trim_end().to_owned() })
    }

    /// 127.0.0.1 and the port.
    fn address(&self) -> &str {
        let rest = self.url.strip_prefix("http://").expect("a URL");
        rest.split('/').next().expect("an address")
    }

    /// The response to these bytes.
    fn response(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        stream.write_all(request).expect("it reads");
        let mut response = Vec::new();
        // A server may close the connection of one that it does not understand.
        let _ = stream.read_to_end(&mut response);
        String::from_utf8_lossy(&response).into_owned()
    }

    fn asked(&self, start: &str, host: &str) -> String {
        let request = format!("{start} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        self.response(request.as_bytes())
    }
}

/// Whether an error says that the program was built without the page; that is recorded.
fn is_without_page(error: &str) -> bool {
    let is_without = error.contains("there is no page to show: ");
    if is_without {
        exm_testing::skip(error.lines().next().unwrap_or_default());
    }
    is_without
}

/// The page, as a file.
fn page() -> Option<String> {
    let folder = Folder::new("ratatouille-page");
    let output = folder.run("ratatouille --page page.html");
    if output.status.success() {
        return Some(std::fs::read_to_string(folder.path("page.html")).expect("a page"));
    }
    assert!(is_without_page(&error_of(&output)), "{}", error_of(&output));
    None
}

#[test]
fn the_page_is_served_to_this_machine_alone() {
    let folder = Folder::new("ratatouille-served");
    let Some(mut served) = Served::start(&folder, "ratatouille --no-open") else { return };
    let address = served.address().to_owned();
    assert_eq!(served.url, format!("http://{address}/"));
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let response = served.asked("GET /", &address);
    let (headers, html) = response.split_once("\r\n\r\n").expect("headers");
    assert!(headers.starts_with("HTTP/1.1 200"), "{headers}");
    for header in [
        "Content-Type: text/html; charset=utf-8",
        "Content-Security-Policy: frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
    ] {
        assert!(headers.contains(header), "{header} is not in {headers}");
    }
    assert!(html.contains("application/wasm") && html.contains("</html>"));
    let head = served.asked("HEAD /", &format!("localhost:{}", address.split(':').nth(1).unwrap()));
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    for (start, host, status) in [
        ("GET /", "example.com", 403),
        ("GET /", "127.0.0.1", 403),
        ("GET /favicon.ico", &*address, 404),
        ("GET /../Cargo.toml", &*address, 404),
        ("POST /", &*address, 405),
        ("DELETE /", &*address, 405),
    ] {
        let response = served.asked(start, host);
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{start} {host}: {response}");
    }
    let nonsense: [&[u8]; 5] = [
        b"\r\n\r\n",
        b"\xff\xfe\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\nConnection: close\r\n\r\n",
    ];
    for request in nonsense {
        let response = served.response(request);
        assert!(!response.contains("HTTP/1.1 200"), "{response}");
    }
    // One that does not read holds up nobody.
    let mut silent = TcpStream::connect(&address).expect("it listens");
    write!(silent, "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("it reads");
    assert!(served.asked("GET /", &address).starts_with("HTTP/1.1 200"));
    let taken = format!("ratatouille --port {}", address.split(':').nth(1).unwrap());
    let parts = ["cannot serve a page on port", "leave the port out"];
    assert_fails(&folder.run(&taken), 1, &parts);
    served.running.signal("INT");
    assert_eq!(served.running.code(), Some(130));
}

#[test]
fn controllers_and_links_are_the_scene_of_the_url() {
    let folder = Folder::new("ratatouille-scene");
    for (words, fragment) in [
        ("cubic general-delta1", "#cc=cubic&cc=general-delta1"),
        ("cubic,bbr sprout", "#cc=cubic,bbr&cc=sprout"),
        ("#link=5Mbps&cc=bbr&change=2s,rate,1Mbps", "#link=5Mbps&cc=bbr&change=2s,rate,1Mbps"),
        ("http://127.0.0.1:1/#rtt=20ms", "#rtt=20ms"),
        ("queue=codel", "#queue=codel"),
    ] {
        let words = format!("ratatouille {words} --no-open");
        let Some(served) = Served::start(&folder, &words) else { return };
        assert_eq!(served.url, format!("http://{}/{fragment}", served.address()));
    }
}

/// Others who have the link have the table; a name of the program's own stays what it is.
#[test]
fn tables_of_files_are_part_of_the_link() {
    let folder = Folder::new("ratatouille-tables");
    std::fs::create_dir(folder.path("other")).expect("a folder");
    for (table, file) in [("coexist", "mine.json"), ("1x", "other/mine.json"), ("1x", "cubic.json")]
    {
        folder.text(&format!("table convert {table} {file}"));
    }
    let words = "ratatouille mine.json,mine.json other/mine.json cubic.json --no-open";
    let Some(served) = Served::start(&folder, words) else { return };
    let fragment = served.url.split('#').nth(1).expect("a scene");
    let keys: Vec<&str> = fragment.split('&').collect();
    let lanes: Vec<&&str> = keys.iter().filter(|key| key.starts_with("cc=")).collect();
    assert_eq!(lanes, [&"cc=mine,mine", &"cc=mine-2", &"cc=cubic-2"]);
    let files: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix("file=")).collect();
    let names: Vec<&str> = files.iter().filter_map(|file| file.split(':').next()).collect();
    assert_eq!(names, ["mine", "mine-2", "cubic-2"]);
    // The same packets as with the table that it was.
    let delivered = |scene: &str| {
        // Not as words, in which an underscore stands for a space.
        let output =
            Folder::new("ratatouille-elsewhere").exm("simulate").args([scene, "--json"]).output();
        let output = output.expect("the program starts");
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        result["means"]["groups"].clone()
    };
    let (own, shipped) = (format!("#cc=mine&until=5s&file={}", files[0]), "#cc=coexist&until=5s");
    let flow = |scene: &str| delivered(scene)[0]["throughput_mbps"]["mean"].clone();
    assert!(flow(&own).is_number());
    assert_eq!(flow(&own), flow(shipped));
}

#[test]
fn scenes_are_checked_before_they_are_shown() {
    let folder = Folder::new("ratatouille-errors");
    for (words, part) in [
        ("cubci", "there is no controller \"cubci\": did you mean \"cubic\"?"),
        ("cubic,renno", "there is no controller \"renno\": did you mean"),
        ("cubic/codel", "\"cubic/codel\" names a controller and a queue discipline"),
        ("no.dna", "No such file"),
        ("#lnik=5Mbps", "lnik: a scene has no such key: did you mean \"link\"?"),
        ("#cc=cubci", "there is no controller \"cubci\": did you mean \"cubic\"?"),
        ("link=0Mbps", "the scene cannot be shown: link: "),
        ("cubic #cc=bbr", "#cc=bbr is a scene, which has its own controllers"),
        ("--page a.html --port 80", "cannot be used with"),
        ("--force", "--page <FILE>"),
    ] {
        assert_fails(&folder.run(&format!("ratatouille {words}")), 2, &[part]);
    }
}

#[test]
fn a_page_is_written_as_any_other_file() {
    let folder = Folder::new("ratatouille-file");
    let Some(page) = page() else { return };
    let output = folder.run("ratatouille cubic --page page.html");
    let note = error_of(&output);
    assert!(output.stdout.is_empty() && note.contains("open page.html in a browser"), "{note}");
    assert!(note.contains("#cc=cubic"), "{note}");
    assert_fails(&folder.run("ratatouille --page page.html"), 1, &["page.html", "--force"]);
    assert!(folder.run("ratatouille --page page.html --force").status.success());
    assert!(folder.text("ratatouille --page -") == page, "standard output has the same page");
}

/// The text of each element of this name in `html`, with its start tag.
fn elements<'a>(html: &'a str, name: &str) -> Vec<(&'a str, &'a str)> {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    let inside = html.split(&*start).skip(1).filter_map(|rest| rest.split_once(&*end));
    inside.filter_map(|(text, _)| text.split_once('>')).collect()
}

#[test]
fn the_page_contains_all_that_it_executes_and_names_no_other_host() {
    let Some(page) = page() else { return };
    let policy = page.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1);
    let policy = policy.and_then(|rest| rest.split('"').next()).expect("a policy");
    let sources = |directive: &str| {
        let found = policy.split("; ").find_map(|part| part.strip_prefix(directive));
        found.unwrap_or_default().split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(sources("default-src"), ["'none'"]);
    let hash = |text: &str| format!("'sha256-{}'", Base64::encode_string(&Sha256::digest(text)));
    let scripts = elements(&page, "script");
    let executed = scripts.iter().filter(|(tag, _)| !tag.contains("type=\""));
    let mut hashes: Vec<String> = executed.map(|(_, text)| hash(text)).collect();
    assert!(!hashes.is_empty());
    hashes.push("'wasm-unsafe-eval'".to_owned());
    assert_eq!(sources("script-src"), hashes);
    let styles: Vec<String> = elements(&page, "style").iter().map(|(_, text)| hash(text)).collect();
    assert_eq!(sources("style-src"), styles);
    assert!(scripts.iter().all(|(tag, _)| !tag.contains("src=")), "a script is loaded");
    for attribute in
        ["src=\"http", "href=\"http", "url(http", "@import", "src=\"//", "fetch(\"http"]
    {
        assert!(!page.contains(attribute), "the page loads something: {attribute}");
    }
}

#[test]
fn the_page_is_small_and_says_nothing_of_the_machine_that_built_it() {
    let Some(page) = page() else { return };
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(page.as_bytes()).expect("memory");
    let size = packed.finish().expect("memory").len();
    assert!(size < 3_000_000, "{size} bytes");
    let scripts = elements(&page, "script");
    let module =
        scripts.iter().find(|(tag, _)| tag.contains("application/wasm")).expect("a module");
    let (module, page) = (module.1, page.replace(module.1, ""));
    let module = Base64::decode_vec(module).expect("base64");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&*module).read_to_end(&mut bytes).expect("gzip");
    assert!(bytes.starts_with(b"\0asm"));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("a folder");
    let home = std::env::var("HOME").unwrap_or_default();
    for path in [root.to_str().expect("UTF-8"), &*home, "/.cargo/registry", "/.rustup/"] {
        let is_in = |text: &[u8]| text.windows(path.len()).any(|part| part == path.as_bytes());
        let is_path = path.len() > 1;
        assert!(!is_path || !(is_in(&bytes) || is_in(page.as_bytes())), "{path}");
    }
}
