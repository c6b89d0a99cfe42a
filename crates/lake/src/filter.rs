//! The last step before rows leave: secrets are removed from texts, and columns that the policy drops are emptied.

use std::cell::RefCell;
use std::collections::HashMap;

use backstory_core::redact::{Redactor, Rules};

use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::tables::{Role, Row};
use crate::value::{Field, Text, Value};

/// Turns rows into values that may leave.
#[derive(Debug)]
pub(crate) struct Filter<'a> {
    policy: &'a Policy,
    pub(crate) rules: Rules,
    /// The values of the columns that every table begins with.
    origin: Vec<Value>,
    /// Texts of columns without their secrets. Most rows repeat the same few.
    cleaned: RefCell<HashMap<Text, Text>>,
}

impl<'a> Filter<'a> {
    pub(crate) fn new(policy: &'a Policy, machine: &Text) -> Result<Self> {
        let rules = Rules::embedded().map_err(|error| Error::Policy(error.to_string()))?;
        let Policy { org, person, team, cost_center, .. } = policy;
        let origin = vec![
            org.clone().value(),
            person.clone().value(),
            machine.clone().value(),
            team.clone().value(),
            cost_center.clone().value(),
        ];
        Ok(Self { policy, rules, origin, cleaned: RefCell::default() })
    }

    /// Returns the values of all columns of a row.
    pub(crate) fn row<R: Row>(&self, row: R) -> Vec<Value> {
        let values = self.origin.iter().cloned().chain(row.values());
        let filter = |(column, value): (&crate::tables::Column, Value)| match value {
            _ if self.policy.drops(R::TABLE.name, column.name) => Value::Null,
            Value::Text(text) if column.role == Role::Free => Value::Text(self.clean(&text)),
            value => value,
        };
        R::TABLE.columns().zip(values).map(filter).collect()
    }

    /// Returns a text without secrets, and without NUL, which no database can store.
    pub(crate) fn clean(&self, text: &str) -> Text {
        if let Some(known) = self.cleaned.borrow().get(text) {
            return known.clone();
        }
        // Markers are numbered, so each text has a redactor of its own: equal texts must stay equal.
        let mut redactor = Redactor::new(&self.rules);
        redactor.text(text);
        redactor.learn();
        let clean: Text = redactor.text(text).replace('\0', "").into();
        self.cleaned.borrow_mut().insert(text.into(), clean.clone());
        clean
    }
}
