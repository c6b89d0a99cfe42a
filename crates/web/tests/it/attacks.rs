//! What other sites, other programs and hostile sessions may try.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use backstory_web::Options;

use crate::server::{ID, TestServer, status};

#[test]
fn a_request_without_a_secret_gets_nothing() {
    let server = TestServer::start(&["secret words"]);
    let host = server.host();
    for path in [
        "/",
        "/sessions",
        &format!("/sessions/claude/{ID}"),
        "/api/v1/sessions",
        "/events",
        "/search?q=secret",
        "/nothing",
    ] {
        for secret in ["", "Cookie: backstory-1=x\r\n", "Authorization: Bearer x\r\n"] {
            let answer = server.send(&format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{secret}\r\n"
            ));
            assert_eq!(status(&answer), "401", "{path} {secret}");
            assert!(!answer.contains("secret words") && !answer.contains("set-cookie"), "{answer}");
        }
    }
    for token in ["x", "", "%00", &"0".repeat(48)] {
        let answer = server.send(&format!(
            "GET /?token={token} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ));
        assert_eq!(status(&answer), "401", "{token}");
    }
    assert_eq!(status(&server.get("/")), "200");
}

#[test]
fn a_name_that_was_rebound_is_not_answered() {
    let server = TestServer::start(&["secret words"]);
    let port = server.server.address().port();
    for host in [
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        String::new(),
        "x y".to_owned(),
    ] {
        let answer = server.send(&format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\nConnection: close\r\n\r\n",
            server.cookie()
        ));
        assert!(matches!(status(&answer), "421" | "400"), "{host}: {answer}");
        assert!(!answer.contains("secret words"));
    }
    let two = format!("Host: evil.example:{port}\r\n");
    assert!(matches!(status(&server.get_with("/", &two)), "421" | "400"));
    assert_eq!(
        status(&server.send(&format!(
            "GET / HTTP/1.1\r\nCookie: {}\r\nConnection: close\r\n\r\n",
            server.cookie()
        ))),
        "421"
    );
}

#[test]
fn another_site_cannot_read_or_change() {
    let server = TestServer::start(&["secret words"]);
    let token = server.form_token();
    let path = format!("/sessions/claude/{ID}/name");
    let form = format!("token={token}&name=stolen");
    for headers in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        assert_eq!(status(&server.post(&path, headers, &form)), "403", "{headers}");
    }
    assert_eq!(status(&server.get_with("/", "Origin: http://evil.example\r\n")), "403");
    // A page of another port can lead to a page, but not measure how long a search takes.
    let search = "/search?q=secret";
    let from = |what: &str| format!("Sec-Fetch-Site: same-site\r\nSec-Fetch-Dest: {what}\r\n");
    assert_eq!(status(&server.get_with(search, &from("empty"))), "403");
    assert_eq!(status(&server.get_with(search, &from("iframe"))), "403");
    assert_eq!(status(&server.get_with(search, "Sec-Fetch-Site: cross-site\r\n")), "403");
    assert_eq!(status(&server.get_with(search, &from("document"))), "200");
    for form in ["name=x", "token=&name=x", "token=x&name=x", &form[..form.len() - 20]] {
        assert_eq!(status(&server.post(&path, "", form)), "403", "{form}");
    }
    assert!(server.ran.lock().unwrap().is_empty());
    let own = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", server.host());
    assert_eq!(status(&server.post(&path, &own, &form)), "303");
    let ran = server.ran.lock().unwrap().join("\n");
    assert_eq!(ran, format!("name [(\"session\", \"{ID}\"), (\"text\", \"stolen\")] true"));
    // No page grants anything to another origin.
    assert!(!server.get_with("/api/v1/sessions", "").to_lowercase().contains("access-control"));
}

#[test]
fn changes_are_only_made_by_post_and_never_too_long() {
    let server = TestServer::start(&["x"]);
    let token = server.form_token();
    let path = format!("/sessions/claude/{ID}/name");
    assert_eq!(status(&server.get(&format!("{path}?token={token}&name=x"))), "401");
    assert_eq!(status(&server.get(&format!("{path}?name=x"))), "405");
    let long = format!("token={token}&name={}", "x".repeat(100_000));
    assert_eq!(status(&server.post(&path, "", &long)), "413");
    assert!(server.ran.lock().unwrap().is_empty());
}

#[test]
fn no_path_leads_to_a_file() {
    let server = TestServer::start(&["x"]);
    for path in [
        "/assets/../../etc/passwd",
        "/assets/..%2f..%2fetc%2fpasswd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/../etc/passwd",
        "/sessions/claude/..%2f..%2f..%2fetc%2fpasswd",
        "/sessions/..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/usage/..%2f..",
        &format!("/sessions/claude/{ID}/export/..%2f..%2fx"),
        &format!("/sessions/codex/{ID}"),
        "/api/v1/show/%2fetc%2fpasswd",
        "/api/v1/archive",
        "/api/v1/forget/x",
    ] {
        let answer = server.get(path);
        assert_eq!(status(&answer), "404", "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}");
    }
    assert!(server.ran.lock().unwrap().is_empty());
}

#[test]
fn nothing_of_an_address_gets_into_a_header() {
    let server = TestServer::start(&["x"]);
    let token = server.server.url().split("token=").nth(1).unwrap().to_owned();
    for path in [
        format!("/sessions?x=%0d%0aSet-Cookie:%20a=b&token={token}"),
        format!("//evil.example/?token={token}"),
        format!("/%0d%0aLocation:%20http://evil.example/?token={token}"),
        format!("/sessions/claude/{ID}?message=%0d%0aX-Evil:%20y&find=%0d%0aX-Evil:%20y"),
    ] {
        let answer = server.get(&path);
        let head = answer.split("\r\n\r\n").next().unwrap();
        let names: Vec<&str> =
            head.lines().skip(1).map(|line| line.split(':').next().unwrap()).collect();
        assert!(!names.contains(&"x-evil") && !head.contains("a=b; "), "{head}");
        let places: Vec<&str> =
            head.lines().filter_map(|line| line.strip_prefix("location: ")).collect();
        assert!(
            places.iter().all(|place| place.starts_with('/') && !place.starts_with("//")),
            "{head}"
        );
    }
}

/// Texts that would run in a page that does not escape.
const HOSTILE: &str = "<script>evil()</script><img src=x onerror=evil()>\"'><svg/onload=evil()> [a](javascript:evil()) \
                       ![b](http://evil.example/x.png) <iframe src=http://evil.example></iframe> ```<b>\n</code></pre><script>evil()</script>\n```";

#[test]
fn hostile_sessions_stay_text_on_every_page() {
    let server = TestServer::start(&[HOSTILE, "second"]);
    for path in [
        "/",
        "/sessions",
        "/sessions?q=evil",
        "/search?q=evil",
        "/search?q=%22%3Cscript%3E",
        "/usage/prompt",
        "/usage/session",
        "/usage/project",
        "/tools",
        "/commands",
        "/files?path=%3Cscript%3Eevil()",
        "/projects",
        "/insights",
        "/health",
        "/api/v1",
        "/sessions?project=%3Cscript%3Eevil()%3C/script%3E&tag=%22onload=evil()&sort=%3Cscript%3E",
        "/usage/%3Cscript%3Eevil()",
        "/%3Cscript%3Eevil()",
        "/?since=%3Cscript%3Eevil()",
        "/api/v1/verify",
        &format!("/sessions/claude/{ID}"),
        &format!("/sessions/claude/{ID}?view=focused&find=%22%3E%3Cscript%3E"),
        &format!("/sessions/claude/{ID}/part?from=0&live=1"),
    ] {
        let answer = server.get(path);
        assert!(matches!(status(&answer), "200" | "400" | "404" | "500"), "{path}: {answer}");
        let body = answer.split_once("\r\n\r\n").unwrap().1.to_lowercase();
        for bad in [
            "<script>",
            "<img src=x",
            "<svg/onload",
            "<iframe",
            "href=\"javascript",
            "src=\"http",
            " onerror=evil",
            "<b>shop",
        ] {
            let is_text = body.contains(&bad.replace('<', "&lt;"));
            assert!(!body.contains(bad) || (!bad.starts_with('<') && is_text), "{path}: {bad}");
        }
        assert!(!body.contains("onerror=evil()>"), "{path}");
        assert!(
            answer.contains("default-src 'none'")
                && answer.contains("nosniff")
                && !body.contains(" style="),
            "{path}"
        );
    }
}

#[test]
fn a_query_of_thousands_of_words_is_refused() {
    let server = TestServer::start(&["some words"]);
    for path in ["/search?part=typing&q=", "/search?q=", "/sessions?q="] {
        let answer = server.get(&format!("{path}{}", "w*+OR+".repeat(5000)));
        assert_eq!(status(&answer), "200");
        assert!(!answer.contains("some words"), "{path}");
    }
    assert!(server.get("/search?q=w*").contains("1 hit "));
    let long = "w%20".repeat(5000);
    for path in [format!("/api/v1/search/{long}"), format!("/api/v1/search?query={long}")] {
        assert_eq!(status(&server.get(&path)), "400");
    }
}

#[test]
fn a_message_of_ten_megabytes_is_answered() {
    let long = "word <b> & ".repeat(1_000_000);
    let server = TestServer::start(&[&long, "after it"]);
    let start = Instant::now();
    let answer = server.get(&format!("/sessions/claude/{ID}"));
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("after it") && answer.ends_with("</body>"), "{}", answer.len());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(status(&server.get("/")), "200");
    assert!(server.get("/sessions").len() < 200_000);
}

#[test]
fn a_client_that_never_reads_or_never_ends_its_request_is_dropped() {
    let options = Options { patience: Duration::from_secs(8), ..Options::default() };
    let server = TestServer::with(&[&"word ".repeat(2_000_000)], &options);
    let request = format!(
        "GET /sessions/claude/{ID} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        server.host(),
        server.cookie()
    );
    let mut deaf: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for stream in &mut deaf {
        stream.write_all(request.as_bytes()).unwrap();
    }
    let mut slow = server.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    // Others are answered meanwhile.
    assert_eq!(status(&server.get("/sessions")), "200");
    std::thread::sleep(Duration::from_secs(14));
    for mut stream in deaf {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 9_000_000, "it was sent {} bytes in the end", answer.len());
    }
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest);
    assert!(
        rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
    assert_eq!(status(&server.get("/sessions")), "200");
}

#[test]
fn a_request_that_is_sent_slowly_for_ever_is_dropped() {
    let options = Options { patience: Duration::from_secs(1), ..Options::default() };
    let server = TestServer::with(&["x"], &options);
    let mut slow = server.connect();
    slow.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
    let has_ended = (0..200).any(|_| {
        let is_closed = match slow.read(&mut [0; 64]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        };
        is_closed || slow.write_all(b"x").is_err()
    });
    assert!(has_ended);
}

#[test]
fn requests_that_are_not_http_are_refused() {
    let options = Options { patience: Duration::from_secs(2), ..Options::default() };
    let server = TestServer::with(&["x"], &options);
    for request in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let answer = server.send(request);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{request:?}: {answer}");
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(600_000));
    assert!(!server.send(&long).starts_with("HTTP/1.1 2"));
    assert_eq!(status(&server.get("/")), "200");
}
