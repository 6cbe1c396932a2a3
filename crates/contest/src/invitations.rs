//! Invitations: a token for each participant who submits over HTTP. Only hashes of tokens are stored.

use crate::error::ContestError;
use crate::hash::{hex, sha256};
use crate::rules::Contest;
use crate::store::check_name;
use exm_store::write_atomically;
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Contest {
    /// Invites the participant `name`, and returns the token by which a submission of theirs is known. A former token
    /// of theirs is no longer valid.
    ///
    /// # Errors
    /// [`ContestError`] if the name cannot be a participant's, or the file cannot be written.
    pub fn invite(&self, name: &str) -> Result<String, ContestError> {
        check_name(name)?;
        self.check_free(name)?;
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| ContestError::Random(error.to_string()))?;
        let token = hex(&bytes);
        let mut invited = self.invited()?;
        invited.insert(name.to_owned(), sha256(token.as_bytes()));
        let text = serde_json::to_string_pretty(&invited).expect("names and hashes") + "\n";
        let path = self.invitations();
        write_atomically(&path, text.as_bytes()).map_err(ContestError::write(path))?;
        Ok(token)
    }

    /// Whose token this is; none if nobody's.
    ///
    /// # Errors
    /// [`ContestError`] if the file of invitations cannot be read.
    pub fn participant(&self, token: &str) -> Result<Option<String>, ContestError> {
        let hash = sha256(token.as_bytes());
        Ok(self.invited()?.into_iter().find(|(_, known)| *known == hash).map(|(name, _)| name))
    }

    fn invitations(&self) -> PathBuf {
        self.dir().join("invitations.json")
    }

    /// The hash of each participant's token.
    fn invited(&self) -> Result<BTreeMap<String, String>, ContestError> {
        let path = self.invitations();
        if !path.exists() {
            return Ok(BTreeMap::new());
        }
        let text = std::fs::read_to_string(&path).map_err(ContestError::read(&path))?;
        serde_json::from_str(&text)
            .map_err(|error| ContestError::Damaged { path, problem: error.to_string() })
    }
}
