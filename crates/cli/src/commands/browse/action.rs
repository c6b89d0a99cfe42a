//! Carries out the commands of the user.

use backstory_core::query::usage::Group;

use super::ask::Ask;
use super::keys::Action;
use super::overlay::Overlay;
use super::reading::{Found, Match};
use super::state::{App, Mode, Outcome, Tab};

/// The periods of a chart, in days.
const PERIODS: [Option<i64>; 5] = [Some(7), Some(30), Some(90), Some(365), None];

/// The groupings of a chart.
const GROUPS: [Group; 4] = [Group::Daily, Group::Model, Group::Project, Group::Agent];

impl App {
    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Quit => self.outcome = Some(Outcome::Quit),
            Action::Redraw => self.must_redraw = true,
            Action::Help => self.overlay = Some(Overlay::Help { scroll: 0 }),
            Action::Tab(n) if self.mode == Mode::Browse => self.show(Tab::ALL[n]),
            Action::Tab(_) => {}
            Action::NextFocus => self.is_typing = !self.is_typing && self.field().is_some(),
            Action::Field => self.is_typing = self.field().is_some(),
            Action::Back => self.back(),
            Action::Up => self.step(-1),
            Action::Down => self.step(1),
            Action::PageUp => self.step(-self.page()),
            Action::PageDown => self.step(self.page()),
            Action::Top => self.step(isize::MIN),
            Action::Bottom => match self.readings.last_mut() {
                Some(reading) => reading.end(),
                None => self.step(isize::MAX),
            },
            Action::Open => self.open(),
            Action::Resume | Action::Export | Action::Name | Action::Tags | Action::Web => {
                self.begin(action);
            }
            Action::CopyId | Action::CopyCommand => self.copy(action == Action::CopyCommand),
            Action::Scope => {
                self.list.is_here = !self.list.is_here && self.here.is_some();
                self.refilter();
            }
            Action::Agent => {
                self.list.next_agent(&self.rows);
                self.refilter();
            }
            Action::Sort => {
                self.list.next_sort();
                self.refilter_from_top();
            }
            Action::Gone => {
                self.list.only_gone = !self.list.only_gone;
                self.refilter();
            }
            Action::Preview => self.list.has_preview = !self.list.has_preview,
            Action::PreviewDown => self.list.preview_scroll += 1,
            Action::PreviewUp => {
                self.list.preview_scroll = self.list.preview_scroll.saturating_sub(1);
            }
            Action::Widen => {
                self.list.widen();
                self.refilter();
            }
            Action::Undo => self.undo(),
            Action::Group | Action::Longer | Action::Shorter => {
                self.chart.is_chosen |= action != Action::Group;
                self.rechart(action);
            }
            Action::Measure => self.chart.by_tokens = !self.chart.by_tokens,
            Action::Older => self.neighbour(1),
            Action::Newer => self.neighbour(-1),
            _ => self.read(action),
        }
    }

    /// Handles an action on the session being read.
    fn read(&mut self, action: Action) {
        let Some(reading) = self.readings.last_mut() else { return };
        match action {
            Action::NextPrompt => reading.prompt(true),
            Action::PreviousPrompt => reading.prompt(false),
            Action::Unfold => {
                if let Some(agent) = reading.unfold(Some(true)) {
                    self.open_session(agent, None);
                }
            }
            Action::Fold => _ = reading.unfold(Some(false)),
            Action::Tools => reading.toggle_tools(),
            Action::Thoughts => reading.toggle_thoughts(),
            Action::Only => reading.next_only(),
            Action::NextMatch => self.find(Match::Next),
            Action::PreviousMatch => self.find(Match::Previous),
            _ => {}
        }
    }

    /// Moves to a match in the session being read.
    fn find(&mut self, wanted: Match) {
        let Some(reading) = self.readings.last_mut() else { return };
        let text = match reading.find(wanted) {
            Found::Match => return,
            Found::Nothing => "nothing found; `/` searches this session",
            Found::AtOtherEnd if wanted == Match::Next => "the search went on from the beginning",
            Found::AtOtherEnd => "the search went on from the end",
        };
        self.status = Some(text.to_owned());
    }

    fn copy(&mut self, command: bool) {
        let notice = self.notices.get(self.notice).filter(|_| self.tab == Tab::Attention);
        let given = notice.and_then(|notice| notice.command.clone());
        let text = match (given, self.session()) {
            (Some(command), _) if self.readings.is_empty() => command,
            (_, Some(id)) if command => self.follow_up.command(&format!("show {id}")),
            (_, Some(id)) => id.into(),
            (_, None) => return,
        };
        self.status = Some(format!("copied `{text}`"));
        self.copied = Some(text);
    }

    /// Changes the grouping or the period of the chart.
    pub(super) fn rechart(&mut self, action: Action) {
        let period = &mut self.chart.period;
        let group = GROUPS.iter().position(|group| *group == period.group).unwrap_or(0);
        let days = PERIODS.iter().position(|days| *days == period.days).unwrap_or(0);
        match action {
            Action::Group => period.group = GROUPS[(group + 1) % GROUPS.len()],
            Action::Longer => period.days = PERIODS[(days + 1).min(PERIODS.len() - 1)],
            _ => period.days = PERIODS[days.saturating_sub(1)],
        }
        self.chart.selected = 0;
        self.asks.push(Ask::Usage(self.chart.period));
    }
}
