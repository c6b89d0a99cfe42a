//! Takes over the answers of the worker.

use super::ask::{Answer, Ask};
use super::keys::Action;
use super::rows::Chip;
use super::state::{App, Hits, Tab};
use crate::error::Failure;

impl App {
    /// Takes over an answer, unless the question has changed since.
    pub(super) fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Loaded(rows) => {
                self.rows = rows;
                self.refilter();
            }
            Answer::Rows(rows) => {
                self.is_syncing = false;
                self.rows = rows;
                self.refilter();
                // The session on screen may have grown.
                self.asked = None;
                if let Some(reading) = self.readings.last() {
                    let width = self.areas.page.max(20);
                    self.asks.push(Ask::Page { id: reading.id.clone(), width });
                }
            }
            Answer::Preview { id, page } => self.preview = Some((id, page)),
            Answer::Page { id, page } => {
                if let Some(reading) = self.readings.iter_mut().rev().find(|r| r.id == id) {
                    reading.show(page);
                }
            }
            Answer::Place { id, words, message } => {
                if let Some(reading) = self.readings.last_mut().filter(|r| r.id == id) {
                    reading.begin_at(message, words);
                }
            }
            Answer::InText { words, found } => {
                if words == self.list.field.text().trim() {
                    self.list.in_text = Some(found);
                    self.refilter();
                }
            }
            Answer::Hits { words, hits, total, took_ms, meant } => {
                if words == self.hits.field.text().trim() {
                    let field = std::mem::take(&mut self.hits.field);
                    self.hits = Hits {
                        field,
                        words,
                        rows: hits,
                        total,
                        took_ms,
                        meant,
                        selected: 0,
                        scroll: 0,
                    };
                }
            }
            Answer::Usage { period, bars, total } => {
                if period == self.chart.period {
                    self.chart.selected = self.chart.selected.min(bars.len().max(1) - 1);
                    self.chart.bars = bars;
                    self.chart.total = total;
                    // A chart that would open empty goes further back.
                    let is_empty = self.chart.bars.is_empty() && !self.rows.is_empty();
                    if is_empty && !self.chart.is_chosen && period.days.is_some() {
                        self.rechart(Action::Longer);
                    }
                }
            }
            Answer::Behind { label, costs, subagents } => {
                let from = self.tab;
                self.show(Tab::Sessions);
                self.list.show_only(Chip { label, costs, subagents, from });
                self.is_typing = false;
                self.refilter();
            }
            Answer::Attention(notices) => {
                self.notice = self.notice.min(notices.len().max(1) - 1);
                self.notices = notices;
            }
            Answer::Web { is_open: true, .. } => {
                self.status =
                    Some("opened in the browser; the web app runs until you leave".to_owned());
            }
            Answer::Web { address, is_open: false } => {
                self.status = Some("no browser was found; the address was copied".to_owned());
                self.copied = Some(address);
            }
            Answer::Done(text) => {
                self.status = Some(text);
                self.asks.push(Ask::Refresh);
            }
            Answer::Failed(text) => {
                self.is_syncing = false;
                self.status = Some(text);
            }
        }
    }

    /// Asks for the open session again if the width has changed.
    pub(super) fn resized(&mut self) {
        let width = self.areas.page;
        let Some(reading) = self.readings.last() else { return };
        if reading.page.as_ref().is_some_and(|page| page.width != width) {
            let ask = Ask::Page { id: reading.id.clone(), width };
            if !self.asks.contains(&ask) {
                self.asks.push(ask);
            }
        }
    }

    /// Goes on after the user has left an agent, or after it could not be started.
    pub(super) fn returned(&mut self, failure: Option<Failure>) {
        self.status = failure.map(|failure| {
            let hints = failure.hints.iter().map(String::as_str);
            let text = std::iter::once(failure.what.as_str()).chain(hints).collect::<Vec<_>>();
            self.follow_up.complete(&text.join("; "))
        });
        self.changed();
    }

    /// Asks for what has changed on disk.
    pub(super) fn changed(&mut self) {
        self.is_syncing = true;
        self.asks.push(Ask::Refresh);
    }
}
