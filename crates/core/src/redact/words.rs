//! The vocabulary of names and placeholders.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use rustc_hash::FxHashSet;

/// Words to look up.
pub(super) type Words = LazyLock<FxHashSet<&'static str>>;

fn split(words: &'static str) -> FxHashSet<&'static str> {
    words.split_ascii_whitespace().collect()
}

/// Words that may follow the one that matters.
pub(super) static SUFFIXES: Words = LazyLock::new(|| {
    split(
        "dev prod production test staging live value raw old new backup base b64 base64 hex plain \
         plaintext default local primary secondary current previous main v1 v2 admin root user rw ro \
         text data private",
    )
});

/// Words that end a name of a password, in the languages people write to agents.
pub(super) static PASSWORDS: Words = LazyLock::new(|| {
    split(
        "password passwd passphrase passcode passwort kennwort pwd pswd pword contrasena contraseña \
         senha mdp motdepasse wachtwoord heslo hasło haslo parola lozinka salasana lösenord пароль 密码 \
         密碼 口令 パスワード 비밀번호 암호 passe psk şifre khẩu المرور סיסמה κωδικός clave",
    )
});

/// Words that end in `pass` and have nothing to do with one.
pub(super) static NOT_PASS: Words =
    LazyLock::new(|| split("bypass compass surpass encompass overpass underpass trespass"));

/// Words before `key` that make it a secret one.
pub(super) static KEYS: Words = LazyLock::new(|| {
    split(
        "api access secret private signing signature encryption encrypt decryption master account \
         auth app application admin service client webhook license licence shared session deploy \
         storage subscription consumer hmac jwt cipher crypto aes rsa bot server write read ingest \
         ingestion instrumentation functions function host recovery sas security developer dev user \
         personal project org integration sdk merchant root cookie csrf vapid kms wrapping unseal \
         rest sync search preshared psk mobile feature relay team token x apim routing sending",
    )
});

/// Words before `key` in large letters that make it a name of something else.
pub(super) static OTHER_KEYS: Words = LazyLock::new(|| {
    split(
        "public publishable primary foreign sort partition cache object index row hash storage group \
         event hot name ssh gpg host unique lookup s3 file state query translation map redis \
         idempotency dedup sequence range anon",
    )
});

/// Words that make a token one of a list, a parser or a form.
pub(super) static OTHER_TOKENS: Words = LazyLock::new(|| {
    split(
        "next page continuation cursor sync cancellation cancel pagination pad eos bos unk sep mask \
         cls stop change resume max min per",
    )
});

/// Last words that promise little.
pub(super) static WEAK: Words = LazyLock::new(|| {
    split("auth credential credentials creds jwt bearer pat authorization login wif")
});

/// The same, only in large letters: `BW_SESSION`.
pub(super) static WEAK_ENV: Words =
    LazyLock::new(|| split("session cookie salt seed sid sig signature key keys pw code license"));

/// Words in the place of a secret: types, names, and words that mean there is none.
pub(super) static WORDS: Words = LazyLock::new(|| {
    split(
        "any bar baz bool boolean bytes char default disabled empty enabled env false file flag foo \
         hidden input int key missing nil none null number object option optional pass passwd \
         password passphrase private prompt public required secret secrets self stdin str string text \
         token tokens true undefined unknown user username value varchar void argument parameter and \
         for from the with that this when must should will can cannot invalid incorrect passwort \
         kennwort motdepasse contraseña contrasena senha clave wachtwoord parola heslo пароль",
    )
});

/// Words of a placeholder in other languages: whose secret is to be put there, and what it is.
pub(super) static FOREIGN: Words = LazyLock::new(|| {
    split(
        "ton ta tes votre vos passe mdp jeton clé cle ici dein deine ihr ihre passwort kennwort \
         schlüssel schluessel geheim hier tu su contraseña contrasena clave aquí aqui seu sua senha \
         chave tuo tua chiave segreta qui jouw uw wachtwoord sleutel twoje hasło haslo vaše heslo \
         ditt lösenord ваш пароль",
    )
});

/// Users in URLs of documentation.
pub(super) static USERS: Words =
    LazyLock::new(|| split("user username usr login name benutzer utilisateur usuario"));

/// Passwords of such users.
pub(super) static PASSES: Words =
    LazyLock::new(|| split("pass passwd password pwd pw passwort motdepasse mdp senha"));

/// Literals to search for, of which the first one counts.
pub(super) struct Literals(Option<AhoCorasick>);

impl Literals {
    fn new(literals: &[&str]) -> Self {
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).match_kind(MatchKind::LeftmostFirst);
        Self(builder.build(literals).ok())
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.first(text).is_some()
    }

    /// Returns the place behind the first of them.
    pub(super) fn first(&self, text: &str) -> Option<usize> {
        Some(self.0.as_ref()?.find(text)?.end())
    }
}

/// Parts of tokens in documentation.
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

/// Finds any of them quickly.
pub(super) static SAMPLES: LazyLock<Literals> = LazyLock::new(|| Literals::new(SAMPLE_WORDS));

/// What leads from a name to its value in a sentence.
pub(super) static LINKS: LazyLock<Literals> = LazyLock::new(|| {
    Literals::new(&[
        ":\\", ": ", ":\r", ":\n", " is ", " are ", " to ", " ist ", " lautet ", " est ", " es ",
        " è ", " är ", " — ", " é ", "是", "は", "：\n",
    ])
});
