//! Questions and their answers as plain data, one question a file.

pub mod filter;
pub mod overview;
pub mod projects;

pub use filter::Filter;
