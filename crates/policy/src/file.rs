//! A policy's file: JSON of a documented form.

use crate::interface::{Interface, InterfaceError};
use crate::layers::{Activation, Layer, Mlp, MlpError};
use crate::policy::Policy;
use serde::{Deserialize, Serialize};

const FORMAT: &str = "exmachina-policy";
const VERSION: u32 = 1;
/// The size of the largest file.
pub(crate) const MAX_FILE: u64 = 64 << 20;

/// The contents of a policy's file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    format: String,
    version: u32,
    interface: Interface,
    activation: Activation,
    layers: Vec<Layer>,
    /// What people wrote about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notes: Option<String>,
}

/// What every version of the file begins with.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

/// Why a file holds no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It cannot be read.
    #[error("cannot read {file}: {problem}")]
    Read {
        /// Its path.
        file: String,
        /// What the system says.
        problem: String,
    },
    /// It cannot be written.
    #[error("cannot write {file}: {problem}")]
    Write {
        /// Its path.
        file: String,
        /// What the system says.
        problem: String,
    },
    /// The file is not sound.
    #[error("{file}: {problem}")]
    File {
        /// Its path.
        file: String,
        /// What is wrong with it.
        problem: Box<PolicyError>,
    },
    /// It is not JSON, or not a policy's.
    #[error("it is not a policy: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is of another program or version.
    #[error(
        "it is \"{format}\" of version {version}, not \"{FORMAT}\" of version {VERSION}: \
         use a newer program, or write it anew"
    )]
    Version {
        /// The format that the file names.
        format: String,
        /// And of which version.
        version: u32,
    },
    /// Its interface is impossible.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// Its layers do not fit.
    #[error(transparent)]
    Layers(#[from] MlpError),
}

pub(crate) fn read(text: &str) -> Result<Policy, PolicyError> {
    let Head { format, version } = serde_json::from_str(text)?;
    if format != FORMAT || version != VERSION {
        return Err(PolicyError::Version { format, version });
    }
    let contents: Contents = serde_json::from_str(text)?;
    contents.interface.check()?;
    let (inputs, outputs) = (contents.interface.inputs(), contents.interface.outputs());
    let mlp = Mlp::new(&contents.layers, contents.activation, inputs, outputs)?;
    Ok(Policy::new(contents.interface, mlp)?.with_notes(contents.notes))
}

pub(crate) fn write(policy: &Policy) -> String {
    let contents = Contents {
        format: FORMAT.to_owned(),
        version: VERSION,
        interface: *policy.interface(),
        activation: policy.mlp().activation(),
        layers: policy.mlp().layers(),
        notes: policy.notes().map(str::to_owned),
    };
    serde_json::to_string(&contents).expect("its keys are texts, and its numbers finite") + "\n"
}
