//! Decides which requests are answered.
//!
//! Any web page may send requests to a server on this machine, and a name that an attacker controls may
//! resolve to it. So a request is answered only if its `Host` cannot be such a name, its `Origin` is this
//! server, and it has a secret that only this run knows: the token of the address that was printed, or the
//! cookie that the token was exchanged for. A change also needs the form token.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode};

use crate::query::hex;

/// The names of the headers in which browsers describe where a request comes from, and what it is for.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The secrets of a run, and the names that it answers to.
pub(crate) struct Guard {
    /// The token in the address.
    token: String,
    /// The value of the cookie.
    cookie: String,
    /// The value of the hidden field in forms.
    form: String,
    /// The name of the cookie, which differs by port because cookies do not.
    name: String,
    is_loopback: bool,
    /// Additional names that the user chose.
    hosts: Vec<String>,
}

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    /// The name of the host is not one of this server.
    Host,
    /// Another site sent the request.
    Origin,
    /// There is no token and no cookie, or a wrong one.
    Token,
    /// A change without the form token.
    Form,
}

impl Denial {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Origin | Self::Form => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Host => "This server does not answer to that name.",
            Self::Origin => "The request comes from another site.",
            Self::Token => {
                "Open the address that `backstory serve` printed; it contains the token of this run."
            }
            Self::Form => "The form is not from this run; load the page again.",
        }
    }
}

impl Guard {
    /// Creates the secrets of a run that listens at an address.
    pub(crate) fn new(ip: IpAddr, port: u16, hosts: Vec<String>) -> Result<Self, getrandom::Error> {
        Ok(Self {
            token: secret()?,
            cookie: secret()?,
            form: secret()?,
            name: format!("backstory-{port}"),
            is_loopback: ip.is_loopback(),
            hosts,
        })
    }

    /// Returns the token for the address.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the form token, which every form contains.
    pub(crate) fn form(&self) -> &str {
        &self.form
    }

    /// Returns whether a value is the token of the address.
    pub(crate) fn is_token(&self, given: &str) -> bool {
        is_same(given, &self.token)
    }

    /// Returns the header that gives a browser its cookie.
    pub(crate) fn set_cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.name, self.cookie)
    }

    /// Checks the name of the host and the origin of a request, whoever sent it.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let host = single(headers, &HOST).ok_or(Denial::Host)?;
        if !self.answers_to(host) {
            return Err(Denial::Host);
        }
        if headers.contains_key(&ORIGIN) {
            let origin = single(headers, &ORIGIN).ok_or(Denial::Origin)?;
            if origin != format!("http://{host}") {
                return Err(Denial::Origin);
            }
        }
        // Other sites may lead here. But one on another port of this host, whose requests have our cookie, could
        // learn from the time of an answer whether a search finds anything.
        let is_page = single(headers, &FETCH_DEST) == Some("document");
        if is_foreign(headers) && !is_page { Err(Denial::Origin) } else { Ok(()) }
    }

    /// Checks that a request has the cookie or the token.
    pub(crate) fn check_secret(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies =
            cookies.flat_map(|value| value.split(';')).filter_map(|one| one.trim().split_once('='));
        if cookies.any(|(name, value)| name == self.name && is_same(value, &self.cookie)) {
            return Ok(());
        }
        let bearer =
            single(headers, &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        if bearer.is_some_and(|given| self.is_token(given)) { Ok(()) } else { Err(Denial::Token) }
    }

    /// Checks that a change was asked for by a page of this run.
    pub(crate) fn check_change(
        &self,
        headers: &HeaderMap,
        form: Option<&str>,
    ) -> Result<(), Denial> {
        if is_foreign(headers) {
            return Err(Denial::Origin);
        }
        if form.is_some_and(|given| is_same(given, &self.form)) {
            Ok(())
        } else {
            Err(Denial::Form)
        }
    }

    /// Returns whether a `Host` is one of this server. An address cannot be rebound; of names, only those that
    /// belong to this machine are accepted.
    fn answers_to(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else { return false };
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            return !self.is_loopback || ip.is_loopback();
        }
        let is_it = |known: &String| known.eq_ignore_ascii_case(name);
        name.eq_ignore_ascii_case("localhost") || self.hosts.iter().any(is_it)
    }
}

/// Returns whether a browser says that another site sent a request.
fn is_foreign(headers: &HeaderMap) -> bool {
    headers.contains_key(&FETCH_SITE)
        && !matches!(single(headers, &FETCH_SITE), Some("same-origin" | "none"))
}

/// Returns a host without its port.
fn name_of(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') {
        host.find(']')? + 1
    } else {
        host.find(':').unwrap_or(host.len())
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| {
        !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit())
    };
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(name)
}

/// Returns the value of a header that occurs once and is text.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Compares secrets in a time that does not depend on where they differ.
fn is_same(given: &str, known: &str) -> bool {
    let differs = given.bytes().zip(known.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == known.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn guard(ip: &str) -> Guard {
        Guard::new(ip.parse().unwrap(), 7310, vec!["desk.lan".to_owned()]).unwrap()
    }

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let local = guard("127.0.0.1");
        for host in [
            "127.0.0.1:7310",
            "localhost:9000",
            "LOCALHOST",
            "[::1]:7310",
            "desk.lan:80",
            "127.9.9.9",
        ] {
            assert!(local.check_origin(&with(HOST, host)).is_ok(), "{host}");
        }
        for host in [
            "evil.example:7310",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.0.7:7310",
            "",
            "localhost:80:80",
            "localhost:",
            "localhost:x",
            "[::1",
            "[::1]x",
            "0x7f.1",
            "a@localhost",
            "localhost/",
        ] {
            assert_eq!(local.check_origin(&with(HOST, host)), Err(Denial::Host), "{host}");
        }
        let open = guard("0.0.0.0");
        assert!(open.check_origin(&with(HOST, "192.168.0.7:7310")).is_ok());
        assert_eq!(open.check_origin(&with(HOST, "evil.example")), Err(Denial::Host));
        assert_eq!(open.check_origin(&HeaderMap::new()), Err(Denial::Host));
    }

    #[test]
    fn another_origin_is_refused() {
        let guard = guard("127.0.0.1");
        let from = |origin: &str| {
            let mut headers = with(HOST, "127.0.0.1:7310");
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
            guard.check_origin(&headers)
        };
        assert!(from("http://127.0.0.1:7310").is_ok());
        for origin in
            ["http://evil.example", "null", "https://127.0.0.1:7310", "http://localhost:7310", ""]
        {
            assert_eq!(from(origin), Err(Denial::Origin), "{origin}");
        }
    }

    #[test]
    fn a_secret_is_needed() {
        let guard = guard("127.0.0.1");
        let cookie = guard.set_cookie();
        let cookie = cookie.split(';').next().unwrap();
        assert!(guard.check_secret(&with(COOKIE, cookie)).is_ok());
        assert!(guard.check_secret(&with(COOKIE, &format!("a=b; {cookie}"))).is_ok());
        assert!(
            guard.check_secret(&with(AUTHORIZATION, &format!("Bearer {}", guard.token()))).is_ok()
        );
        for wrong in ["backstory-7310=", "backstory-7310", "x=y", &cookie[..cookie.len() - 1]] {
            assert_eq!(guard.check_secret(&with(COOKIE, wrong)), Err(Denial::Token), "{wrong}");
        }
        assert_eq!(guard.check_secret(&with(AUTHORIZATION, "Bearer x")), Err(Denial::Token));
        assert_eq!(guard.check_secret(&HeaderMap::new()), Err(Denial::Token));
        assert_ne!(guard.token(), guard.form());
    }

    #[test]
    fn a_change_needs_the_form_token() {
        let guard = guard("127.0.0.1");
        let none = HeaderMap::new();
        assert!(guard.check_change(&none, Some(guard.form())).is_ok());
        assert_eq!(guard.check_change(&none, Some(guard.token())), Err(Denial::Form));
        assert_eq!(guard.check_change(&none, None), Err(Denial::Form));
        for site in ["cross-site", "same-site"] {
            let headers = with(FETCH_SITE, site);
            assert_eq!(
                guard.check_change(&headers, Some(guard.form())),
                Err(Denial::Origin),
                "{site}"
            );
        }
    }
}
