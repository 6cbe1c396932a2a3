//! Controllers by name and parameters: any text is read or refused, and what is read is written so that it is read
//! again.

use exm_sim::builtin::{Builtin, split_list};

/// Runs the target on `bytes`: on their text, and on it as the parameters of each controller.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    split_list(&text);
    check(&text);
    for name in Builtin::names() {
        check(&format!("{name} {text}"));
    }
}

fn check(text: &str) {
    let Ok(Some(builtin)) = Builtin::parse(text) else { return };
    let written = builtin.to_string();
    let again = Builtin::parse(&written).expect("was read before").expect("is built in");
    assert_eq!(format!("{again:?}"), format!("{builtin:?}"), "{text}");
}
