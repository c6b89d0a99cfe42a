//! Describes the conditions under which a call was served, as far as they change its price.

use serde::{Deserialize, Serialize};

/// The conditions under which a call was served. The default is what most calls have: the standard
/// service of the model's own vendor, anywhere, without searches.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(default)]
pub struct Service {
    /// The class of service.
    pub class: ServiceClass,
    /// Whether the request had to be served in the United States.
    pub us_only: bool,
    /// Whether a provider other than the model's vendor served it, whose prices are unknown.
    pub is_elsewhere: bool,
    /// The number of web searches that the vendor made and bills separately.
    pub searches: u32,
}

/// A class of service with prices of its own.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ServiceClass {
    /// The default.
    #[default]
    Standard,
    /// Slower and cheaper.
    Flex,
    /// Collected and served within a day.
    Batch,
    /// The same model with faster output.
    Fast,
    /// Served before other requests.
    Priority,
    /// Faster than `Fast` or `Priority`, on hardware of its own.
    Ultrafast,
    /// Any other class.
    Other,
}

impl ServiceClass {
    /// All classes in order.
    pub const ALL: [Self; 7] = [
        Self::Standard,
        Self::Flex,
        Self::Batch,
        Self::Fast,
        Self::Priority,
        Self::Ultrafast,
        Self::Other,
    ];

    /// Returns its name in documents, prices and the archive.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Flex => "flex",
            Self::Batch => "batch",
            Self::Fast => "fast",
            Self::Priority => "priority",
            Self::Ultrafast => "ultrafast",
            Self::Other => "other",
        }
    }

    /// Returns the class that a vendor calls by this name.
    pub fn named(name: &str) -> Self {
        match name {
            "" | "default" | "auto" => Self::Standard,
            _ => Self::ALL.into_iter().find(|class| class.name() == name).unwrap_or(Self::Other),
        }
    }
}

impl Service {
    /// Merges another record of the same call: the more unusual value of each field, because
    /// records that lack a field have its default.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            class: self.class.max(other.class),
            us_only: self.us_only || other.us_only,
            is_elsewhere: self.is_elsewhere || other.is_elsewhere,
            searches: self.searches.max(other.searches),
        }
    }

    /// Returns whether there is nothing unusual about it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_found_by_name() {
        for class in ServiceClass::ALL {
            assert_eq!(ServiceClass::named(class.name()), class);
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
        for (name, class) in [
            ("", ServiceClass::Standard),
            ("default", ServiceClass::Standard),
            ("auto", ServiceClass::Standard),
            ("scale", ServiceClass::Other),
        ] {
            assert_eq!(ServiceClass::named(name), class, "{name}");
        }
    }
}
