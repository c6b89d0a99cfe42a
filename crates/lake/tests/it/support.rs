//! Helpers that several tests need.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use backstory_core::archive::{Archive, Machine, SyncOptions};
use backstory_core::{Agents, ProjectHints};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};
use tempfile::TempDir;

/// A machine with an archive and a policy.
pub(crate) struct Station {
    pub(crate) folder: TempDir,
}

impl Station {
    /// Creates a machine with the files of agents below a folder; `policy` is added to the policy.
    pub(crate) fn new(home: &Path, policy: &str) -> Self {
        let station = Self { folder: tempfile::tempdir().unwrap() };
        station.set_policy(policy);
        station.sync(home);
        station
    }

    pub(crate) fn set_policy(&self, policy: &str) {
        let head =
            "organisation = 'acme'\nperson = 'ada'\nteam = 'search'\nkey_env = 'LAKE_TEST_KEY'\n";
        fs::write(self.at("policy.toml"), format!("{head}{policy}")).unwrap();
    }

    pub(crate) fn archive(&self) -> Archive {
        Archive::open(&self.at("archive.db")).unwrap()
    }

    pub(crate) fn sync(&self, home: &Path) {
        let candidates = ProjectHints::default();
        let machine = Machine::This("test");
        let options = SyncOptions { machine, ..SyncOptions::plain(&candidates) };
        self.archive().sync(&Agents::default().discover_at(home), &options, &|_| {}).unwrap();
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_backstory-lake"))
            .args(args)
            .env("BACKSTORY_ARCHIVE", self.at("archive.db"))
            .env("BACKSTORY_POLICY", self.at("policy.toml"))
            .env("LAKE_TEST_KEY", "an organisation's key")
            .output()
            .unwrap()
    }

    /// Runs the program, which must succeed, and returns its output.
    pub(crate) fn output(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exports to the folder `lake`, and returns the receipt.
    pub(crate) fn export(&self) -> Value {
        let output = self.output(&["export", self.at("lake").to_str().unwrap()]);
        let receipt = output.lines().find_map(|line| line.strip_prefix("receipt: ")).unwrap();
        serde_json::from_str(&fs::read_to_string(receipt).unwrap()).unwrap()
    }

    /// Returns the rows of all tables in the folder `lake`, each with the name of its table.
    pub(crate) fn exported(&self) -> Vec<Value> {
        let mut out = Vec::new();
        for file in files_below(&self.at("lake/v1")) {
            if file.extension().is_some_and(|ending| ending == "parquet") {
                let table = file.ancestors().nth(2).unwrap().file_name().unwrap();
                out.extend(rows(&file, table.to_str().unwrap()));
            }
        }
        out
    }

    /// Returns what `export --dry-run` prints.
    pub(crate) fn dry_run(&self, lake: &str) -> Vec<Value> {
        let output = self.output(&["export", "--dry-run", self.at(lake).to_str().unwrap()]);
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path)
}

/// Returns every file below `folder`, sorted.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files_below(&path));
        } else {
            out.push(path);
        }
    }
    out.sort();
    out
}

/// Returns the rows of a Parquet file.
fn rows(file: &Path, table: &str) -> Vec<Value> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let batches = reader.build().unwrap().map(Result::unwrap);
    let of = |batch: RecordBatch| {
        let row = |at: usize| {
            let mut row = Map::new();
            row.insert("table".to_owned(), table.into());
            for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
                row.insert(field.name().clone(), value(array, at));
            }
            Value::Object(row)
        };
        (0..batch.num_rows()).map(row).collect::<Vec<_>>()
    };
    batches.flat_map(of).collect()
}

fn value(array: &dyn Array, at: usize) -> Value {
    if array.is_null(at) {
        return Value::Null;
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(at).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(at).into(),
        DataType::Boolean => array.as_boolean().value(at).into(),
        _ => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(at);
            let at = jiff::Timestamp::from_microsecond(micros).unwrap();
            format!("{at:.6}").into()
        }
    }
}
