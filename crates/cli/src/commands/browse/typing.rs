//! Keys and pasted text: they are typed into the field of the screen, or are commands.

use crossterm::event::{KeyEvent, KeyEventKind};

use super::ask::Ask;
use super::field::Field;
use super::keys::{self, Action};
use super::overlay::Overlay;
use super::reading::Match;
use super::state::{App, Hits, Tab};

impl App {
    /// Handles a key.
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.status = None;
        if self.overlay.is_some() {
            return self.overlay_key(key);
        }
        let is_typing = self.is_typing;
        let place = self.place();
        let is_empty = self.readings.is_empty() && self.field().is_some_and(|f| f.is_empty());
        // The keys that lead into a filter and widen it are nothing to begin it with.
        let before = |action: &Action| is_empty && matches!(action, Action::Field | Action::Widen);
        let action = keys::action(place, is_typing, key)
            .or_else(|| keys::action(place, false, key).filter(before));
        if is_typing
            && action.is_none()
            && let Some(has_changed) = self.field().and_then(|field| field.key(key))
        {
            if has_changed {
                self.typed();
            }
            return;
        }
        if let Some(action) = action {
            self.act(action);
        }
    }

    /// Inserts pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        let field = match &mut self.overlay {
            Some(
                Overlay::Name { field, .. }
                | Overlay::Tags { field, .. }
                | Overlay::Export { field, .. },
            ) => Some(field),
            None if self.is_typing => self.field(),
            _ => None,
        };
        if let Some(field) = field {
            field.insert(text);
            if self.overlay.is_none() {
                self.typed();
            }
        }
    }

    /// Returns the field of the screen.
    pub(super) fn field(&mut self) -> Option<&mut Field> {
        if let Some(reading) = self.readings.last_mut() {
            return Some(&mut reading.find);
        }
        match self.tab {
            Tab::Sessions => Some(&mut self.list.field),
            Tab::Search => Some(&mut self.hits.field),
            Tab::Usage | Tab::Attention => None,
        }
    }

    /// Reacts to a change of the screen's field.
    pub(super) fn typed(&mut self) {
        if let Some(reading) = self.readings.last_mut() {
            reading.find(Match::FromHere);
            return;
        }
        match self.tab {
            Tab::Sessions => {
                self.list.in_text = None;
                let words = self.list.field.text().trim().to_owned();
                if words.chars().count() > 1 {
                    self.asks.push(Ask::InText(words));
                }
                self.refilter_from_top();
            }
            Tab::Search => self.search(),
            Tab::Usage | Tab::Attention => {}
        }
    }

    /// Searches for the words in the field.
    pub(super) fn search(&mut self) {
        // A correction belongs to the words before.
        self.hits.meant = None;
        match self.hits.field.text().trim() {
            "" => self.hits = Hits::default(),
            words => self.asks.push(Ask::Hits(words.to_owned())),
        }
    }

    /// Replaces words that were not found by similar ones that occur.
    pub(super) fn correct(&mut self) {
        let meant = match self.tab {
            Tab::Sessions => self.list.in_text.take().and_then(|found| found.meant),
            _ => self.hits.meant.take(),
        };
        if let Some((meant, field)) = meant.zip(self.field()) {
            *field = Field::new(meant);
            self.typed();
        }
    }
}
