//! Connects to PostgreSQL: with TLS beyond this machine, and with a password that is never part of the URL.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::password;
use crate::error::{Error, Result};

/// The folder of the server's socket, if the URL names no host.
const SOCKETS: &str = "/var/run/postgresql";

/// Returns environment variables.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Connects to a database. `is_insecure` allows connections without TLS to other machines.
pub(crate) fn connect(url: &str, is_insecure: bool, env: Env<'_>) -> Result<Client> {
    let mut config = parse(url)?;
    let is_local = is_local(&config);
    match config.get_ssl_mode() {
        SslMode::Require => {}
        _ if is_local || is_insecure => {
            config.ssl_mode(SslMode::Disable);
        }
        SslMode::Disable => {
            return Err(Error::target(
                "connections to other machines need TLS; `--insecure` allows them without it",
            ));
        }
        _ => {
            config.ssl_mode(SslMode::Require);
        }
    }
    if let Some(password) = password::find(&config, env) {
        config.password(password);
    }
    let client = if config.get_ssl_mode() == SslMode::Disable {
        config.connect(NoTls)
    } else {
        config.connect(MakeRustlsConnect::new(tls(env)?))
    };
    let mut client = client.map_err(|error| failure(&error))?;
    client.batch_execute("SET TIME ZONE 'UTC'").map_err(|error| failure(&error))?;
    Ok(client)
}

fn parse(url: &str) -> Result<Config> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(Error::target("expected the URL of a database: postgres://USER@HOST/DATABASE"));
    }
    // The certificate is verified in any case.
    let url = url.replace("sslmode=verify-full", "sslmode=require");
    let url = url.replace("sslmode=verify-ca", "sslmode=require");
    // The reason may repeat a part of the URL.
    let mut config: Config =
        url.parse().map_err(|_| Error::target("the URL of the database is not valid"))?;
    if config.get_password().is_some() {
        return Err(Error::target(
            "the URL contains a password, which other programs and logs can see; \
             set PGPASSWORD, or write it to ~/.pgpass",
        ));
    }
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host_path(SOCKETS);
    }
    config.application_name("backstory-lake").connect_timeout(Duration::from_secs(20));
    Ok(config)
}

/// Returns whether all servers that the connection may use are on this machine.
fn is_local(config: &Config) -> bool {
    let addresses = config.get_hostaddrs();
    if !addresses.is_empty() {
        return addresses.iter().all(IpAddr::is_loopback);
    }
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

/// Returns the settings of TLS: the certificate must be signed by an authority that this machine trusts, or by that
/// in `PGSSLROOTCERT`.
fn tls(env: Env<'_>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match env("PGSSLROOTCERT").filter(|path| path != "system") {
        Some(path) => {
            let unreadable =
                |error| Error::file(&path, format!("cannot read certificates: {error}"));
            for certificate in
                CertificateDer::pem_file_iter(Path::new(&path)).map_err(unreadable)?
            {
                let certificate = certificate.map_err(unreadable)?;
                roots.add(certificate).map_err(|error| Error::file(&path, error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Error::target)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Returns the failure of a statement or a connection, with the server's own words.
pub(crate) fn failure(error: &postgres::Error) -> Error {
    if let Some(error) = error.as_db_error() {
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        return Error::target(format!("PostgreSQL: {}{hint}", error.message()));
    }
    let mut text = format!("PostgreSQL: {error}");
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    Error::target(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str, is_insecure: bool) -> String {
        connect(url, is_insecure, &|_| None).err().expect("no server").to_string()
    }

    #[test]
    fn a_password_in_the_url_is_refused_and_not_repeated() {
        for url in [
            "postgres://ada:hunter2@localhost/lake",
            "postgres://ada@localhost/lake?password=hunter2",
            "postgres://ada:hunter2@local host/lake",
            "mysql://ada:hunter2@localhost/lake",
        ] {
            let why = refusal(url, true);
            assert!(!why.contains("hunter2"), "{why}");
        }
        assert!(refusal("postgres://ada:hunter2@localhost/lake", false).contains("PGPASSWORD"));
    }

    #[test]
    fn other_machines_need_tls() {
        let why = refusal("postgres://ada@192.0.2.1/lake?sslmode=disable", false);
        assert!(why.contains("need TLS"), "{why}");
        let why = refusal("postgres://a@localhost/b?hostaddr=192.0.2.1&sslmode=disable", false);
        assert!(why.contains("need TLS"), "{why}");
    }

    #[test]
    fn this_machine_is_recognised() {
        let local = |url: &str| is_local(&parse(url).expect("a URL"));
        assert!(local("postgres:///lake"));
        assert!(local("postgres://ada@localhost:5433/lake"));
        assert!(local("postgres://ada@127.0.0.1,[::1]/lake"));
        assert!(local("postgres://ada@%2Ftmp%2Fsocket/lake"));
        assert!(!local("postgres://ada@localhost.example.org/lake"));
        assert!(!local("postgres://ada@127.0.0.1,192.0.2.1/lake"));
        assert!(!local("postgres://ada@localhost/lake?hostaddr=192.0.2.1"));
    }
}
