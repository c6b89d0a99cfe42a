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

/// The maximum number of connections at once.
const MOST: usize = 1024;

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
                    let end = Box::pin(sleep(self.patience));
                    return (
                        Connection { stream, end, patience: self.patience, _permit: permit },
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

/// A connection that ends if neither side makes progress.
pub(crate) struct Connection {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    patience: Duration,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// Returns the result of an operation; one that has been pending for too long is an error.
    fn limited<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.end.as_mut().reset(Instant::now() + self.patience);
            return polled;
        }
        ready!(self.end.as_mut().poll(context));
        // Whoever asks again gets the same answer.
        self.end = Box::pin(sleep_until(Instant::now()));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
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
        self.limited(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.limited(context, polled)
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
