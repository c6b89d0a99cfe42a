//! The row of a session.

use backstory_core::Session;
use backstory_core::model::{Bucket, SessionId, TitleFrom};
use backstory_core::redact::Redactor;

use crate::filter::Filter;
use crate::policy::Policy;
use crate::project::Identity;
use crate::tables::SessionRow;
use crate::value::{Text, count};

/// Returns the row of a session. One that was started by another worked on its branch.
pub(super) fn row(
    session: &Session,
    parent: Option<&Session>,
    identity: Identity,
    policy: &Policy,
    filter: &Filter<'_>,
) -> SessionRow {
    let on = [Some(session), parent].into_iter().flatten().find_map(|on| on.branch.as_deref());
    let id = |id: &SessionId| policy.key.session(id);
    let models: Vec<Text> = session.models.iter().map(|model| filter.clean(model)).collect();
    let unrecorded = |bucket| session.unrecorded.map(|usage| count(usage.get(bucket)));
    SessionRow {
        session: id(&session.id),
        agent: session.agent.as_str().into(),
        kind: session.kind.name().into(),
        parent: session.parent.as_ref().map(id),
        forked_from: session.forked_from.as_ref().map(id),
        project: Some(identity.project),
        folder: Some(identity.folder),
        branch: on.map(Into::into),
        started: session.started,
        updated: session.updated,
        prompts: count(session.prompts),
        turns: count(session.turns),
        messages: count(session.messages_full),
        calls: count(session.calls),
        tool_calls: count(session.tool_calls),
        subagents: count(session.subagents),
        faults: count(session.faults),
        models: models.join(" ").into(),
        state: session.state.name().into(),
        is_listed: session.is_listed(),
        title: if policy.text { title(session, filter) } else { None },
        unrecorded_input: unrecorded(Bucket::Input),
        unrecorded_cached: unrecorded(Bucket::Cached),
        unrecorded_cache_write_5m: unrecorded(Bucket::CacheWrite5m),
        unrecorded_cache_write_1h: unrecorded(Bucket::CacheWrite1h),
        unrecorded_output: unrecorded(Bucket::Output),
        unrecorded_thoughts: unrecorded(Bucket::Thoughts),
        unrecorded_tool: unrecorded(Bucket::Tool),
        unrecorded_other: unrecorded(Bucket::Other),
    }
}

/// Returns the title. Secrets are removed before it becomes one line, which may hide where they begin.
fn title(session: &Session, filter: &Filter<'_>) -> Option<Text> {
    let mut redactor = Redactor::new(&filter.rules);
    redactor.session(&mut session.clone());
    redactor.learn();
    let mut clean = session.clone();
    redactor.session(&mut clean);
    let (title, from) = clean.title();
    (from != TitleFrom::Id).then(|| title.into())
}
