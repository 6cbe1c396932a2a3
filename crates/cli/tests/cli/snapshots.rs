//! What the program prints, word for word: `tests/cmd/*.trycmd`. With `TRYCMD=overwrite` they are
//! written anew.

#[test]
fn commands_print_what_they_did() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
