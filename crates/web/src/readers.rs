//! Threads that answer questions from the archive, each with a connection of its own.
//!
//! A connection cannot be shared between threads, and a question may take a while; so the threads that move
//! bytes never ask the archive themselves.

use std::any::Any;
use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use backstory_core::archive::{Archive, ArchiveError};
use backstory_core::model::Message;
use tokio::sync::oneshot;

/// The number of threads. Each connection has a cache of up to 16 MB.
const READERS: usize = 3;

/// The maximum number of questions that wait; more are refused.
const WAITING: usize = 512;

type Job = Box<dyn FnOnce(Result<&Archive, &ArchiveError>) + Send>;

/// The threads.
pub(crate) struct Readers {
    jobs: SyncSender<Job>,
}

/// The reason why a question has no answer.
#[derive(Debug)]
pub(crate) enum NotAnswered {
    /// Too many others wait.
    Busy,
    /// The thread failed.
    Failed,
}

impl Readers {
    pub(crate) fn start(path: &Path) -> std::io::Result<Self> {
        let (jobs, inbox) = mpsc::sync_channel(WAITING);
        let inbox = Arc::new(Mutex::new(inbox));
        for n in 0..READERS {
            let (inbox, path) = (Arc::clone(&inbox), path.to_owned());
            thread::Builder::new()
                .name(format!("reader-{n}"))
                .spawn(move || serve(&inbox, &path))?;
        }
        Ok(Self { jobs })
    }

    /// Asks the archive on one of the threads.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(Result<&Archive, &ArchiveError>) -> T + Send + 'static,
    ) -> Result<T, NotAnswered> {
        let (send, answer) = oneshot::channel();
        let job: Job = Box::new(move |archive| {
            // Nobody waits for the answer of a request that was given up.
            if !send.is_closed() {
                let _ = send.send(question(archive));
            }
        });
        match self.jobs.try_send(job) {
            Ok(()) => answer.await.map_err(|_| NotAnswered::Failed),
            Err(TrySendError::Full(_)) => Err(NotAnswered::Busy),
            Err(TrySendError::Disconnected(_)) => Err(NotAnswered::Failed),
        }
    }
}

/// Answers questions until nobody can ask any more. The connection stays open; it is replaced only if a
/// rebuild has replaced the file.
fn serve(inbox: &Mutex<Receiver<Job>>, path: &Path) {
    let open = || Archive::open(path)?.with_small_cache();
    let mut archive: Option<Archive> = open().ok();
    loop {
        let job = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // A new archive learns which files are of this machine only when it is first written.
        archive = archive.filter(|archive| !archive.is_replaced() && archive.machine().is_some());
        if archive.is_none() {
            match open() {
                Ok(opened) => archive = Some(opened),
                Err(error) => {
                    job(Err(&error));
                    continue;
                }
            }
        }
        if let Some(archive) = &archive {
            // A question that panics must not take the thread along; its request ends with an error.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(Ok(archive))));
        }
    }
}

/// The maximum number of answers that are kept.
const MOST_ANSWERS: usize = 64;

/// Answers that are kept as long as a snapshot.
#[derive(Default)]
pub(crate) struct Memo {
    answers: Mutex<HashMap<String, Arc<dyn Any + Send + Sync>>>,
    /// The session that was read last, whose parts are usually asked for next.
    read: Mutex<Option<(String, Arc<Vec<Message>>)>>,
}

impl Memo {
    /// Returns the answer with a name, which is found only once.
    pub(crate) fn get<T: Send + Sync + 'static, E>(
        &self,
        name: &str,
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let known = self.answers().get(name).cloned();
        if let Some(Ok(known)) = known.map(Arc::downcast) {
            return Ok(known);
        }
        let found = Arc::new(find()?);
        let mut answers = self.answers();
        // There is no end to the periods that people can name.
        if answers.len() >= MOST_ANSWERS {
            answers.clear();
        }
        answers.insert(name.to_owned(), Arc::clone(&found) as Arc<dyn Any + Send + Sync>);
        Ok(found)
    }

    /// Returns the messages of a session. Only those of the last session are kept.
    pub(crate) fn messages<E>(
        &self,
        id: &str,
        read: impl FnOnce() -> Result<Vec<Message>, E>,
    ) -> Result<Arc<Vec<Message>>, E> {
        let last = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last()
            .as_ref()
            .filter(|(known, _)| known == id)
            .map(|(_, messages)| Arc::clone(messages));
        if let Some(messages) = known {
            return Ok(messages);
        }
        let messages = Arc::new(read()?);
        *last() = Some((id.to_owned(), Arc::clone(&messages)));
        Ok(messages)
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<dyn Any + Send + Sync>>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
