//! Lists the vocabulary of names and placeholders.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use rustc_hash::FxHashSet;

/// Words to look up.
pub(super) type Words = LazyLock<FxHashSet<&'static str>>;

fn split(words: &'static str) -> FxHashSet<&'static str> {
    words.split_ascii_whitespace().collect()
}

/// Words that may follow the significant word of a name.
pub(super) static SUFFIXES: Words = LazyLock::new(|| {
    split(
        "dev prod production test staging live value raw old new backup base b64 base64 hex plain \
         plaintext default local primary secondary current previous main v1 v2 admin root user rw ro \
         text data private db database datenbank mysql postgres postgresql pg mongo redis smtp imap ftp \
         ssh wifi vpn ldap github gitlab",
    )
});

/// Words that end the name of a password, in the languages that people use with agents.
pub(super) static PASSWORDS: Words = LazyLock::new(|| {
    split(
        "password passwd passphrase passcode passwort kennwort pwd pswd psw pword contrasena contraseña \
         contrasenya contrasinal senha mdp motdepasse passe wachtwoord heslo geslo hasło haslo parola parolası parolasi parool \
         lozinka šifra salasana lösenord lösenordet passord passordet adgangskode adgangskoden kodeord \
         kodeordet lykilorð jelszó jelszava slaptažodis пароль пароля парола лозинка κωδικός şifre şifresi \
         khẩu sandi laluan المرور السر عبور סיסמה पासवर्ड পাসওয়ার্ড รหัสผ่าน 密码 密碼 口令 パスワード \
         暗証番号 비밀번호 암호 psk clave",
    )
});

/// Words of other languages that end the name of another secret.
pub(super) static SECRETS: Words = LazyLock::new(|| {
    split("schlüssel clé secrète токен ключ 密钥 密鑰 令牌 秘钥 トークン キー 秘密鍵 토큰 키")
});

/// Plurals of the names of secrets.
pub(super) static PLURALS: Words =
    LazyLock::new(|| split("passwords passwds passphrases tokens secrets keys apikeys"));

/// Words that end in `pass` and are unrelated to passwords.
pub(super) static NOT_PASS: Words =
    LazyLock::new(|| split("bypass buypass compass surpass encompass overpass underpass trespass"));

/// Words that make a pass one of a compiler, a renderer or a similar mechanism.
pub(super) static OTHER_PASSES: Words = LazyLock::new(|| {
    split(
        "one two three single multi first second third next last final render shadow depth light \
         compiler optimization analysis forward backward low high band all by",
    )
});

/// Words before `key` that make it the name of a secret.
pub(super) static KEYS: Words = LazyLock::new(|| {
    split(
        "api access secret private signing signature encryption encrypt decryption master account \
         auth app application admin service client webhook license licence shared session deploy \
         storage subscription consumer hmac jwt cipher crypto aes rsa bot server write read ingest \
         ingestion instrumentation functions function host recovery sas security developer dev user \
         personal project org integration sdk merchant root cookie csrf vapid kms wrapping unseal \
         rest sync search preshared psk my mobile feature relay team token x apim routing sending",
    )
});

/// Words before `KEY` that make it the name of something else.
pub(super) static OTHER_KEYS: Words = LazyLock::new(|| {
    split(
        "public publishable primary foreign sort partition cache object index row hash storage group \
         event hot name ssh gpg host unique lookup s3 file state query translation map redis \
         idempotency dedup dedupe sequence range anon pub verify verification verifying websocket \
         surrogate composite compound natural candidate shard merge bucket upload image video asset media \
         thumbnail blob path content data record item document doc entity node job task request message \
         span parent child config setting i18n locale label field column attribute metric tag any \
         build restore artifact layer block commit tree package module chunk dict json registry sha \
         checksum fingerprint digest etag version socket short press arrow tab enter escape modifier up down \
         resource bundle trace correlation cursor order activity",
    )
});

/// Words that make a token one of pagination, a parser or a similar mechanism.
pub(super) static OTHER_TOKENS: Words = LazyLock::new(|| {
    split(
        "next page continuation cursor sync cancellation cancel pagination pad eos bos unk sep mask \
         cls stop change resume max min per",
    )
});

/// Last words that are weak evidence of a secret.
pub(super) static WEAK: Words = LazyLock::new(|| {
    split("auth credential credentials creds jwt bearer pat authorization login wif pepper")
});

/// Last words that are weak evidence of a secret in upper case only: `BW_SESSION`.
pub(super) static WEAK_ENV: Words =
    LazyLock::new(|| split("session cookie salt seed sid sig signature key keys pw code license"));

/// Words that occur in place of a secret: types, names, and words for its absence.
pub(super) static WORDS: Words = LazyLock::new(|| {
    split(
        "any bar baz bool boolean bytes char default disabled empty enabled env false file flag foo \
         hidden input int key missing nil none null number object option optional pass passwd \
         password passphrase private prompt public required secret secrets self stdin str string text \
         token tokens true undefined unknown user username value varchar void argument parameter and \
         for from the with that this when must should will can cannot invalid incorrect passwort \
         kennwort motdepasse contraseña contrasena senha clave wachtwoord parola heslo пароль \
         password1 password123 minioadmin options username:password user:password user:pass",
    )
});

/// The maximum length of these words.
pub(super) const LONGEST_WORD: usize = 24;

/// Words of placeholders in other languages: possessives, and names of secrets.
pub(super) static FOREIGN: Words = LazyLock::new(|| {
    split(
        "ton ta tes votre vos passe mdp jeton clé cle ici dein deine ihr ihre passwort kennwort \
         schlüssel schluessel geheim hier tu su contraseña contrasena clave aquí aqui seu sua senha \
         chave tuo tua chiave segreta qui jouw uw wachtwoord sleutel twoje hasło haslo vaše heslo \
         ditt lösenord ваш пароль",
    )
});

/// Users in the URLs of documentation.
pub(super) static USERS: Words =
    LazyLock::new(|| split("user username usr login name benutzer utilisateur usuario"));

/// Passwords in the URLs of documentation.
pub(super) static PASSES: Words =
    LazyLock::new(|| split("pass passwd password pwd pw passwort motdepasse mdp senha"));

/// Literals to search for. Where several match, the first of the list counts.
pub(super) struct Literals(Option<AhoCorasick>);

impl Literals {
    fn new(literals: &[&str]) -> Self {
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostFirst);
        builder.kind(Some(AhoCorasickKind::DFA));
        Self(builder.build(literals).ok())
    }

    /// Returns whether a text contains any of the literals.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.ends(text.as_bytes()).next().is_some()
    }

    /// Returns the end position of each match. A blank may end one and begin the next.
    pub(super) fn ends<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = self.0.as_ref()?.find(Input::new(text).range(from..))?;
            let is_blank = found.len() > 1 && text[found.end() - 1] == b' ';
            from = found.end() - usize::from(is_blank);
            Some(found.end())
        })
    }
}

/// Parts of sample tokens in documentation.
pub(super) const SAMPLE_WORDS: &[&str] = &[
    "example",
    "sample",
    "placeholder",
    "redacted",
    "dummy",
    "changeme",
    "replace",
    "insert",
    "your",
    "fake",
    "xxxx",
];

/// Parts that only occur in placeholders.
pub(super) const PLACEHOLDER_PARTS: &[&str] = &[
    "your",
    "example",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "xxxx",
    "redacted",
    "dummy",
    "insert",
    "replace",
    "todo",
    "fixme",
    "foobar",
    "***",
    "...",
    "…",
    "<",
    ">",
    "{{",
    "}}",
    "not-set",
    "not_set",
    "to-be-",
    "process.env",
    "os.environ",
    "getenv",
    "env.",
    "environ[",
    "import.meta",
    "secrets.",
    "vars.",
    "::",
    "->",
];

/// Finds any of `SAMPLE_WORDS`, `PLACEHOLDER_PARTS` and `WELL_KNOWN`.
pub(super) static TELLTALES: LazyLock<Literals> =
    LazyLock::new(|| Literals::new(&[SAMPLE_WORDS, PLACEHOLDER_PARTS, WELL_KNOWN].concat()));

/// Finds parts of the names of algorithms and protocols.
pub(super) static TECHNICAL: LazyLock<Literals> = LazyLock::new(|| {
    Literals::new(&[
        "sha1", "sha2", "sha3", "sha5", "md5", "base64", "base32", "base58", "pbkdf2", "argon2",
        "utf8", "oauth", "auth0", "hmac", "aes128", "aes256", "x509", "x25519", "ed25519", "http2",
        "ipv4", "ipv6",
    ])
});

/// Finds the words and signs between a name and its value in a sentence.
pub(super) static LINKS: LazyLock<Literals> = LazyLock::new(|| {
    Literals::new(&[
        ":\\",
        ": ",
        ":\r",
        ":\n",
        " = ",
        " - ",
        " – ",
        " — ",
        " → ",
        " => ",
        " is ",
        " it's ",
        " now ",
        " maintenant ",
        " на ",
        " was ",
        " are ",
        " be ",
        " to ",
        " from ",
        " ist ",
        " lautet ",
        " war ",
        " est ",
        " es ",
        " è ",
        " é ",
        " är ",
        " er ",
        " on ",
        " je ",
        " jest ",
        " este ",
        "c'est ",
        " هي ",
        " هو ",
        " היא ",
        " הוא ",
        " là ",
        " adalah ",
        " ialah ",
        " είναι ",
        " yra ",
        " je ",
        " е ",
        " это ",
        "는 ",
        "은 ",
        "是",
        "为",
        "為",
        "は",
        "：\n",
        "：",
    ])
});

/// Words between a value and its name: `use … as the password`.
pub(super) static EQUATES: Words =
    LazyLock::new(|| split("as is was are als ist comme est como es come"));

/// Finds the operators between a variable and its fallback literal.
pub(super) static FALLBACKS: LazyLock<Literals> = LazyLock::new(|| {
    Literals::new(&[
        "|| ",
        "?? ",
        "?: ",
        " or ",
        "|_| ",
        "unwrap_or(",
        ".orElse(",
        "default(",
        ", ",
    ])
});

/// Calls that return their argument in another type.
pub(super) static WRAPPERS: Words = LazyLock::new(|| {
    split(
        "some just ok from new of valueof string str bytes byte getbytes buffer text t _t utf8 hex \
         fromhex unhexlify b64decode frombase64 frombase64string atob btoa secret secretstr secretstring \
         securestring unsafeplaintext plaintext qstring qstringliteral qlatin1string string_view nsstring cstring \
         literal ref useref usestate atom signal box arc rc cow quote quote_plus encodeuricomponent \
         default",
    )
});

/// Words in the names of variables that contain secrets.
pub(super) const NAMES: &[&str] =
    &["pass", "pwd", "token", "secret", "key", "auth", "cred", "config", "user"];

/// Words in the names of services and environments.
pub(super) const PLACES: [&str; 18] = [
    "prod", "stag", "test", "dev", "local", "admin", "root", "data", "base", "postgres", "mysql",
    "redis", "vault", "name", "value", "file", "change", "here",
];

/// Values that documentation and local emulators have in common, which protect nothing.
pub(super) const WELL_KNOWN: &[&str] = &[
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq",
    "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
    "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "test test test test test test test test test test test junk",
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11",
    "re_123456789",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_longer_than_the_longest() {
        assert!(WORDS.iter().all(|word| word.len() <= LONGEST_WORD));
    }
}
