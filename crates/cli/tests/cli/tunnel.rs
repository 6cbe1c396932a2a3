//! `exm tunnel` from outside, in networks of its own. Skipped, saying so, where this process may make
//! none.

use crate::common::{Folder, assert_fails, error_of};
use std::process::{Command, Output, Stdio};

/// A key, and the program as `$exm`, for [`shell`].
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("key", "AAECAwQFBgcICQoLDA0ODw");
    folder.write("resolv.conf", "nameserver 192.0.2.53\n");
    folder
}

/// What `script` prints in a network of its own, and with a resolver of its own.
fn shell(folder: &Folder, script: &str) -> Output {
    let script = format!("mount --bind resolv.conf /etc/resolv.conf || exit 9; {script}");
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", &script]).stdin(Stdio::null());
    command.current_dir(&folder.0).env("exm", env!("CARGO_BIN_EXE_exm"));
    command.output().expect("there is unshare")
}

/// Two networks with a link between them, the tunnel's ends in either: what is changed by them is as it
/// was when both are killed.
const KILLED: &str = r#"
unshare --net sleep 60 & other=$!
there() { nsenter --net=/proc/$other/ns/net "$@"; }
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
ip link add near type veth peer name far netns $other || exit 9
ip addr add 192.0.2.1/24 dev near && ip link set near up && ip link set lo up
ip route add default via 192.0.2.9
there ip addr add 192.0.2.2/24 dev far && there ip link set far up && there ip link set lo up
state() {
    for at in env there; do
        $at ip -o link | cut -d: -f2; $at ip -o addr show scope global; $at ip rule; $at ip route
        $at nft list ruleset
        $at sh -c 'grep . /proc/sys/net/ipv4/conf/*/forwarding'
    done
    cat /etc/resolv.conf
}
state > before
$exm tunnel serve --key-file key >/dev/null 2>server & server=$!
# Not by the function, which a shell would run as a program of its own.
nsenter --net=/proc/$other/ns/net \
    $exm tunnel connect 192.0.2.1 --key-file key --dns 192.0.2.7 >/dev/null 2>client & client=$!
tries=0
until there ip route | grep -q exm0 && grep -q 192.0.2.7 /etc/resolv.conf || [ $tries = 200 ]; do
    sleep 0.05; tries=$((tries + 1))
done
there ip route | grep -c ' exm0 '
kill -9 $server $client; wait $server $client
tries=0
until state > after; cmp -s before after || [ $tries = 100 ]; do sleep 0.05; tries=$((tries + 1)); done
diff before after
kill $other 2>/dev/null
:"#;

#[test]
fn nothing_is_left_when_both_ends_are_killed() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let folder = folder("tunnel-killed");
    let output = shell(&folder, KILLED);
    if output.status.code() == Some(9) {
        return exm_testing::skip("no ip, or it cannot make devices");
    }
    let said = ["server", "client"].map(|end| std::fs::read_to_string(folder.path(end)));
    let left = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(left, "3\n", "{said:?} {}", error_of(&output));
}

#[test]
fn what_is_wrong_is_told_with_the_way_out() {
    if !exm_testing::can_make_networks(&[]) {
        return;
    }
    let folder = folder("tunnel-errors");
    let fails = |words: &str, code: i32, parts: &[&str]| {
        let script = format!("ip addr add 10.9.8.7/24 dev lo; exec $exm tunnel {words}");
        assert_fails(&shell(&folder, &script), code, parts);
    };
    let serve = |words: &str, code: i32, parts: &[&str]| {
        fails(&format!("serve --key-file key {words}"), code, parts);
    };
    serve("--network 10.9.0.0/16", 1, &["the address 10.9.8.7 already", "--network"]);
    serve("--network 10.9.0.0/33", 2, &["'10.9.0.0/33' for '--network", "10.77.0.0/24"]);
    serve("--device lo", 1, &["the TUN device lo cannot be made", "--device"]);
    serve("--device 'a b'", 2, &["'a b' for '--device", "such as exm0"]);
    serve("--bind 192.0.2.1", 1, &["of 192.0.2.1: Cannot assign", "--bind"]);
    fails("serve --key-file none", 1, &["cannot read the key from none", "--new-key"]);
    fails("connect 10.9.8.7 --key-file key --dns x", 2, &["'x' for '--dns"]);
    fails(
        "connect 10.9.8.7 --key-file key --route 10.0.0.0/99",
        2,
        &["'10.0.0.0/99' for '--route"],
    );
}

/// Where it may not change the network, it says so at once.
#[test]
fn root_is_asked_for() {
    let folder = folder("tunnel-rights");
    let setpriv = ["--reuid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_exm"), "tunnel"];
    let mut command = Command::new("setpriv");
    let output = command.args(setpriv).args(["serve", "--new-key"]).current_dir(&folder.0).output();
    match output {
        Ok(output) if exm_os::Rights::are_there() && output.status.code() != Some(127) => {
            assert_fails(&output, 1, &["which only root may", "sudo"]);
        }
        _ => exm_testing::skip("without root's rights or setpriv"),
    }
}
