//! Pages, their links, and their files.

use crate::server::{ID, TestServer, status};

#[test]
fn every_page_is_whole_and_has_its_title() {
    let server = TestServer::start(&["find the *parser* error", "and fix it"]);
    for (path, title) in [
        ("/", "Overview"),
        ("/sessions", "Sessions"),
        ("/search", "Search"),
        ("/search?q=parser", "parser · Search"),
        ("/usage", "Day · Usage"),
        ("/usage/model", "Model · Usage"),
        ("/tools", "Tools"),
        ("/commands", "Commands"),
        ("/files", "Files"),
        ("/projects", "Projects"),
        ("/insights", "Insights"),
        ("/health", "Health"),
        ("/api/v1", "API"),
    ] {
        let answer = server.get(path);
        assert_eq!(status(&answer), "200", "{path}: {answer}");
        assert!(answer.contains(&format!("<title>{title} · backstory</title>")), "{path}");
        assert!(answer.ends_with("</body>") && answer.contains("<main id=\"main\""), "{path}");
    }
    assert_eq!(status(&server.get("/nothing")), "404");
    assert_eq!(status(&server.get("/usage/nothing")), "404");
    assert_eq!(status(&server.get("/?period=lots")), "400");
}

#[test]
fn a_session_is_found_listed_and_shown() {
    let server = TestServer::start(&["find the *parser* error", "and fix it"]);
    let path = format!("/sessions/claude/{ID}");
    assert!(server.get("/sessions").contains(&format!("href=\"{path}\"")));
    let page = server.get(&path);
    assert!(page.contains("<em>parser</em>") && page.contains("id=\"m1\""), "{page}");
    let search = server.get("/search?q=parser");
    assert!(search.contains("<mark class=\"found\">parser</mark>"), "{search}");
    let at = search.find("?message=").unwrap();
    let link = &search[at..search[at..].find('"').unwrap() + at].replace("&amp;", "&");
    let hit = server.get(&format!("{path}{link}"));
    assert!(hit.contains(&format!("location: {path}?find=parser&at=0#m0")), "{hit}");
    assert!(server.get(&format!("{path}?view=focused")).contains("and fix it"));
    assert_eq!(status(&server.get(&format!("{path}?view=other"))), "400");
}

#[test]
fn the_facts_of_a_session_are_there_without_messages() {
    let server = TestServer::start(&["first", "second"]);
    let part = server.get(&format!("/sessions/claude/{ID}/part?from=1000000000&live=1"));
    assert_eq!(status(&part), "200");
    assert!(part.contains("id=\"about\"") && !part.contains("<article"), "{part}");
}

#[test]
fn the_scope_of_a_page_is_kept_by_its_links() {
    let server = TestServer::start(&["x"]);
    let page = server.get("/?period=7d&agent=claude");
    assert!(page.contains("href=\"/sessions?period=7d&amp;agent=claude\""), "{page}");
    assert!(page.contains("<option value=\"claude\" selected>"), "{page}");
    assert!(server.get("/sessions?agent=codex").contains("No sessions match."));
}

#[test]
fn every_kind_of_session_has_its_number() {
    let server = TestServer::start(&["find the parser"]);
    for (path, conversations) in
        [("/sessions", 1), ("/sessions?kind=subagent", 1), ("/sessions?q=nosuch", 0)]
    {
        let page = server.get(path);
        for (kind, number) in [("conversations", conversations), ("subagents", 0)] {
            assert!(page.contains(&format!("{kind}</a> <small>{number}</small>")), "{path} {kind}");
        }
    }
    assert_eq!(status(&server.get("/sessions?kind=nosuch")), "400");
}

#[test]
fn files_and_documents_come_from_the_program() {
    let server = TestServer::start(&["x"]);
    let csv = server.get("/usage/model.csv?period=7d&project=shop");
    assert!(csv.contains("content-disposition: attachment; filename=\"usage-model.csv\""), "{csv}");
    assert!(
        server.get(&format!("/sessions/claude/{ID}/export/markdown")).contains("filename=\"x.md\"")
    );
    assert_eq!(status(&server.get("/api/v1/sessions?since=7d")), "200");
    assert_eq!(status(&server.get(&format!("/api/v1/show/{}", &ID[..8]))), "200");
    let bearer = server.server.url().split("token=").nth(1).unwrap().to_owned();
    let answer = server.send(&format!(
        "GET /api/v1/usage/model HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {bearer}\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(status(&answer), "200");
    let ran = server.ran.lock().unwrap().clone();
    assert_eq!(
        ran,
        [
            "usage [(\"since\", \"2026-08-08\"), (\"until\", \"2026-08-14\"), (\"project\", \"shop\"), (\"group\", \"model\"), (\"format\", \"csv\")] false".to_owned(),
            format!("export [(\"session\", \"{ID}\"), (\"format\", \"markdown\")] false"),
            "sessions [(\"since\", \"7d\")] true".to_owned(),
            format!("show [(\"session\", \"{ID}\")] true"),
            "usage [(\"group\", \"model\")] true".to_owned(),
        ]
    );
}

#[test]
fn script_and_style_may_be_kept_forever() {
    let server = TestServer::start(&["x"]);
    let page = server.get("/");
    for (start, end) in [("href=\"/assets/web", "css"), ("src=\"/assets/web", "js")] {
        let at = page.find(start).unwrap() + start.len() - "/assets/web".len();
        let address = &page[at..page[at..].find('"').unwrap() + at];
        assert!(address.ends_with(end), "{address}");
        let asset = server.get(address);
        assert!(
            status(&asset) == "200" && asset.contains("immutable") && asset.len() > 1000,
            "{address}"
        );
    }
    assert_eq!(status(&server.get("/assets/web-0000.css")), "404");
    assert_eq!(status(&server.get("/favicon.ico")), "200");
}
