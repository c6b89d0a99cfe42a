//! The keys: one table, from which handling, help and footer are made.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A command of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    Redraw,
    Help,
    Tab(usize),
    NextFocus,
    Field,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    Back,
    Resume,
    Export,
    CopyId,
    CopyCommand,
    Name,
    Tags,
    Web,
    Scope,
    Agent,
    Sort,
    Gone,
    Preview,
    PreviewDown,
    PreviewUp,
    Widen,
    Undo,
    Group,
    Measure,
    Longer,
    Shorter,
    NextPrompt,
    PreviousPrompt,
    Unfold,
    Fold,
    Tools,
    Thoughts,
    Only,
    NextMatch,
    PreviousMatch,
    Older,
    Newer,
}

/// A place where a key has a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Everywhere, also while typing.
    Any,
    /// Everywhere, except while typing.
    Body,
    Sessions,
    Search,
    Usage,
    Attention,
    Reading,
}

impl Place {
    /// Returns the heading in the help.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Any => "Everywhere",
            Self::Body => "When you are not typing, or with Alt",
            Self::Sessions => "Sessions",
            Self::Search => "Search",
            Self::Usage => "Usage",
            Self::Attention => "Attention",
            Self::Reading => "A session",
        }
    }
}

/// One key and its meaning.
pub(super) struct Binding {
    pub(super) place: Place,
    pub(super) key: Key,
    pub(super) action: Action,
    /// The explanation in the help.
    pub(super) help: &'static str,
    /// The word in the footer; empty if it is not there.
    pub(super) hint: &'static str,
}

/// A key without or with a modifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Control(char),
    Code(KeyCode),
}

impl Key {
    fn of(event: KeyEvent) -> Self {
        let has = |modifier| event.modifiers.contains(modifier);
        match event.code {
            KeyCode::Char(c) if has(KeyModifiers::CONTROL) => Self::Control(c),
            KeyCode::Char(c) => Self::Char(c),
            code => Self::Code(code),
        }
    }

    /// Returns the name for people.
    pub(super) fn name(self) -> String {
        match self {
            Self::Char(' ') => "Space".to_owned(),
            Self::Char(c) => c.to_string(),
            Self::Control(c) => format!("Ctrl-{}", c.to_ascii_uppercase()),
            Self::Code(KeyCode::Up) => "↑".to_owned(),
            Self::Code(KeyCode::Down) => "↓".to_owned(),
            Self::Code(KeyCode::Left) => "←".to_owned(),
            Self::Code(KeyCode::Right) => "→".to_owned(),
            Self::Code(KeyCode::PageUp) => "PgUp".to_owned(),
            Self::Code(KeyCode::PageDown) => "PgDn".to_owned(),
            Self::Code(KeyCode::F(n)) => format!("F{n}"),
            Self::Code(code) => format!("{code:?}"),
        }
    }
}

const fn bind(
    place: Place,
    key: Key,
    action: Action,
    help: &'static str,
    hint: &'static str,
) -> Binding {
    Binding { place, key, action, help, hint }
}

/// All keys. The first binding of an action is the one that help and footer name.
#[rustfmt::skip]
pub(super) const BINDINGS: &[Binding] = &[
    bind(Place::Any, Key::Code(KeyCode::F(1)), Action::Help, "explain the keys", "help"),
    bind(Place::Any, Key::Code(KeyCode::Tab), Action::NextFocus, "switch between typing and commands", ""),
    bind(Place::Any, Key::Control('c'), Action::Quit, "leave", ""),
    bind(Place::Any, Key::Control('l'), Action::Redraw, "draw the screen again", ""),
    bind(Place::Any, Key::Code(KeyCode::Up), Action::Up, "", ""),
    bind(Place::Any, Key::Code(KeyCode::Down), Action::Down, "", ""),
    bind(Place::Any, Key::Code(KeyCode::PageUp), Action::PageUp, "", ""),
    bind(Place::Any, Key::Code(KeyCode::PageDown), Action::PageDown, "", ""),
    bind(Place::Any, Key::Code(KeyCode::Enter), Action::Open, "open", "open"),
    bind(Place::Any, Key::Code(KeyCode::Esc), Action::Back, "one step back", ""),

    bind(Place::Body, Key::Char('1'), Action::Tab(0), "sessions", ""),
    bind(Place::Body, Key::Char('2'), Action::Tab(1), "search", ""),
    bind(Place::Body, Key::Char('3'), Action::Tab(2), "usage", ""),
    bind(Place::Body, Key::Char('4'), Action::Tab(3), "what needs attention", ""),
    bind(Place::Body, Key::Char('/'), Action::Field, "type", "type"),
    bind(Place::Body, Key::Char('r'), Action::Resume, "continue the session in its agent", "resume"),
    bind(Place::Body, Key::Char('e'), Action::Export, "export the session, redacted", "export"),
    bind(Place::Body, Key::Char('y'), Action::CopyId, "copy the id of the session", ""),
    bind(Place::Body, Key::Char('Y'), Action::CopyCommand, "copy the command that shows the session", ""),
    bind(Place::Body, Key::Char('n'), Action::Name, "name the session (in a list)", ""),
    bind(Place::Body, Key::Char('t'), Action::Tags, "tag the session", ""),
    bind(Place::Body, Key::Char('u'), Action::Undo, "take back changes of names and tags, the last one first", ""),
    bind(Place::Body, Key::Char('o'), Action::Web, "open the session in the web app", ""),
    bind(Place::Body, Key::Char('?'), Action::Help, "", ""),
    bind(Place::Body, Key::Char('q'), Action::Quit, "leave", "quit"),
    bind(Place::Body, Key::Char('k'), Action::Up, "", ""),
    bind(Place::Body, Key::Char('j'), Action::Down, "", ""),
    bind(Place::Body, Key::Char('g'), Action::Top, "to the first line", ""),
    bind(Place::Body, Key::Char('G'), Action::Bottom, "to the last line", ""),
    bind(Place::Body, Key::Code(KeyCode::Home), Action::Top, "", ""),
    bind(Place::Body, Key::Code(KeyCode::End), Action::Bottom, "", ""),

    bind(Place::Sessions, Key::Char('.'), Action::Scope, "only this folder, or everything", "this folder"),
    bind(Place::Sessions, Key::Char('a'), Action::Agent, "one agent after the other, or all", "agent"),
    bind(Place::Sessions, Key::Char('s'), Action::Sort, "sort by time, cost or tokens", "sort"),
    bind(Place::Sessions, Key::Char('d'), Action::Gone, "only sessions that the agent has deleted", "deleted"),
    bind(Place::Sessions, Key::Char('p'), Action::Preview, "show or hide the preview", ""),
    bind(Place::Sessions, Key::Char('J'), Action::PreviewDown, "scroll the preview", ""),
    bind(Place::Sessions, Key::Char('K'), Action::PreviewUp, "", ""),
    bind(Place::Sessions, Key::Code(KeyCode::Backspace), Action::Widen, "remove the last condition", ""),

    bind(Place::Search, Key::Char('.'), Action::Scope, "only this folder, or everything", "this folder"),

    bind(Place::Usage, Key::Char('b'), Action::Group, "by day, model, project or agent", "by"),
    bind(Place::Usage, Key::Char('c'), Action::Measure, "cost or tokens", "cost"),
    bind(Place::Usage, Key::Char('+'), Action::Longer, "a longer period", "longer"),
    bind(Place::Usage, Key::Char('-'), Action::Shorter, "a shorter period", "shorter"),

    bind(Place::Reading, Key::Char(' '), Action::PageDown, "one page down", ""),
    bind(Place::Reading, Key::Char('J'), Action::NextPrompt, "to the next prompt", "next prompt"),
    bind(Place::Reading, Key::Char('K'), Action::PreviousPrompt, "to the previous prompt", ""),
    bind(Place::Reading, Key::Code(KeyCode::Right), Action::Unfold, "unfold, or open a subagent", "unfold"),
    bind(Place::Reading, Key::Code(KeyCode::Left), Action::Fold, "fold", ""),
    bind(Place::Reading, Key::Char('z'), Action::Tools, "unfold or fold all tools", "tools"),
    bind(Place::Reading, Key::Char('Z'), Action::Thoughts, "unfold or fold all thoughts", ""),
    bind(Place::Reading, Key::Char('v'), Action::Only, "everything, only edits, or only prompts", "view"),
    bind(Place::Reading, Key::Char('n'), Action::NextMatch, "to the next match", ""),
    bind(Place::Reading, Key::Char('N'), Action::PreviousMatch, "to the previous match", ""),
    bind(Place::Reading, Key::Char('['), Action::Newer, "the session above in the list", ""),
    bind(Place::Reading, Key::Char(']'), Action::Older, "the session below in the list", ""),
];

/// Returns the meaning of a key on a screen. While somebody types, letters are text, unless Alt is held.
pub(super) fn action(place: Place, is_typing: bool, event: KeyEvent) -> Option<Action> {
    let key = Key::of(event);
    let has_alt = event.modifiers.contains(KeyModifiers::ALT);
    let find =
        |place: Place| BINDINGS.iter().find(|binding| binding.place == place && binding.key == key);
    let commands = || find(place).or_else(|| find(Place::Body));
    let found = if is_typing && !has_alt { None } else { commands() };
    found.or_else(|| find(Place::Any)).map(|binding| binding.action)
}

/// Returns the keys for the footer of a screen, with their words; `back` is that of Esc. The last one is the most important.
pub(super) fn hints(
    place: Place,
    is_typing: bool,
    has_session: bool,
    back: Option<&'static str>,
) -> Vec<(String, &'static str)> {
    let of = |wanted: Place| {
        BINDINGS.iter().filter(move |binding| binding.place == wanted && !binding.hint.is_empty())
    };
    let plain = |binding: &Binding| (binding.key.name(), binding.hint);
    let open = || of(Place::Any).filter(|b| b.action == Action::Open).map(plain);
    let back = back.map(|word| (Key::Code(KeyCode::Esc).name(), word));
    let open = || open().chain(back.clone());
    let help = || of(Place::Any).filter(|b| b.action == Action::Help).map(plain);
    let works = |b: &&Binding| has_session || !matches!(b.action, Action::Resume | Action::Export);
    if is_typing {
        let held = |binding: &Binding| (format!("Alt-{}", binding.key.name()), binding.hint);
        let resume = of(Place::Body).filter(|b| b.action == Action::Resume).filter(works).map(held);
        let commands = [("Tab".to_owned(), "commands")];
        return open().chain(commands).chain(resume).chain(help()).collect();
    }
    let has_field = !matches!(place, Place::Usage | Place::Attention);
    let body = of(Place::Body).filter(|b| b.action != Action::Field || has_field).filter(works);
    open().chain(of(place).map(plain)).chain(body.map(plain)).chain(help()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_on_a_screen() {
        for (n, one) in BINDINGS.iter().enumerate() {
            for other in &BINDINGS[n + 1..] {
                assert!(
                    (one.place, one.key) != (other.place, other.key),
                    "{:?} twice in {:?}",
                    one.key,
                    one.place
                );
            }
        }
    }

    #[test]
    fn letters_are_text_while_typing() {
        let key = |c, modifiers| KeyEvent::new(KeyCode::Char(c), modifiers);
        let plain = key('r', KeyModifiers::NONE);
        assert_eq!(action(Place::Sessions, true, plain), None);
        assert_eq!(action(Place::Sessions, false, plain), Some(Action::Resume));
        let held = key('r', KeyModifiers::ALT);
        assert_eq!(action(Place::Sessions, true, held), Some(Action::Resume));
        let leave = key('c', KeyModifiers::CONTROL);
        assert_eq!(action(Place::Reading, true, leave), Some(Action::Quit));
    }
}
