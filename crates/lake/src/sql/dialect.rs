//! Where the engines differ.

/// The words of an engine for what the views need.
pub(super) struct Dialect {
    create: &'static str,
    /// The function that returns a value of the row with the smallest key, and its opposite.
    pub(super) min_by: &'static str,
    pub(super) max_by: &'static str,
    /// An exact number that products of tokens and prices fit in; `{}` is the value.
    pub(super) big: &'static str,
    /// The day of a time.
    pub(super) day: &'static str,
    /// A time, from a day.
    pub(super) time: &'static str,
    /// The end of a query whose outer joins must give nulls.
    pub(super) nulls: &'static str,
    /// The statement that lists the files of a table, for an engine that would list them again wherever it reads them.
    list: fn(&str, &str) -> String,
    /// What reads the files of a table below a folder.
    read: fn(&str, &str) -> String,
    /// The condition for the files of a month.
    month: &'static str,
    /// Several values as one.
    pub(super) pack: fn(&[(&str, &str)]) -> String,
    /// One of several values: their name, the name of the value, and its place.
    pub(super) field: fn(&str, &str, usize) -> String,
}

impl Dialect {
    /// Returns the beginning of the statement that creates a view.
    pub(super) fn create(&self, name: &str) -> String {
        format!("{} {name} AS", self.create)
    }

    /// Returns the statements that make the files of a table readable under its name, all or those of a month.
    pub(super) fn table(&self, name: &str, folder: &str, month: Option<&str>) -> String {
        let condition = month.map(|month| format!(" WHERE {}", self.month.replace("{}", month)));
        let condition = condition.unwrap_or_default();
        let (list, create) = ((self.list)(name, folder), self.create(name));
        format!("{list}{create} SELECT * FROM {}{condition};\n\n", (self.read)(name, folder))
    }
}

pub(super) const DUCKDB: Dialect = Dialect {
    create: "CREATE OR REPLACE VIEW",
    min_by: "arg_min",
    max_by: "arg_max",
    big: "CAST({} AS HUGEINT)",
    day: "CAST({} AS DATE)",
    time: "TIMESTAMP '{} 00:00:00'",
    nulls: "",
    list: |_, _| String::new(),
    read: |_, folder| {
        format!("read_parquet('{folder}/month=*/*.parquet', hive_partitioning = true)")
    },
    month: "month = '{}'",
    pack: |values| {
        let named: Vec<String> =
            values.iter().map(|(name, value)| format!("{name} := {value}")).collect();
        format!("struct_pack({})", named.join(", "))
    },
    field: |of, name, _| format!("{of}.{name}"),
};

pub(super) const CLICKHOUSE: Dialect = Dialect {
    create: "CREATE OR REPLACE VIEW",
    min_by: "argMin",
    max_by: "argMax",
    big: "toInt128({})",
    day: "toDate32({})",
    time: "toDateTime64('{} 00:00:00', 6, 'UTC')",
    nulls: "SETTINGS join_use_nulls = 1",
    list: |_, _| String::new(),
    read: |_, folder| {
        let files = format!("{folder}/month=*/*.parquet");
        match files.split_once("://") {
            Some(("s3" | "http" | "https", _)) => format!("s3('{files}', 'Parquet')"),
            Some(("gs", path)) => {
                format!("gcs('https://storage.googleapis.com/{path}', 'Parquet')")
            }
            _ => format!("file('{files}', 'Parquet')"),
        }
    },
    month: "_path LIKE '%/month={}/%'",
    pack: |values| {
        let values: Vec<&str> = values.iter().map(|(_, value)| *value).collect();
        format!("tuple({})", values.join(", "))
    },
    field: |of, _, place| format!("tupleElement({of}, {})", place + 1),
};

pub(super) const SPARK: Dialect = Dialect {
    create: "CREATE OR REPLACE TEMPORARY VIEW",
    min_by: "min_by",
    max_by: "max_by",
    big: "CAST({} AS DECIMAL(18, 0))",
    day: "CAST({} AS DATE)",
    time: "TIMESTAMP_NTZ '{} 00:00:00'",
    nulls: "",
    list: |name, folder| {
        let folder = folder.replacen("s3://", "s3a://", 1);
        format!(
            "CREATE OR REPLACE TEMPORARY VIEW {name}_files USING parquet OPTIONS (path '{folder}');\n\n"
        )
    },
    read: |name, _| format!("{name}_files"),
    month: "month = '{}'",
    pack: |values| {
        let named: Vec<String> =
            values.iter().map(|(name, value)| format!("'{name}', {value}")).collect();
        format!("named_struct({})", named.join(", "))
    },
    field: |of, name, _| format!("{of}.{name}"),
};
