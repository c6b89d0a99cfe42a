//! Writes rows as a Parquet file.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;

use crate::error::{Error, Result};
use crate::tables::{Column, Table};
use crate::value::{Kind, Value};

/// Returns a file with the rows, sorted by time and key. Parquet's default statistics then lead
/// engines to the rows of a period.
pub(super) fn file(table: &Table, rows: &[Vec<Value>]) -> Result<Vec<u8>> {
    let order = order(table);
    let mut sorted: Vec<&Vec<Value>> = rows.iter().collect();
    sorted.sort_by_cached_key(|row| {
        order.iter().filter_map(|at| row.get(*at)).map(sort_key).collect::<Vec<_>>()
    });
    let mut arrays = Vec::new();
    for (at, column) in table.columns().enumerate() {
        arrays
            .push(array(column.kind, sorted.iter().map(|row| row.get(at).unwrap_or(&Value::Null))));
    }
    let schema = Arc::new(schema(table));
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(Error::target)?;
    let sorting = order.iter().map(|at| SortingColumn {
        column_idx: i32::try_from(*at).unwrap_or(i32::MAX),
        descending: false,
        nulls_first: true,
    });
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_sorting_columns(Some(sorting.collect()))
        .set_created_by(concat!("backstory-lake ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), schema, Some(properties)).map_err(Error::target)?;
    writer.write(&batch).map_err(Error::target)?;
    writer.into_inner().map_err(Error::target)
}

/// Returns the places of the columns that rows are sorted by: the time, then the key.
fn order(table: &Table) -> Vec<usize> {
    let time = table.time.and_then(|time| table.place(time));
    let key = table.key().filter_map(|column| table.place(column.name));
    time.into_iter().chain(key).collect()
}

/// A value in the order of engines: nothing first, then by the value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    Null,
    Number(i64),
    Text(Arc<str>),
}

fn sort_key(value: &Value) -> SortKey {
    match value {
        Value::Null => SortKey::Null,
        Value::Text(text) => SortKey::Text(text.clone()),
        Value::Int(number) => SortKey::Number(*number),
        Value::Bool(is) => SortKey::Number((*is).into()),
        Value::Time(at) => SortKey::Number(at.as_microsecond()),
    }
}

/// Returns the schema of a table. Times are in UTC but have no zone, so that no engine converts them to its own.
fn schema(table: &Table) -> Schema {
    let field = |column: &Column| {
        let kind = match column.kind {
            Kind::Text => DataType::Utf8,
            Kind::Int => DataType::Int64,
            Kind::Bool => DataType::Boolean,
            Kind::Time => DataType::Timestamp(TimeUnit::Microsecond, None),
        };
        Field::new(column.name, kind, column.is_nullable)
    };
    Schema::new(table.columns().map(field).collect::<Vec<_>>())
}

fn array<'v>(kind: Kind, values: impl Iterator<Item = &'v Value>) -> ArrayRef {
    macro_rules! build {
        ($builder:ty, $pattern:pat => $value:expr) => {{
            let mut builder = <$builder>::new();
            for value in values {
                match value {
                    $pattern => builder.append_value($value),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }};
    }
    match kind {
        Kind::Text => build!(StringBuilder, Value::Text(text) => text),
        Kind::Int => build!(Int64Builder, Value::Int(number) => *number),
        Kind::Bool => build!(BooleanBuilder, Value::Bool(is) => *is),
        Kind::Time => build!(TimestampMicrosecondBuilder, Value::Time(at) => at.as_microsecond()),
    }
}
