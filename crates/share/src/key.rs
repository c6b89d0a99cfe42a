//! The key: a passphrase or a file. Whatever is in the shared folder is encrypted with it, in the format of
//! age.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;

use age::secrecy::{ExposeSecret, SecretString};
use age::stream::StreamReader;
use age::{DecryptError, Decryptor, Encryptor, scrypt, x25519};

use crate::error::{Failure, Result};

/// The work to try one passphrase, as a power of two: about half a second and 256 MB. It is the same on all
/// machines, so that the fastest does not lock out the slowest.
const WORK: u8 = 18;

/// The maximum work that a file may ask for.
const MOST_WORK: u8 = 20;

pub(crate) enum Key {
    Passphrase(SecretString),
    /// The first one encrypts; any of them decrypts.
    Identities(Vec<x25519::Identity>),
}

/// The reason why a file cannot be decrypted.
#[derive(Debug)]
pub(crate) enum Locked {
    WrongKey,
    /// The file is not as it was written.
    Damaged(DecryptError),
}

impl Key {
    /// Reads a key file as `age-keygen` writes it.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let what = || Failure::new(format!("cannot use the key in `{}`", file.display()));
        let text = fs::read_to_string(file).map_err(|error| {
            what().because(error).hint("`backstory share --new-key FILE` creates one")
        })?;
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let identities = lines.map(|(n, line)| {
            // The reason could quote the key.
            x25519::Identity::from_str(line).map_err(|_| {
                what()
                    .because(format!("line {} is not a key", n + 1))
                    .hint("keys begin with `AGE-SECRET-KEY-1`; `age-keygen` writes them too")
            })
        });
        let identities = identities.collect::<Result<Vec<_>>>()?;
        if identities.is_empty() {
            return Err(what().because("it is empty"));
        }
        Ok(Self::Identities(identities))
    }

    /// Reads a passphrase from the first line of a file.
    pub(crate) fn read_passphrase(file: &Path) -> Result<Self> {
        let what = || Failure::new(format!("cannot use the passphrase in `{}`", file.display()));
        let text = fs::read_to_string(file).map_err(|error| what().because(error))?;
        let first = text.lines().next().unwrap_or_default();
        Self::passphrase(first.to_owned()).ok_or_else(|| what().because("it is empty"))
    }

    /// Returns the key for a passphrase; none if it is empty.
    pub(crate) fn passphrase(text: String) -> Option<Self> {
        (!text.is_empty()).then(|| Self::Passphrase(SecretString::from(text)))
    }

    /// Encrypts everything that can be read.
    pub(crate) fn encrypt(&self, from: &mut impl Read, to: impl Write) -> io::Result<()> {
        let encryptor = match self {
            Self::Passphrase(passphrase) => {
                let mut recipient = scrypt::Recipient::new(passphrase.clone());
                recipient.set_work_factor(WORK);
                Encryptor::with_recipients(std::iter::once(&recipient as _))
            }
            Self::Identities(identities) => {
                let recipients: Vec<_> =
                    identities.iter().take(1).map(x25519::Identity::to_public).collect();
                Encryptor::with_recipients(recipients.iter().map(|recipient| recipient as _))
            }
        };
        let mut to = encryptor.map_err(io::Error::other)?.wrap_output(to)?;
        io::copy(from, &mut to)?;
        to.finish()?.flush()
    }

    /// Decrypts a file. Reading the result gives exactly the encrypted content, or an error.
    pub(crate) fn decrypt<R: Read>(&self, from: R) -> std::result::Result<StreamReader<R>, Locked> {
        let decryptor = Decryptor::new(from).map_err(Locked::Damaged)?;
        let opened = match self {
            Self::Passphrase(passphrase) => {
                let mut identity = scrypt::Identity::new(passphrase.clone());
                identity.set_max_work_factor(MOST_WORK);
                decryptor.decrypt(std::iter::once(&identity as _))
            }
            Self::Identities(identities) => {
                decryptor.decrypt(identities.iter().map(|identity| identity as _))
            }
        };
        opened.map_err(|error| match error {
            DecryptError::NoMatchingKeys
            | DecryptError::DecryptionFailed
            | DecryptError::KeyDecryptionFailed => Locked::WrongKey,
            other => Locked::Damaged(other),
        })
    }
}

/// Creates a file with a new key that only its owner can read.
pub(crate) fn create(file: &Path) -> Result<()> {
    let identity = x25519::Identity::generate();
    let text = format!(
        "# A key for `backstory share --key`. Keep it out of the shared folder.\n\
         # public key: {}\n{}\n",
        identity.to_public(),
        identity.to_string().expose_secret()
    );
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = options.open(file)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| {
        let failure = Failure::new(format!("cannot create `{}`", file.display()));
        if error.kind() == io::ErrorKind::AlreadyExists {
            return failure
                .because("it exists already")
                .hint("whatever was encrypted with a lost key is lost");
        }
        failure.because(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passphrase(text: &str) -> Key {
        Key::passphrase(text.to_owned()).unwrap()
    }

    fn encrypted(key: &Key, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        key.encrypt(&mut &text[..], &mut out).unwrap();
        out
    }

    fn decrypted(key: &Key, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut reader = key.decrypt(bytes).ok()?;
        reader.read_to_end(&mut out).ok()?;
        Some(out)
    }

    #[test]
    fn only_the_same_key_opens_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let key = |name: &str| {
            let file = folder.path().join(name);
            create(&file).unwrap();
            Key::read(&file).unwrap()
        };
        let (a, b) = (key("a"), key("new/b"));
        let bytes = encrypted(&a, b"a secret plan");
        assert_eq!(decrypted(&a, &bytes).as_deref(), Some(&b"a secret plan"[..]));
        assert!(matches!(b.decrypt(&bytes[..]), Err(Locked::WrongKey)));
        assert!(matches!(passphrase("x").decrypt(&bytes[..]), Err(Locked::WrongKey)));
        assert!(create(&folder.path().join("a")).is_err());
        // Every change and every cut is noticed.
        for n in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[n] ^= 1;
            assert_eq!(decrypted(&a, &changed), None, "byte {n}");
            assert_eq!(decrypted(&a, &bytes[..n]), None, "cut at {n}");
        }
    }

    #[test]
    fn only_the_same_passphrase_opens_a_file() {
        let bytes = encrypted(&passphrase("correct horse"), b"a secret plan");
        assert_eq!(
            decrypted(&passphrase("correct horse"), &bytes).as_deref(),
            Some(&b"a secret plan"[..])
        );
        assert!(matches!(passphrase("wrong").decrypt(&bytes[..]), Err(Locked::WrongKey)));
        assert!(Key::passphrase(String::new()).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_key_file_is_private() {
        use std::os::unix::fs::PermissionsExt as _;

        let file = tempfile::tempdir().unwrap();
        let file = file.path().join("key");
        create(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_without_a_key_is_an_error_that_does_not_repeat_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["", "# comment\n\n", "AGE-SECRET-KEY-1NONSENSE", "ssh-ed25519 AAAA"] {
            fs::write(file.path(), text).unwrap();
            let failure = Key::read(file.path()).err().unwrap();
            assert!(!format!("{failure:?}").contains("NONSENSE"));
        }
    }
}
