//! Binds to an address, routes requests, and checks every one of them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    CONTENT_SECURITY_POLICY, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, Response, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::app::{App, Ask, Page, Shared};
use crate::connection::Connections;
use crate::feed::Feed;
use crate::guard::{Denial, Guard};
use crate::query::{Query, decode};
use crate::readers::{NotAnswered, Readers};
use crate::reply::{Problem, Reply};
use crate::{Site, api, assets, layout, live, pages};

/// The maximum number of bytes of a form.
const FORM: usize = 16 * 1024;

/// The policy of every page: nothing from elsewhere, and no code or style in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen at.
    pub ip: IpAddr,
    /// The port; 0 for any.
    pub port: u16,
    /// Additional names that requests may address the server by.
    pub hosts: Vec<String>,
    /// The time that a connection may go without progress.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let ip = Ipv4Addr::LOCALHOST.into();
        Self { ip, port: 0, hosts: Vec::new(), patience: Duration::from_secs(60) }
    }
}

/// The reason why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// The port is in use.
    PortTaken,
    /// Anything else.
    Other(io::Error),
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::PortTaken,
            _ => Self::Other(error),
        }
    }
}

/// A running server, which ends when this is dropped.
pub struct Server {
    url: String,
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts a server.
    pub fn start(site: Site, feed: Feed, options: &Options) -> Result<Self, StartError> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((options.ip, options.port)))?;
        let address = listener.local_addr()?;
        let readers = Readers::start(&site.archive)?;
        let guard = Guard::new(options.ip, address.port(), options.hosts.clone())
            .map_err(io::Error::other)?;
        let shown =
            if options.ip.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { options.ip };
        let url =
            format!("http://{}/?token={}", SocketAddr::new(shown, address.port()), guard.token());
        let app = Arc::new(App { site, feed, readers, guard });
        let router = router(&app);
        let connections = Connections::new(listener, options.patience);
        let (end, ended) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("server".to_owned()).spawn(move || {
            runtime.spawn(async move {
                let _ = axum::serve(connections, router).await;
            });
            // Streams of events never end by themselves; they end with the runtime.
            let _ = runtime.block_on(ended);
        })?;
        Ok(Self { url, address, end: Some(end), thread: Some(thread) })
    }

    /// Returns the address to open, with the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the address that the server listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn router(app: &Shared) -> Router {
    Router::new()
        .route("/", page(pages::overview))
        .route("/sessions", page(pages::sessions))
        .route("/sessions/{agent}/{id}", page(pages::session))
        .route("/sessions/{agent}/{id}/part", page(pages::session_part))
        .route("/sessions/{agent}/{id}/export/{format}", page(pages::export))
        .route("/sessions/{agent}/{id}/name", change(pages::name))
        .route("/sessions/{agent}/{id}/tags", change(pages::tags))
        .route("/search", page(pages::search))
        .route("/usage", page(pages::usage))
        .route("/usage/{group}", page(pages::usage))
        .route("/tools", page(pages::tools))
        .route("/commands", page(pages::commands))
        .route("/files", page(pages::files))
        .route("/projects", page(pages::projects))
        .route("/insights", page(pages::insights))
        .route("/health", page(pages::health))
        .route("/events", get(live::events))
        .route("/api/v1", page(api::index))
        .route("/api/v1/{command}", page(api::document))
        .route("/api/v1/{command}/{argument}", page(api::document))
        .route("/assets/{name}", get(assets::serve))
        .route("/favicon.ico", get(assets::icon))
        .fallback(async || layout::problem(&Problem::not_found("There is no such page.")))
        .layer(from_fn_with_state(Arc::clone(app), check))
        .with_state(Arc::clone(app))
}

/// Makes a page on one of the threads that have the archive.
async fn answer(app: Shared, page: Page, path: Vec<String>, query: Query) -> Response<Body> {
    let shared = Arc::clone(&app);
    let is_for_programs = path.first().is_some_and(|part| part == "api");
    let refuse = move |problem: &Problem| {
        if is_for_programs { problem.document() } else { layout::problem(problem) }
    };
    let answer = app.readers.ask(move |archive| {
        let archive = match archive {
            Ok(archive) => archive,
            Err(error) => {
                let what = format!("The archive cannot be opened: {error}");
                return refuse(&Problem::new(StatusCode::SERVICE_UNAVAILABLE, what));
            }
        };
        let snapshot = shared.feed.now();
        let now = (shared.site.clock)();
        let ask =
            Ask { app: &shared, snapshot: &snapshot, archive, path: &path, query: &query, now };
        match page(&ask) {
            Ok(reply) => reply.respond(StatusCode::OK),
            Err(problem) => refuse(&problem),
        }
    });
    answer.await.unwrap_or_else(|error| {
        refuse(&match error {
            NotAnswered::Busy => Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many requests wait for an answer.",
            ),
            NotAnswered::Failed => {
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "The page could not be made.")
            }
        })
    })
}

/// Routes a page that only reads.
fn page(page: Page) -> MethodRouter<Shared> {
    get(async move |State(app): State<Shared>, uri: Uri| {
        answer(app, page, segments(&uri), Query::parse(uri.query().unwrap_or_default())).await
    })
}

/// Routes a change, whose form has the form token.
fn change(page: Page) -> MethodRouter<Shared> {
    post(async move |State(app): State<Shared>, request: Request| {
        let (parts, body) = request.into_parts();
        let body: Bytes = match to_bytes(body, FORM).await {
            Ok(body) => body,
            Err(_) => {
                return layout::problem(&Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "The form is too long.",
                ));
            }
        };
        let form = Query::parse(&String::from_utf8_lossy(&body));
        if let Err(denial) = app.guard.check_change(&parts.headers, form.get("token")) {
            return denied(denial);
        }
        answer(app, page, segments(&parts.uri), form).await
    })
}

/// Returns the parts of a path. A `/` inside a part was encoded.
fn segments(uri: &Uri) -> Vec<String> {
    uri.path().split('/').skip(1).map(decode).collect()
}

/// Checks a request before anything else, and protects its answer.
async fn check(State(app): State<Shared>, request: Request, next: Next) -> Response<Body> {
    let mut response = match admit(&app, &request) {
        Ok(None) => next.run(request).await,
        Ok(Some(response)) => response,
        Err(denial) => denied(denial),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        // Without a referrer, browsers hide the origin of forms as well.
        (REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Decides whether a request is answered. The token is exchanged for a cookie and leaves the address.
fn admit(app: &App, request: &Request) -> Result<Option<Response<Body>>, Denial> {
    let headers = request.headers();
    app.guard.check_origin(headers)?;
    let query = Query::parse(request.uri().query().unwrap_or_default());
    if let Some(token) = query.get("token").filter(|_| request.method() == Method::GET) {
        if !app.guard.is_token(token) {
            return Err(Denial::Token);
        }
        let path = request.uri().path();
        // A path with two slashes would lead to another host.
        let path = if path.starts_with("//") { "/" } else { path };
        let mut response =
            Reply::See(query.with("token", None).address(path)).respond(StatusCode::SEE_OTHER);
        if let Ok(cookie) = HeaderValue::from_str(&app.guard.set_cookie()) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        return Ok(Some(response));
    }
    // Script and style are the same for everybody.
    if request.uri().path().starts_with(assets::FOLDER) {
        return Ok(None);
    }
    app.guard.check_secret(headers).map(|()| None)
}

fn denied(denial: Denial) -> Response<Body> {
    layout::problem(&Problem::new(denial.status(), denial.text()))
}
