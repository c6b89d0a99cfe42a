//! Responses: pages, files, redirections, and what went wrong.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, Response, StatusCode};
use backstory_core::ArchiveError;
use maud::Markup;

use crate::{Refusal, RefusalKind};

/// The answer to a request.
pub(crate) enum Reply {
    /// A page, or a part of one.
    Html(Markup),
    /// Data.
    Data {
        /// The media type.
        kind: &'static str,
        body: Vec<u8>,
        /// The name under which a browser saves it.
        save_as: Option<String>,
    },
    /// Another address of this server, which was encoded already.
    See(String),
}

/// The reason why there is no answer.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) what: String,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self { status, what: what.into(), hint: None }
    }

    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, what)
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, what)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the problem as a document, for programs.
    pub(crate) fn document(&self) -> Response<Body> {
        let Self { status, what, hint } = self;
        let schema = "backstory.error/1";
        let body = serde_json::json!({ "schema": schema, "error": what, "hint": hint });
        Reply::json(body.to_string().into_bytes()).respond(*status)
    }
}

impl From<ArchiveError> for Problem {
    fn from(error: ArchiveError) -> Self {
        let status = if error.passes() {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        Self::new(status, format!("The archive cannot be used: {error}"))
            .hint("`backstory archive check` looks for damage")
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.kind {
            RefusalKind::Nothing => StatusCode::NOT_FOUND,
            RefusalKind::Invalid => StatusCode::BAD_REQUEST,
            RefusalKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, refusal.what)
    }
}

impl Reply {
    pub(crate) fn json(body: Vec<u8>) -> Self {
        Self::Data { kind: "application/json", body, save_as: None }
    }

    pub(crate) fn respond(self, status: StatusCode) -> Response<Body> {
        match self {
            Self::Html(markup) => {
                respond(status, "text/html; charset=utf-8", markup.into_string().into())
            }
            Self::Data { kind, body, save_as } => {
                let mut response = respond(status, kind, body.into());
                let name = save_as.as_deref().map(attachment);
                if let Some(Ok(name)) = name.as_deref().map(HeaderValue::from_str) {
                    response.headers_mut().insert(CONTENT_DISPOSITION, name);
                }
                response
            }
            Self::See(address) => {
                let mut response =
                    respond(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", Body::empty());
                let address = HeaderValue::from_str(&address);
                response
                    .headers_mut()
                    .insert(LOCATION, address.unwrap_or(HeaderValue::from_static("/")));
                response
            }
        }
    }
}

/// Returns a response that no cache keeps.
pub(crate) fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Names a file to save, in characters that need no quoting.
fn attachment(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(80).collect();
    format!("attachment; filename=\"{}\"", name.trim_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::attachment;

    #[test]
    fn the_name_of_a_file_cannot_leave_its_header() {
        assert_eq!(
            attachment("a\"\r\nSet-Cookie: x=y/../é.md"),
            "attachment; filename=\"a---Set-Cookie--x-y-..--.md\""
        );
        assert_eq!(attachment("..hidden"), "attachment; filename=\"hidden\"");
    }
}
