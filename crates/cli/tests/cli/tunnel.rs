//! `exm tunnel` as a process, in network namespaces. Skipped if this process may not create any.

use crate::common::{Folder, assert_envelope, assert_fails, error_of};
use std::process::{Command, Output, Stdio};

/// A key, and the program as `$exm`, for [`shell`].
#[track_caller]
fn folder(name: &str) -> Option<Folder> {
    let folder = Folder::with_networks(name)?;
    folder.write("key", "AAECAwQFBgcICQoLDA0ODw");
    folder.write("resolv.conf", "nameserver 192.0.2.53\n");
    Some(folder)
}

/// Runs `script` in a network and with a resolver of its own, and returns its output.
fn shell(folder: &Folder, script: &str) -> Output {
    let script = format!("mount --bind resolv.conf /etc/resolv.conf || exit 9; {script}");
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", &script]).stdin(Stdio::null());
    command.current_dir(&folder.0).env("exm", env!("CARGO_BIN_EXE_exm"));
    command.output().expect("there is unshare")
}

/// Two namespaces with a link between them, this one for a server, and `there` for a client.
const NETWORKS: &str = r#"
made() {
    until [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/$$/ns/net)" ]; do sleep 0.05; done
}
# Whether a command succeeds within ten seconds.
soon() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        [ $tries = 200 ] && return 1
        sleep 0.05; tries=$((tries + 1))
    done
}
unshare --net sleep 60 & other=$!
there() { nsenter --net=/proc/$other/ns/net "$@"; }
made $other
ip link add near type veth peer name far netns $other || exit 9
ip addr add 192.0.2.1/24 dev near && ip link set near up && ip link set lo up
there ip addr add 192.0.2.2/24 dev far && there ip link set far up && there ip link set lo up
"#;

/// Everything changed by the tunnel's ends is restored when both are killed.
const KILLED: &str = r#"
ip route add default via 192.0.2.9
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
fn killed_ends_leave_nothing_behind() {
    let Some(folder) = folder("tunnel-killed") else { return };
    let output = shell(&folder, &format!("{NETWORKS}{KILLED}"));
    if output.status.code() == Some(9) {
        return exm_testing::skip("no ip, or it cannot make devices");
    }
    let output_text = ["server", "client"].map(|end| std::fs::read_to_string(folder.path(end)));
    let left = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(left, "3\n", "{output_text:?} {}", error_of(&output));
}

/// Runs `script` between the two networks and returns its output, if they can be created.
#[track_caller]
fn between_networks(name: &str, script: &str) -> Option<String> {
    if !exm_testing::can_make_networks(&["ip", "nft", "ping"]) {
        return None;
    }
    let folder = folder(name)?;
    folder.write("key2", "BBECAwQFBgcICQoLDA0ODw");
    let script = format!("{NETWORKS}{script}\nkill $server $other $world 2>/dev/null\n:");
    let output = shell(&folder, &script);
    if output.status.code() == Some(9) {
        exm_testing::skip("no ip, or it cannot make devices");
        return None;
    }
    let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(format!("{output_text}{}", error_of(&output)))
}

/// The same, with a server running from the beginning.
#[track_caller]
fn beside_server(name: &str, script: &str) -> Option<String> {
    let serve = "$exm tunnel serve --key-file key >/dev/null 2>server & server=$!";
    between_networks(name, &format!("{serve}\n{script}"))
}

/// Forwarding is off again only when the second of two servers ends, however the first ended.
const TWO_SERVERS: &str = r#"
unshare --net sleep 60 & world=$!
made $world
ip link add up0 type veth peer name wan netns $world
ip addr add 203.0.113.1/24 dev up0 && ip link set up0 up && ip route add default via 203.0.113.2
nsenter --net=/proc/$world/ns/net sh -c 'ip addr add 203.0.113.2/24 dev wan; ip link set wan up'
forwarding() { cat /proc/sys/net/ipv4/conf/up0/forwarding; }
is_off() { [ "$(forwarding)" = 0 ]; }
for signal in TERM KILL; do
    $exm tunnel serve --key-file key >/dev/null 2>first & first=$!
    $exm tunnel serve --key-file key2 --port 60002 >/dev/null 2>second & second=$!
    nsenter --net=/proc/$other/ns/net \
        $exm tunnel connect 192.0.2.1:60002 --key-file key2 >/dev/null 2>client & client=$!
    soon there ping -c 1 -W 1 203.0.113.2 || cat first second client
    kill -$signal $first; wait $first 2>/dev/null
    soon sh -c '! ip link show dev exm0'; sleep 0.2
    there ping -c 10 -i 0.05 -W 1 203.0.113.2 | grep -o '[0-9]*% packet loss'
    forwarding
    kill -$signal $second $client; wait $second $client 2>/dev/null
    soon is_off; forwarding
done
"#;

#[test]
fn a_server_that_ends_leaves_another_one_working() {
    let Some(output_text) = between_networks("tunnel-two-servers", TWO_SERVERS) else { return };
    assert_eq!(output_text, "0% packet loss\n1\n0\n0% packet loss\n1\n0\n");
}

/// What runs is shown, live and as JSON, and is gone when it has ended; the datagrams are logged.
const STATUS: &str = r#"
mount -t tmpfs none /run || exit 9
$exm tunnel status && exit 1
$exm tunnel serve --key-file key >/dev/null 2>server & server=$!
nsenter --net=/proc/$other/ns/net $exm tunnel connect 192.0.2.1 --key-file key --qlog log.sqlog \
    --device exmc0 >/dev/null 2>client & client=$!
up() { $exm tunnel status exmc0 | grep -q connected; }
soon up || cat client server
$exm tunnel status exmc0 --json | grep -o '"role": "[a-z]*"\|"state": "[a-z]*"'
$exm tunnel status | grep -o '^exm.*: [a-z ]*'
timeout 20 $exm tunnel status exmc0 --watch --plain | head -1 | grep -o 'connected with 192.0.2.1:60001'
stat -c %a /run/exm /run/exm/*.sock
kill -INT $client; wait $client 2>/dev/null
ls /run/exm | grep sock
kill -KILL $server; wait $server 2>/dev/null
$exm tunnel status exm0 && exit 1
grep -c 'file_schema' log.sqlog; grep -q '"name":"quic:packet_received"' log.sqlog && echo logged
"#;

#[test]
fn running_tunnels_are_shown() {
    let Some(output_text) = between_networks("tunnel-status", STATUS) else { return };
    let expected = [
        r#""role": "client""#,
        r#""state": "established""#,
        "exm0: server of one client",
        "exmc0: client",
        "connected with 192.0.2.1:60001",
        "700",
        "600",
        "600",
        "tunnel-exm0.sock",
        "1",
        "logged",
    ];
    let printed: Vec<&str> = output_text.lines().take(expected.len()).collect();
    assert_eq!(printed, expected, "{output_text}");
    assert_eq!(output_text.matches("no tunnel runs on this machine").count(), 2, "{output_text}");
}

/// A DHCP client rewrites the resolvers while a tunnel has set them: the tunnel's are set again, and at
/// the end, however it ends, the new network's are restored.
const RESOLVERS: &str = r#"
names() { grep -q "$1" /etc/resolv.conf; }
for signal in TERM KILL; do
    echo "nameserver 192.0.2.53" > /etc/resolv.conf
    nsenter --net=/proc/$other/ns/net $exm tunnel connect 192.0.2.1 --key-file key \
        --dns 192.0.2.7 >/dev/null 2>client & client=$!
    soon names 192.0.2.7 || cat client
    echo "nameserver 203.0.113.53" > /etc/resolv.conf
    soon names 192.0.2.7 && cat /etc/resolv.conf
    kill -$signal $client; wait $client 2>/dev/null
    soon names 203.0.113.53; cat /etc/resolv.conf
done
# If resolvconf writes the file, the resolvers are registered with it.
mkdir bin; printf '#!/bin/sh\necho "$@" >> calls; cat >> calls\n' > bin/resolvconf
chmod +x bin/resolvconf
nsenter --net=/proc/$other/ns/net env PATH="$PWD/bin:$PATH" $exm tunnel connect 192.0.2.1 \
    --key-file key --dns 192.0.2.7 >/dev/null 2>client & client=$!
soon grep -q nameserver calls || cat client
kill -KILL $client; wait $client 2>/dev/null
soon grep -q -- -d calls; cat calls /etc/resolv.conf
"#;

#[test]
fn resolvers_survive_a_change_of_network() {
    let Some(output_text) = beside_server("tunnel-resolvers", RESOLVERS) else { return };
    let ours = "# Written by exm tunnel, for as long as it runs.\nnameserver 192.0.2.7\n";
    let new = "nameserver 203.0.113.53\n";
    let registered = "-a tun.exm0 -m 0 -x\nnameserver 192.0.2.7\n-f -d tun.exm0\n";
    assert_eq!(output_text, format!("{ours}{new}{ours}{new}{registered}{new}"));
}

/// A kill switch stays when the client is killed, and is lifted when it is stopped; the client has the
/// default scheduling policy, 0, unless SCHED_FIFO, 1, is requested.
const KILL_SWITCH: &str = r#"
connect() {
    nsenter --net=/proc/$other/ns/net $exm tunnel connect 192.0.2.1 --key-file key "$@" \
        >/dev/null 2>client & client=$!
}
policy() { echo "policy $(awk '{ print $41 }' /proc/$client/stat)"; }
reached() { there ping -c 1 -W 1 192.0.2.1 >/dev/null 2>&1 && echo reached || echo blocked; }
is_up() { there ip route | grep -q exm0; }
reached
connect --kill-switch
soon is_up || cat client
policy
kill -KILL $client; wait $client 2>/dev/null
reached
there $exm tunnel unblock
reached
connect --kill-switch --realtime
soon is_up || cat client
policy; reached
there $exm tunnel unblock
kill -TERM $client; wait $client
reached
there $exm tunnel unblock
"#;

#[test]
fn a_kill_switch_blocks_when_the_client_is_killed() {
    let Some(output_text) = beside_server("tunnel-kill-switch", KILL_SWITCH) else { return };
    let (printed, notes) =
        output_text.split_at(output_text.find("note:").unwrap_or(output_text.len()));
    assert_eq!(
        printed, "reached\npolicy 0\nblocked\nreached\npolicy 1\nblocked\nreached\n",
        "{output_text}"
    );
    let lines: Vec<&str> = notes.lines().collect();
    assert!(lines[0].contains("the kill switch is lifted"), "{notes}");
    assert!(notes.contains("a running tunnel has the kill switch"), "{notes}");
    assert!(lines.last().is_some_and(|line| line.contains("no kill switch is engaged")), "{notes}");
}

#[test]
fn errors_name_a_remedy() {
    let Some(folder) = folder("tunnel-errors") else { return };
    let fails = |words: &str, code: i32, parts: &[&str]| {
        let script = format!("ip addr add 10.9.8.7/24 dev lo; exec $exm tunnel {words}");
        assert_fails(&shell(&folder, &script), code, parts);
    };
    let serve = |words: &str, code: i32, parts: &[&str]| {
        fails(&format!("serve --key-file key {words}"), code, parts);
    };
    serve("--network 10.9.0.0/16", 1, &["already has the address 10.9.8.7", "--network"]);
    serve("--allow 10.9.0.0/33", 2, &["'10.9.0.0/33' for '--allow", "10.0.0.0/8"]);
    serve("--allow 10.9.0.0/16 --private", 2, &["--private", "--allow"]);
    serve("--allow 10.2.0.0/16", 1, &["the network 10.2.0.0/16 cannot be reached", "no route"]);
    serve("--network 10.9.0.0/33", 2, &["'10.9.0.0/33' for '--network", "10.77.0.0/24"]);
    serve("--device lo", 1, &["cannot create the TUN device lo", "--device"]);
    serve("--device 'a b'", 2, &["'a b' for '--device", "such as exm0"]);
    serve("--bind 192.0.2.1", 1, &["of 192.0.2.1: Cannot assign", "--bind"]);
    fails("serve --key-file none", 2, &["cannot read the key from none", "--new-key"]);
    fails("connect 10.9.8.7 --key-file key --dns x", 2, &["'x' for '--dns"]);
    fails(
        "connect 10.9.8.7 --key-file key --route 10.0.0.0/99",
        2,
        &["'10.0.0.0/99' for '--route"],
    );
}

/// If it may not change the network, it fails at once.
#[test]
fn root_is_asked_for() {
    let folder = Folder::new("tunnel-rights");
    let setpriv = ["--reuid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_exm"), "tunnel"];
    let mut command = Command::new("setpriv");
    let output = command.args(setpriv).args(["serve", "--new-key"]).current_dir(&folder.0).output();
    match output {
        Ok(output) if exm_os::Rights::already_held() && output.status.code() != Some(127) => {
            assert_fails(&output, 1, &["which only root may", "run it as root", "sudo"]);
        }
        _ => exm_testing::skip("without root's rights or setpriv"),
    }
}

#[test]
fn a_benchmark_in_json_has_the_envelope() {
    let Some(folder) = folder("tunnel-bench") else { return };
    let words = "tunnel bench --up 5Mbps --down 5Mbps --warm-up 200ms --duration 500ms --seed 3 --runs 2 --json";
    let keys = ["direct", "tunnel", "runs"];
    let result = assert_envelope(&folder.text(words), &format!("exm {words}"), &keys);
    assert_eq!(result["seed"], 3);
    let runs = result["runs"].as_array().expect("an array");
    assert_eq!(runs.iter().map(|run| &run["seed"]).collect::<Vec<_>>(), [3, 4]);
    let downloads = [0, 1].map(|run| runs[run]["tunnel"]["download_kbps"].as_f64().unwrap());
    let median = result["tunnel"]["download_kbps"].as_f64().unwrap();
    assert!((median - (downloads[0] + downloads[1]) / 2.0).abs() < 1e-6, "{median} {downloads:?}");
}

#[test]
fn clients_are_added_listed_and_revoked() {
    let folder = Folder::new("tunnel-clients");
    let printed = folder.text("tunnel clients add bob");
    assert!(printed.starts_with("EXM_KEY=") && printed.ends_with(" exm tunnel connect HOST\n"));
    let added = "tunnel clients add alice --key-file alice.key";
    assert_eq!(folder.text(added), "exm tunnel connect HOST --key-file alice.key\n");
    let key = std::fs::read_to_string(folder.path("alice.key")).expect("it was written");
    let file = std::fs::read_to_string(folder.path("clients.toml")).expect("it was made");
    assert!(file.contains(key.trim()), "{file}");
    let listed = folder.text("tunnel clients list --json");
    let keys = ["network", "room", "clients"];
    let listed = assert_envelope(&listed, "exm tunnel clients list --json", &keys);
    let names: Vec<_> =
        listed["clients"].as_array().expect("a list").iter().map(|c| &c["name"]).collect();
    assert_eq!(names, ["bob", "alice"]);
    assert!(!folder.text("tunnel clients list").contains(key.trim()));
    assert_fails(&folder.run(added), 1, &["there is a client \"alice\" already"]);
    assert_fails(
        &folder.run("tunnel clients add eve --key-file alice.key"),
        1,
        &["alice.key", "a new file"],
    );
    assert_fails(&folder.run("tunnel clients add a_b"), 1, &["is no name of a client"]);
    let other = "tunnel clients add eve --network 10.77.0.0/16";
    assert_fails(&folder.run(other), 1, &["use another file for another network"]);
    let small = "tunnel clients add eve --clients other.toml --network 10.77.0.0/30";
    assert_fails(&folder.run(small), 1, &["too small for several clients"]);
    assert_fails(&folder.run("tunnel clients revoke eve"), 1, &["the clients are bob, alice"]);
    folder.text("tunnel clients revoke alice");
    assert!(folder.text("tunnel clients list").contains("1 of 16384 in "));
    assert_fails(
        &folder.run("tunnel clients list --clients none"),
        1,
        &["there is no clients' file none"],
    );
    assert_fails(&folder.run("tunnel serve --clients f --key-file k"), 2, &["cannot be used with"]);
}

/// Two clients of one server, of which one is revoked.
const MANY: &str = r#"
$exm tunnel clients add a --key-file a.key --network 10.77.0.0/16 >/dev/null 2>&1
$exm tunnel clients add b --key-file b.key >/dev/null 2>&1
$exm tunnel serve --clients clients.toml --json >summary 2>server & server=$!
# Not by the function, which a shell would run as a program of its own.
nsenter --net=/proc/$other/ns/net $exm tunnel connect 192.0.2.1 --key-file a.key --route 203.0.113.1 \
    --device exma >/dev/null 2>a & a=$!
soon there ping -c 1 -W 1 10.77.0.1 && echo a is served
there $exm tunnel connect 192.0.2.1 --key-file b.key --route 203.0.113.2 --device exmb >/dev/null 2>b &
soon there ping -c 1 -W 1 10.77.1.1 && echo b is served
$exm tunnel clients revoke b 2>/dev/null
soon grep -q 'it was revoked there' b && echo b is revoked
there ping -c 1 -W 1 10.77.0.1 >/dev/null && echo a is still served
kill -INT $server; wait $server
kill $a; wait $a 2>/dev/null
grep -c '"connected": 1' summary
"#;

#[test]
fn a_server_follows_the_file_of_its_clients() {
    let Some(output) = between_networks("tunnel-many", MANY) else { return };
    assert_eq!(output, "a is served\nb is served\nb is revoked\na is still served\n1\n");
}
