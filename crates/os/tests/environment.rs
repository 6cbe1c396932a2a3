//! A variable that is taken out of the environment is in no program that is started afterwards. A program
//! of its own, since the test harness has threads.

use std::process::Command;

const NAME: &str = "EXM_TEST_SECRET";

/// What a program that is started now finds in the variable.
fn seen_by_a_child() -> String {
    let output = Command::new("sh").args(["-c", "echo ${EXM_TEST_SECRET-none}"]).output();
    String::from_utf8(output.expect("there is a shell").stdout).expect("text").trim().to_owned()
}

fn main() {
    if std::env::args().nth(1).as_deref() != Some("with-secret") {
        let this = std::env::current_exe().expect("it has a name");
        let status = Command::new(this).arg("with-secret").env(NAME, "secret").status();
        assert!(status.expect("it starts").success());
        return;
    }
    assert_eq!(seen_by_a_child(), "secret");
    let (release, released) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || released.recv());
    assert_eq!(exm_os::take_variable(NAME).expect("it is set"), "secret");
    assert_eq!(seen_by_a_child(), "secret", "another thread may be reading it");
    drop(release);
    let _ = thread.join();
    // A thread that has been joined may still be listed for a moment.
    while std::fs::read_dir("/proc/self/task").expect("it is there").count() > 1 {
        std::thread::yield_now();
    }
    assert_eq!(exm_os::take_variable(NAME).expect("it is set"), "secret");
    assert_eq!(seen_by_a_child(), "none");
    let initial = std::fs::read("/proc/self/environ").expect("it is there");
    let initial = String::from_utf8_lossy(&initial);
    let shown = initial.split('\0').find_map(|pair| pair.strip_prefix("EXM_TEST_SECRET="));
    assert_eq!(shown, Some(""), "what the kernel shows");
    assert_eq!(exm_os::take_variable(NAME), None);
}
