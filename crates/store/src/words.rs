//! Numbers with their nouns.

use std::fmt::Display;

/// A number and its noun, singular or plural: `counted(1, "rule", "rules")` is "1 rule".
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    format!("{number} {}", if number == N::from(1) { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_plural() {
        let texts = [0u64, 1, 2].map(|number| counted(number, "rule", "rules"));
        assert_eq!(texts, ["0 rules", "1 rule", "2 rules"]);
    }
}
