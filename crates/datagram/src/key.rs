//! [`Key`]: the secret that two ends share.

use base64ct::{Base64Unpadded, Encoding};
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::Path;
use std::str::FromStr;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Characters of a key's text: 16 bytes in base64 (RFC 4648, section 4) without padding.
const CHARACTERS: usize = 22;
/// The most that is read of a file or of the standard input: a key and line breaks.
const LONGEST: u64 = 64;

/// A secret of 16 bytes, written as 22 characters. It is never printed by accident, and is overwritten when
/// dropped.
///
/// It cannot be given on a command line, which all users of a machine can read; it is read from a file, an
/// environment variable or the standard input.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 16]);

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for Key {}

/// Why no key can be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is not a key. It is not shown, as it may nearly be one.
    #[error(
        "{place} holds no key: a key is {CHARACTERS} letters, digits, '+' and '/', such as \
         \"exm sprout serve --new-key\" prints"
    )]
    Malformed {
        /// Where it was read.
        place: String,
    },
    /// The variable is not set.
    #[error("the environment variable {name} is not set: it should hold the key")]
    Unset {
        /// The name of the variable.
        name: String,
    },
    /// It cannot be read.
    #[error("cannot read the key from {place}: {source}")]
    Read {
        /// Where it should be.
        place: String,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be written to a file.
    #[error("cannot write the key to {place}: {source}")]
    Write {
        /// The file.
        place: String,
        /// The system's error.
        source: io::Error,
    },
    /// The system has no randomness.
    #[error("the system gives no random bytes to make a key of: {0}")]
    NoRandomness(getrandom::Error),
}

impl Key {
    /// A new random key.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn generate() -> Result<Key, KeyError> {
        let mut key = Key([0; 16]);
        getrandom::fill(&mut key.0).map_err(KeyError::NoRandomness)?;
        Ok(key)
    }

    /// The key with these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Key {
        Key(bytes)
    }

    /// Reads the key in `file`, which holds nothing else.
    ///
    /// # Errors
    /// The file cannot be read, or holds no key.
    pub fn from_file(file: &Path) -> Result<Key, KeyError> {
        let place = file.display().to_string();
        match std::fs::File::open(file) {
            Ok(opened) => Key::read(opened, &place),
            Err(source) => Err(KeyError::Read { place, source }),
        }
    }

    /// Reads the key in the environment variable `name`, which stays set for all child processes.
    ///
    /// # Errors
    /// The variable is not set, or does not hold a key.
    pub fn from_env(name: &str) -> Result<Key, KeyError> {
        let text = std::env::var_os(name).map(|value| Zeroizing::new(value.into_encoded_bytes()));
        Key::from_variable(name, text.as_ref().map(|text| text.as_slice()))
    }

    /// Parses `text`, the value of the environment variable `name` if that was set.
    ///
    /// # Errors
    /// The variable was not set, or does not hold a key.
    pub fn from_variable(name: &str, text: Option<&[u8]>) -> Result<Key, KeyError> {
        let text = text.ok_or_else(|| KeyError::Unset { name: name.to_owned() })?;
        Key::decode(text).ok_or_else(|| KeyError::Malformed {
            place: format!("the environment variable {name}"),
        })
    }

    /// Reads the key that `input`, called `place` in errors, holds up to its end or the end of its first
    /// line.
    ///
    /// # Errors
    /// It cannot be read, or does not hold a key.
    pub fn read(mut input: impl Read, place: &str) -> Result<Key, KeyError> {
        let place = || place.to_owned();
        let mut text = Zeroizing::new(Vec::with_capacity(LONGEST as usize));
        let mut byte = [0];
        // Byte by byte: what follows the line belongs to other readers.
        while text.len() < LONGEST as usize {
            match input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) if byte[0] == b'\n' => break,
                Ok(_) => text.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(KeyError::Read { place: place(), source }),
            }
        }
        byte.zeroize();
        Key::decode(text.trim_ascii()).ok_or_else(|| KeyError::Malformed { place: place() })
    }

    /// Writes it to `file`, a new file that only its owner may read.
    ///
    /// # Errors
    /// The file exists, perhaps with another key, or it cannot be written, in which case it does not exist
    /// afterwards.
    pub fn to_new_file(&self, file: &Path) -> Result<(), KeyError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(file).and_then(|mut opened| {
            let line = Zeroizing::new(format!("{}\n", self.to_text().as_str()));
            let written = opened.write_all(line.as_bytes()).and_then(|()| opened.sync_all());
            if written.is_err() {
                // The first error is reported.
                let _ = std::fs::remove_file(file);
            }
            written
        });
        let place = file.display().to_string();
        written.map_err(|source| KeyError::Write { place, source })
    }

    /// Its text of 22 characters. Anyone who knows it can read and forge the session.
    pub fn to_text(&self) -> Zeroizing<String> {
        let mut buffer = Zeroizing::new([0; CHARACTERS]);
        let text = Base64Unpadded::encode(&self.0, &mut *buffer).expect("as long as a key's text");
        Zeroizing::new(text.to_owned())
    }

    /// The secret bytes.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn decode(text: &[u8]) -> Option<Key> {
        let mut key = Key([0; 16]);
        if text.len() != CHARACTERS {
            return None;
        }
        // A last character with nonzero unused bits is refused as well, so that each key has exactly one
        // text.
        Base64Unpadded::decode(text, &mut key.0).ok()?;
        Some(key)
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Key, KeyError> {
        let malformed = || KeyError::Malformed { place: "the text".to_owned() };
        Key::decode(text.as_bytes()).ok_or_else(malformed)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 4648's alphabet on the bytes 0, 1, 2 ...
    const COUNTED: &str = "AAECAwQFBgcICQoLDA0ODw";

    #[test]
    fn a_key_is_22_characters() {
        let key: Key = COUNTED.parse().expect("a key");
        assert_eq!(key.bytes(), &std::array::from_fn(|i| i as u8));
        assert_eq!(key.to_text().as_str(), COUNTED);
        assert_ne!(Key::generate().expect("randomness"), Key::generate().expect("randomness"));
    }

    #[test]
    fn nothing_else_is_a_key() {
        for text in [
            "",
            "AAECAwQFBgcICQoLDA0OD",
            "AAECAwQFBgcICQoLDA0ODw==",
            // The same bytes if the last four bits were ignored.
            "AAECAwQFBgcICQoLDA0ODx",
            "AAECAwQFBgcICQoLDA0OD_",
            " AAECAwQFBgcICQoLDA0ODw",
            "AAECAwQFBgcICQoLDA0OD\u{e9}",
        ] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_is_read_from_one_line() {
        for text in ["", "\n", "\r\n", "  \n", "\nmore of it"] {
            let key = Key::read(format!("{COUNTED}{text}").as_bytes(), "here").expect("a key");
            assert_eq!(key.to_text().as_str(), COUNTED);
        }
        let mut input = format!("{COUNTED}\nthe rest").into_bytes();
        let mut input = input.as_mut_slice() as &[u8];
        Key::read(&mut input, "here").expect("a key");
        assert_eq!(input, b"the rest", "no more is taken than the line");
        let endless = Key::read(io::repeat(b'A'), "/dev/zero").expect_err("no key").to_string();
        assert!(endless.starts_with("/dev/zero holds no key: a key is 22 letters"), "{endless}");
    }

    #[test]
    fn errors_name_the_place_and_never_the_key() {
        let nearly = "AAECAwQFBgcICQoLDA0ODw=";
        let errors = [
            nearly.parse::<Key>(),
            Key::read(nearly.as_bytes(), "the standard input"),
            Key::from_env("EXM_NO_SUCH_VARIABLE"),
            Key::from_file(Path::new("/no/such/key")),
        ];
        let errors = errors.map(|error| error.expect_err("no key").to_string());
        assert!(errors.iter().all(|error| !error.contains("AAEC")), "{errors:?}");
        assert!(errors[1].starts_with("the standard input holds no key"), "{}", errors[1]);
        assert!(errors[2].contains("EXM_NO_SUCH_VARIABLE is not set"), "{}", errors[2]);
        assert!(errors[3].starts_with("cannot read the key from /no/such/key: "), "{}", errors[3]);
    }

    #[test]
    fn a_key_is_written_to_a_file_of_its_own() {
        let file = std::env::temp_dir().join(format!("exm-key-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let (key, other) = (Key::from_bytes([7; 16]), Key::from_bytes([8; 16]));
        key.to_new_file(&file).expect("it is new");
        let taken = other.to_new_file(&file).expect_err("it is there").to_string();
        assert!(
            taken.starts_with("cannot write the key to ") && taken.contains("exists"),
            "{taken}"
        );
        assert_eq!(Key::from_file(&file).expect("a key"), key);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        std::fs::remove_file(&file).expect("it is there");
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", Key::from_bytes([65; 16])), "Key(secret)");
    }

    proptest! {
        #[test]
        fn every_key_survives_being_written(bytes in any::<[u8; 16]>()) {
            let key = Key::from_bytes(bytes);
            let text = key.to_text();
            prop_assert_eq!(text.len(), CHARACTERS);
            prop_assert_eq!(text.parse::<Key>().expect("a key"), key);
        }

        #[test]
        fn any_text_is_a_key_with_that_text_or_none(text in "[A-Za-z0-9+/=_ -]{20,24}") {
            if let Ok(key) = text.parse::<Key>() {
                let again = key.to_text();
                prop_assert_eq!(again.as_str(), text);
            }
        }
    }
}
