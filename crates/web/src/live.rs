//! A stream of events that announces changes. The page asks for what it shows; the stream has no content of
//! its own, so that a slow reader never makes the server keep anything.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode, Uri};
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::app::Shared;
use crate::feed::Snapshot;
use crate::query::Query;
use crate::reply::respond;

/// The interval of signs of life, without which a broken connection would not be noticed.
const PULSE: Duration = Duration::from_secs(15);

/// A reader of the stream.
struct Reader {
    feed: watch::Receiver<Arc<Snapshot>>,
    /// The session to hear about; none for all.
    session: Option<String>,
    /// The last version that it knows.
    version: u64,
    is_new: bool,
}

/// Announces every change of a session, or of anything.
pub(crate) async fn events(State(app): State<Shared>, uri: Uri) -> Response<Body> {
    let query = Query::parse(uri.query().unwrap_or_default());
    let version = query.get("since").and_then(|since| since.parse().ok());
    let reader = Reader {
        feed: app.feed.follow(),
        session: query.get("session").map(str::to_owned),
        version: version.unwrap_or_else(|| app.feed.now().version),
        is_new: true,
    };
    let events = stream::unfold(reader, async |mut reader| {
        let event = reader.next().await?;
        Some((Ok::<Bytes, Infallible>(event.into()), reader))
    });
    respond(StatusCode::OK, "text/event-stream", Body::from_stream(events))
}

impl Reader {
    /// Waits for the next event; none if the server ends.
    async fn next(&mut self) -> Option<String> {
        if std::mem::take(&mut self.is_new) {
            return Some("retry: 2000\n\n".to_owned());
        }
        loop {
            let version = self.changed();
            if version > self.version {
                self.version = version;
                return Some(format!("id: {version}\nevent: change\ndata: {version}\n\n"));
            }
            match timeout(PULSE, self.feed.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) => return Some(": \n\n".to_owned()),
            }
        }
    }

    /// Returns the version of the last change that it wants to hear about.
    fn changed(&mut self) -> u64 {
        let snapshot = self.feed.borrow_and_update();
        match &self.session {
            Some(session) => snapshot.changed.get(session.as_str()).copied().unwrap_or(0),
            None => snapshot.version,
        }
    }
}
