//! Events, and the part of a page that they make the browser ask for.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

use backstory_core::PriceTable;

use crate::server::{ID, TestServer, prompt, status};

/// Opens a stream of events and skips its head.
fn stream(server: &TestServer, query: &str) -> BufReader<std::net::TcpStream> {
    let mut stream = server.connect();
    let request = format!(
        "GET /events?{query} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        server.host(),
        server.cookie()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("retry:") {
        line.clear();
        lines.read_line(&mut line).unwrap();
    }
    lines
}

fn next_event(lines: &mut BufReader<std::net::TcpStream>) -> String {
    let mut line = String::new();
    while !line.starts_with("data:") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "the stream ended");
    }
    line.trim().to_owned()
}

#[test]
fn a_new_turn_is_announced_and_can_be_asked_for() {
    let server = TestServer::start(&["first", "second"]);
    let mut all = stream(&server, "since=1");
    let mut one = stream(&server, &format!("since=1&session={ID}"));
    let mut file = OpenOptions::new().append(true).open(server.session_file()).unwrap();
    writeln!(file, "{}", prompt(2, "the third prompt")).unwrap();
    let start = Instant::now();
    server.refresh();
    assert_eq!(next_event(&mut all), "data: 2");
    assert_eq!(next_event(&mut one), "data: 2");
    assert!(start.elapsed() < Duration::from_secs(5));
    let part = server.get(&format!("/sessions/claude/{ID}/part?from=1&live=1"));
    assert!(
        part.contains("id=\"m2\"")
            && part.contains("the third prompt")
            && !part.contains("id=\"m0\""),
        "{part}"
    );
    // Who missed it hears of it at once.
    assert_eq!(next_event(&mut stream(&server, &format!("since=1&session={ID}"))), "data: 2");
}

#[test]
fn another_session_is_not_announced() {
    let server = TestServer::start(&["first"]);
    let mut other = stream(&server, "since=1&session=nothing");
    other.get_ref().set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    server.refresh();
    let mut line = String::new();
    while other.read_line(&mut line).is_ok_and(|read| read > 0) {}
    assert!(!line.contains("data:"), "{line}");
}

#[test]
fn what_was_read_earlier_does_not_replace_what_was_read_later() {
    let server = TestServer::start(&["first"]);
    let version = server.feed.version();
    let (archive, earlier) = server.read();
    let mut file = OpenOptions::new().append(true).open(server.session_file()).unwrap();
    writeln!(file, "{}", prompt(1, "second")).unwrap();
    server.refresh();
    server.feed.publish(&archive, &PriceTable::embedded(), version, earlier).unwrap();
    assert!(server.get("/sessions").contains("data-label=\"prompts\">2</td>"));
}

#[test]
fn two_hundred_streams_are_open_at_once() {
    let server = TestServer::start(&["first"]);
    let mut streams: Vec<_> = (0..200).map(|_| stream(&server, "since=1")).collect();
    server.refresh();
    for lines in &mut streams {
        assert_eq!(next_event(lines), "data: 2");
    }
    assert_eq!(status(&server.get("/")), "200");
}
