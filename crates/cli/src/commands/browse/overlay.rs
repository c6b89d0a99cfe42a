//! Questions to the user, on top of a screen.

use backstory_core::model::SessionId;
use crossterm::event::KeyEvent;

use super::ask::Ask;
use super::field::Field;
use super::keys::{self, Action, Place};
use super::rows::Row;
use super::state::{App, Mode, Outcome};
use crate::commands::export;

/// A question to the user, on top of a screen.
#[derive(Debug)]
pub(super) enum Overlay {
    Help { scroll: usize },
    Name { id: SessionId, field: Field },
    Tags { id: SessionId, field: Field },
    Export { id: SessionId, field: Field },
    Resume { id: SessionId },
    Web { id: SessionId },
}

impl App {
    /// Asks the user before something happens to the session.
    pub(super) fn begin(&mut self, action: Action) {
        let Some(id) = self.session().filter(|_| self.mode == Mode::Browse) else { return };
        let Some(row) = self.row(&id) else { return };
        let overlay = match action {
            Action::Name => {
                let field = Field::new(row.name.clone().unwrap_or_default());
                Overlay::Name { id, field }
            }
            Action::Tags => Overlay::Tags { field: Field::new(row.tags.join(" ")), id },
            Action::Export => {
                let field = Field::new(format!("{}.md", row.short.replace('/', "-")));
                Overlay::Export { id, field }
            }
            Action::Web => Overlay::Web { id },
            _ => Overlay::Resume { id },
        };
        self.overlay = Some(overlay);
    }

    pub(super) fn overlay_key(&mut self, key: KeyEvent) {
        let action = keys::action(Place::Any, true, key);
        let Some(overlay) = &mut self.overlay else { return };
        match (overlay, action) {
            (_, Some(Action::Quit)) => self.outcome = Some(Outcome::Quit),
            (Overlay::Help { scroll }, Some(Action::Down)) => *scroll += 1,
            (Overlay::Help { scroll }, Some(Action::Up)) => *scroll = scroll.saturating_sub(1),
            (Overlay::Help { scroll }, Some(Action::PageDown)) => *scroll += 10,
            (Overlay::Help { scroll }, Some(Action::PageUp)) => *scroll = scroll.saturating_sub(10),
            (Overlay::Help { .. }, _) | (_, Some(Action::Back)) => self.overlay = None,
            (_, Some(Action::Open)) => self.confirm(),
            // A word that was meant for the filter must not end in an answer.
            (Overlay::Resume { .. } | Overlay::Web { .. }, _) => self.overlay = None,
            (
                Overlay::Name { field, .. }
                | Overlay::Tags { field, .. }
                | Overlay::Export { field, .. },
                _,
            ) => _ = field.key(key),
        }
    }

    fn confirm(&mut self) {
        match self.overlay.take() {
            Some(Overlay::Resume { id }) => self.outcome = Some(Outcome::Resume(id)),
            Some(Overlay::Web { id }) => {
                self.status = Some("opening the web app".to_owned());
                self.asks.push(Ask::Web(id));
            }
            Some(Overlay::Name { id, field }) => {
                let name = Some(field.text().trim().to_owned()).filter(|name| !name.is_empty());
                self.change(Ask::Name { id, name });
            }
            Some(Overlay::Tags { id, field }) => {
                let tags = field.text().split([' ', ',']).filter(|tag| !tag.is_empty());
                let tags = tags.map(str::to_owned).collect();
                self.change(Ask::Tags { id, tags });
            }
            Some(Overlay::Export { id, field }) => {
                let path = field.text().trim().to_owned();
                match export::document_format(path.as_ref()) {
                    Ok(_) => self.asks.push(Ask::Export { id, path }),
                    Err(failure) => {
                        self.status = Some(failure.line());
                        self.overlay = Some(Overlay::Export { id, field });
                    }
                }
            }
            Some(Overlay::Help { .. }) | None => {}
        }
    }

    /// Changes the name or the tags of a session; `u` takes it back.
    fn change(&mut self, ask: Ask) {
        let before = self.apply(ask);
        self.undo.extend(before);
    }

    /// Takes back the last change of a name or of tags that is left.
    pub(super) fn undo(&mut self) {
        if self.session().is_none() {
            self.status = Some("`u` works where a session is selected".to_owned());
        } else if let Some(before) = self.undo.pop() {
            self.apply(before);
        } else {
            self.status = Some("no change of a name or of tags is left to take back".to_owned());
        }
    }

    /// Sets the name or the tags of a session, and returns what they were.
    fn apply(&mut self, ask: Ask) -> Option<Ask> {
        let before = match &ask {
            Ask::Name { id, name } => self.row_mut(id).map(|row| {
                let name = std::mem::replace(&mut row.name, name.clone());
                Ask::Name { id: id.clone(), name }
            }),
            Ask::Tags { id, tags } => self.row_mut(id).map(|row| {
                let tags = std::mem::replace(&mut row.tags, tags.clone());
                Ask::Tags { id: id.clone(), tags }
            }),
            _ => None,
        };
        self.asks.push(ask);
        before
    }

    fn row_mut(&mut self, id: &SessionId) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.id == *id)
    }
}
