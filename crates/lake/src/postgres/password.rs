//! Finds the password of a database where PostgreSQL's own programs find it.

use std::fs;
use std::path::PathBuf;

use postgres::Config;
use postgres::config::Host;

use super::connect::Env;

/// Returns the password for a connection: that in `PGPASSWORD`, or the first that matches in the password file.
pub(super) fn find(config: &Config, env: Env<'_>) -> Option<String> {
    env("PGPASSWORD").filter(|password| !password.is_empty()).or_else(|| {
        let path = match env("PGPASSFILE") {
            Some(path) => PathBuf::from(path),
            None => PathBuf::from(env("HOME")?).join(".pgpass"),
        };
        is_private(&path).then(|| fs::read_to_string(path).ok()).flatten().and_then(|text| {
            let wanted = wanted(config);
            text.lines().find_map(|line| matching(line, &wanted))
        })
    })
}

/// Returns whether nobody else can read the file. PostgreSQL's programs ignore others too.
#[cfg(unix)]
fn is_private(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path)
        .is_ok_and(|file| file.is_file() && file.permissions().mode().trailing_zeros() >= 6)
}

#[cfg(not(unix))]
fn is_private(path: &std::path::Path) -> bool {
    path.is_file()
}

/// Returns the host, the port, the database and the user of a connection.
fn wanted(config: &Config) -> [String; 4] {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().map_or_else(|| user.clone(), ToOwned::to_owned);
    [host, port, database, user]
}

/// Returns the password of a line `host:port:database:user:password`, if the line matches.
fn matching(line: &str, wanted: &[String; 4]) -> Option<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => fields.last_mut()?.extend(chars.next()),
            ':' if fields.len() < 5 => fields.push(String::new()),
            c => fields.last_mut()?.push(c),
        }
    }
    let password = fields.pop()?;
    let is_match = fields.len() == 4
        && !line.starts_with('#')
        && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
    is_match.then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_connection_has_its_password() {
        let wanted = ["db", "5432", "lake", "ada"].map(str::to_owned);
        let found = |line: &str| matching(line, &wanted);
        assert_eq!(found("db:5432:lake:ada:secret").as_deref(), Some("secret"));
        assert_eq!(found(r"*:*:*:ada:a\:b\\c:d").as_deref(), Some(r"a:b\c:d"));
        for line in ["", "#db:5432:lake:ada:secret", "db:5432:lake:bob:secret", "db:5432:lake:ada"]
        {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
