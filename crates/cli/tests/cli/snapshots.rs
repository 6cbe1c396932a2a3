//! The output of the program, word for word: `tests/cmd/*.trycmd`. `TRYCMD=overwrite` rewrites
//! them.

#[test]
fn commands_print_their_snapshots() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
