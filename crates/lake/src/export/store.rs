//! Folders and object stores. Credentials come from the environment that their vendors define.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path as FilePath, PathBuf};

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tokio::runtime::Runtime;

use crate::error::{Error, Result};

/// A place for objects.
pub(super) enum Store {
    Folder(PathBuf),
    /// Requests that fail for a moment are repeated.
    Cloud {
        objects: Box<dyn ObjectStore>,
        prefix: Path,
        runtime: Runtime,
    },
}

impl Store {
    /// Opens a folder, or a store that a URL names.
    pub(super) fn open(url: &str, insecure: bool) -> Result<Self> {
        let (scheme, rest) = match url.split_once("://") {
            None | Some(("file", _)) => {
                let path = url.strip_prefix("file://").unwrap_or(url);
                return Ok(Self::Folder(path.into()));
            }
            Some(parts) => parts,
        };
        if rest.contains(['@', '?', '#']) {
            let why = "credentials and options come from the environment, not from the URL";
            return Err(Error::target(why));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::target)?;
        let prefix = Path::from(rest.split_once('/').map_or("", |(_, path)| path));
        Ok(Self::Cloud { objects: cloud(scheme, url, insecure)?, prefix, runtime })
    }

    /// Returns the content of an object, or `None` if there is none.
    pub(super) fn get(&self, place: &str) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(place);
                existing(fs::read(&path)).map_err(|error| Error::file(path, error))
            }
            Self::Cloud { objects, prefix, runtime } => {
                let place = below(prefix, place);
                let read = async { objects.get(&place).await?.bytes().await };
                match runtime.block_on(read) {
                    Ok(bytes) => Ok(Some(bytes.to_vec())),
                    Err(object_store::Error::NotFound { .. }) => Ok(None),
                    Err(error) => Err(failure(&error)),
                }
            }
        }
    }

    /// Writes an object, whole or not at all.
    pub(super) fn put(&self, place: &str, content: Vec<u8>) -> Result<()> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(place);
                write(&path, &content).map_err(|error| Error::file(path, error))
            }
            Self::Cloud { objects, prefix, runtime } => {
                let place = below(prefix, place);
                let written = runtime.block_on(objects.put(&place, content.into()));
                written.map(|_| ()).map_err(|error| failure(&error))
            }
        }
    }

    /// Deletes an object, if it exists.
    pub(super) fn delete(&self, place: &str) -> Result<()> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(place);
                existing(fs::remove_file(&path)).map_err(|error| Error::file(path, error))?;
                Ok(())
            }
            Self::Cloud { objects, prefix, runtime } => {
                match runtime.block_on(objects.delete(&below(prefix, place))) {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                    Err(error) => Err(failure(&error)),
                }
            }
        }
    }
}

fn below(prefix: &Path, place: &str) -> Path {
    prefix.parts().chain(Path::from(place).parts()).collect()
}

/// Returns the result of an operation on a file, or `None` if it does not exist.
fn existing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Writes a file under a name that engines pass over, and renames it. A killed writer may have left the name behind.
/// Whoever can write to the folder may have put a link there, which must not be followed.
fn write(path: &FilePath, content: &[u8]) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".{}.new", name.to_string_lossy()));
    existing(fs::remove_file(&draft))?;
    let mut file = fs::File::create_new(&draft)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(draft, path)
}

fn cloud(scheme: &str, url: &str, insecure: bool) -> Result<Box<dyn ObjectStore>> {
    // It fails if there is a provider already, which is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let insecure_certificates = insecure.to_string();
    let certificates = ClientConfigKey::AllowInvalidCertificates;
    let built = match scheme {
        "s3" | "s3a" => {
            let builder = AmazonS3Builder::from_env().with_url(url);
            let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
            let allows_http = allows_http(endpoint.as_deref(), insecure)?;
            let store = builder
                .with_config(AmazonS3ConfigKey::Client(certificates), insecure_certificates)
                .with_allow_http(allows_http)
                .build();
            store.map(|store| Box::new(store) as Box<dyn ObjectStore>)
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url);
            let http = GoogleConfigKey::Client(ClientConfigKey::AllowHttp);
            let store = builder
                .with_config(GoogleConfigKey::Client(certificates), insecure_certificates)
                .with_config(http, insecure.to_string())
                .build();
            store.map(|store| Box::new(store) as Box<dyn ObjectStore>)
        }
        "az" | "azure" | "abfs" | "abfss" => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url);
            let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
            let allows_http = allows_http(endpoint.as_deref(), insecure)?;
            let store = builder
                .with_config(AzureConfigKey::Client(certificates), insecure_certificates)
                .with_allow_http(allows_http)
                .build();
            store.map(|store| Box::new(store) as Box<dyn ObjectStore>)
        }
        _ => {
            let why =
                format!("`{scheme}://` is not supported: give a folder, s3://, gs:// or az://");
            return Err(Error::target(why));
        }
    };
    built.map_err(|error| failure(&error))
}

/// Returns whether requests may be sent without TLS: to this machine, or if that was requested.
fn allows_http(endpoint: Option<&str>, insecure: bool) -> Result<bool> {
    let Some((scheme, rest)) = endpoint.and_then(|endpoint| endpoint.split_once("://")) else {
        return Ok(insecure);
    };
    let host = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    // `http://localhost:80@db.acme` is not this machine.
    if host.contains('@') {
        return Err(Error::target("an endpoint has no credentials"));
    }
    if !scheme.eq_ignore_ascii_case("http") {
        return Ok(insecure);
    }
    if insecure || is_loopback(host) {
        return Ok(true);
    }
    let why = format!("`{host}` would be reached without TLS; `--insecure` allows it");
    Err(Error::target(why))
}

/// Returns whether a host, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name == "localhost"
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns an error without the parameters of URLs, which may be signatures.
fn failure(error: &object_store::Error) -> Error {
    let mut text = String::new();
    let mut is_hidden = false;
    for c in error.to_string().chars() {
        is_hidden = (is_hidden || c == '?') && !c.is_whitespace() && !matches!(c, ')' | '"' | '`');
        if !is_hidden {
            text.push(c);
        }
    }
    Error::target(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_without_tls() {
        for host in ["http://localhost:9000", "http://127.0.0.1", "http://[::1]:9000/x"] {
            assert!(allows_http(Some(host), false).unwrap(), "{host}");
        }
        for host in ["http://10.0.0.1:9000", "http://localhost.evil.example", "http://s3.acme"] {
            assert!(allows_http(Some(host), false).is_err(), "{host}");
            assert!(allows_http(Some(host), true).unwrap(), "{host}");
        }
        for host in ["http://localhost:9000@s3.acme/x", "https://key:secret@s3.acme"] {
            let error = allows_http(Some(host), true).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(!allows_http(Some("https://s3.acme"), false).unwrap());
        assert!(!allows_http(None, false).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_somebody_planted_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (own, lake) = (folder.path().join("own"), folder.path().join("lake"));
        fs::create_dir(&lake).unwrap();
        fs::write(&own, "mine").unwrap();
        std::os::unix::fs::symlink(&own, lake.join(".machine=m.parquet.new")).unwrap();
        std::os::unix::fs::symlink(&own, lake.join("machine=m.parquet")).unwrap();
        write(&lake.join("machine=m.parquet"), b"rows").unwrap();
        assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
        assert_eq!(fs::read_to_string(lake.join("machine=m.parquet")).unwrap(), "rows");
        assert_eq!(fs::read_dir(&lake).unwrap().count(), 1);
    }

    #[test]
    fn urls_contain_no_credentials() {
        for url in ["s3://key:secret@bucket/x", "az://c/x?sig=secret", "ftp://x/y"] {
            let error = Store::open(url, false).err().unwrap().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
