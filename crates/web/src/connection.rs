//! Accepts connections, and ends those that make no progress.
//!
//! A client that sends half a request, or never reads its answer, would otherwise keep its connection, and
//! the answer in memory, for as long as it likes.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// The maximum number of connections at once. Most systems let a program open 1024 files, and the archive and the
/// sessions need some of them.
const MOST: usize = 512;

/// The time that a client has to begin its first request. Browsers connect in advance.
const FIRST: Duration = Duration::from_secs(10);

/// The pause after a connection could not be accepted, because too many files are open.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Connections {
    listener: TcpListener,
    free: Arc<Semaphore>,
    patience: Duration,
}

impl Connections {
    /// Accepts connections that may go without progress for as long as `patience`.
    pub(crate) fn new(listener: TcpListener, patience: Duration) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(MOST)), patience }
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            // The semaphore is never closed; without a permit the connection is only not counted.
            let permit = Arc::clone(&self.free).acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let _ = stream.set_nodelay(true);
                    let patience = self.patience;
                    let end = Box::pin(sleep(patience.min(FIRST)));
                    let is_asking = false;
                    return (
                        Connection { stream, end, patience, is_asking, _permit: permit },
                        address,
                    );
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends if nothing is answered for too long. The bytes of a request give it no more time, or else
/// one that never ends, sent slowly, would keep its connection.
pub(crate) struct Connection {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    patience: Duration,
    /// Whether a request has begun that has no answer yet.
    is_asking: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Returns the result of an operation; one that is pending at the end is an error.
    fn limited<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            return polled;
        }
        ready!(self.end.as_mut().poll(context));
        // Whoever asks again gets the same answer.
        self.end = Box::pin(sleep_until(Instant::now()));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn give_time(&mut self) {
        self.end.as_mut().reset(Instant::now() + self.patience);
    }

    /// Limits what writes a part of an answer, after which there is time for the rest and for the next request.
    fn answering<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.is_asking = false;
            self.give_time();
        }
        self.limited(context, polled)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if polled.is_ready() && !self.is_asking {
            self.is_asking = true;
            self.give_time();
        }
        self.limited(context, polled)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.answering(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.answering(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
