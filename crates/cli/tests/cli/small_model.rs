//! A small model to design for, and folders with it.

use crate::common::Folder;

/// Its designs take tenths of a second, since they are not hardened.
pub(crate) const MODEL: &str = r#"
name = "small"
[network]
rate = "5..20 Mbps"
rtt = "50..150 ms"
senders = "1..4"
buffer = "5 BDP"
[traffic]
on = "exponential 1 s"
off = "exponential 1 s"
[objective]
[design]
duration = "4 s"
specimens = 4
[robust]
enabled = false
"#;

/// A folder for the test `name` with the model in it.
pub(crate) fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("model.toml", MODEL);
    folder
}
