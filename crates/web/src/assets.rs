//! The script, the style and the icon. Their addresses contain a hash, so that browsers may keep them.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Path;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, Response, StatusCode};
use backstory_core::export::html::{STORY_SCRIPT, STORY_STYLE};
use sha2::{Digest, Sha256};

use crate::query::hex;
use crate::reply::respond;

/// The beginning of their addresses.
pub(crate) const FOLDER: &str = "/assets/";

const STYLE: &str = include_str!("../assets/web.css");
const SCRIPT: &str = include_str!("../assets/web.js");
const SESSION_SCRIPT: &str = include_str!("../assets/session.js");
const ICON: &str = include_str!("../assets/icon.svg");

struct Asset {
    address: String,
    kind: &'static str,
    body: String,
}

impl Asset {
    fn new(stem: &str, ending: &str, kind: &'static str, body: String) -> Self {
        let hash = hex(&Sha256::digest(&body)[..8]);
        Self { address: format!("{FOLDER}{stem}-{hash}.{ending}"), kind, body }
    }
}

static ASSETS: LazyLock<[Asset; 4]> = LazyLock::new(|| {
    let script = "text/javascript; charset=utf-8";
    [
        Asset::new("web", "css", "text/css; charset=utf-8", format!("{STORY_STYLE}{STYLE}")),
        Asset::new("web", "js", script, SCRIPT.to_owned()),
        Asset::new("session", "js", script, format!("{STORY_SCRIPT}{SESSION_SCRIPT}")),
        Asset::new("icon", "svg", "image/svg+xml", ICON.to_owned()),
    ]
});

pub(crate) fn style() -> &'static str {
    &ASSETS[0].address
}

pub(crate) fn script() -> &'static str {
    &ASSETS[1].address
}

pub(crate) fn session_script() -> &'static str {
    &ASSETS[2].address
}

pub(crate) fn icon_address() -> &'static str {
    &ASSETS[3].address
}

pub(crate) async fn serve(Path(name): Path<String>) -> Response<Body> {
    let is_it = |asset: &&Asset| asset.address.strip_prefix(FOLDER) == Some(&name);
    match ASSETS.iter().find(is_it) {
        Some(asset) => kept(asset),
        None => respond(
            StatusCode::NOT_FOUND,
            "text/plain; charset=utf-8",
            "There is no such file.".into(),
        ),
    }
}

/// Serves the icon under the address that browsers try by themselves.
pub(crate) async fn icon() -> Response<Body> {
    kept(&ASSETS[3])
}

fn kept(asset: &'static Asset) -> Response<Body> {
    let mut response = respond(StatusCode::OK, asset.kind, asset.body.as_str().into());
    let forever = HeaderValue::from_static("private, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, forever);
    response
}
