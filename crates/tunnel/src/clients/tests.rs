//! The file of clients.

use super::*;
use proptest::prelude::*;
use std::os::unix::fs::MetadataExt;

fn network(text: &str) -> Network {
    Network::new(text.parse().expect("a network")).expect("an assignable one")
}

fn clients(text: &str) -> Clients {
    Clients::new(network(text)).expect("large enough")
}

#[test]
fn a_file_is_read_as_it_was_written() {
    let mut all = clients("10.77.0.0/16");
    for name in ["alice", "bob", "phone-2.home"] {
        all.add(name).expect("there is room");
    }
    let again = Clients::parse("clients.toml", &all.to_text()).expect("it is well-formed");
    assert_eq!(again, all);
    let empty = clients("10.77.0.0/24");
    assert_eq!(Clients::parse("clients.toml", &empty.to_text()).ok(), Some(empty));
}

#[test]
fn a_lease_stays_until_it_is_revoked() {
    let mut all = clients("10.77.0.0/24");
    let address = |all: &mut Clients, name: &str| {
        all.add(name).map(|lease| lease.network.client().to_string()).map_err(|e| e.to_string())
    };
    assert_eq!(address(&mut all, "a").as_deref(), Ok("10.77.0.2"));
    assert_eq!(address(&mut all, "b").as_deref(), Ok("10.77.0.6"));
    let key = all.leases()[0].key.clone();
    assert!(address(&mut all, "a").is_err_and(|error| error.contains("already")));
    let revoked = all.revoke("a").expect("it is there");
    assert_eq!(revoked.key, key);
    assert!(all.revoke("a").is_err_and(|error| error.to_string().ends_with("the clients are b")));
    assert_eq!(address(&mut all, "c").as_deref(), Ok("10.77.0.2"));
    for number in 2..64 {
        address(&mut all, &format!("n{number}")).expect("there is room");
    }
    let error = address(&mut all, "last").expect_err("all are leased");
    assert!(error.contains("all 64 addresses of the network 10.77.0.0/24"), "{error}");
    assert!(Clients::new(network("10.77.0.0/25")).is_err());
    for wrong in ["", "-x", "a b", "a\"", "é", &"x".repeat(65)] {
        assert!(matches!(all.add(wrong), Err(ClientsError::Name(_))), "{wrong}");
    }
}

/// Each error says where and what, and shows no key.
#[test]
fn a_malformed_file_is_refused() {
    const KEY: &str = "AAECAwQFBgcICQoLDA0ODw";
    let good = format!(
        "network = \"10.77.0.0/16\"\n[[client]]\nname = \"a\"\naddress = \"10.77.0.2\"\nkey = \"{KEY}\"\n"
    );
    assert!(Clients::parse("f", &good).is_ok());
    let other =
        "[[client]]\nname = \"b\"\naddress = \"10.77.1.2\"\nkey = \"AAECAwQFBgcICQoLDA0OEA\"\n";
    assert!(Clients::parse("f", &format!("{good}{other}")).is_ok());
    for (from, to, expected) in [
        ("name =", "nmae =", "f:3: there is no key \"nmae\" here"),
        ("network =", "port = 5\nnetwork =", "f:1: there is no key \"port\""),
        ("/16", "/25", "f:1: give an IPv4 network with a prefix of 8 to 24 bits"),
        ("10.77.0.2", "10.77.0.3", "f:4: \"10.77.0.3\" is no address for a client"),
        ("10.77.0.2", "10.78.0.2", "f:4: \"10.78.0.2\" is no address"),
        ("\"a\"", "\"a b\"", "f:3: \"a b\" is no name"),
        ("DA0ODw", "DA0OD", "f:5: this is no key"),
        ("DA0ODw\"", "DA0ODw", "f:5: "),
        ("key = \"AAEC", "key = \"\\q", "f:5: "),
        ("[[client]]", "x", "f:2: "),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        let error = Clients::parse("f", &text).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error} instead of {expected}");
        assert!(!error.contains("CAwQF"), "{error}");
    }
    for (from, to, expected) in [
        ("\"b\"", "\"a\"", "f:7: the client \"a\" has this name"),
        ("10.77.1.2", "10.77.0.2", "f:8: the client \"a\" has this address"),
        ("DA0OEA", "DA0ODw", "f:9: the client \"a\" has this key"),
    ] {
        let text = format!("{good}{}", other.replacen(from, to, 1));
        let error = Clients::parse("f", &text).expect_err(expected).to_string();
        assert!(error.contains(expected) && !error.contains("CAwQF"), "{error}");
    }
}

#[test]
fn a_file_is_changed_atomically_and_private() {
    let folder = std::env::temp_dir().join(format!("exm-clients-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let file = folder.join("clients.toml");
    assert!(matches!(Clients::load(&file), Err(ClientsError::Missing(_))));
    let add = |name: &str| {
        Clients::change(&file, |before| {
            let mut all = before.unwrap_or_else(|| clients("10.77.0.0/16"));
            let lease = all.add(name)?.clone();
            Ok((all, lease))
        })
    };
    let first = add("a").expect("it is written");
    assert_eq!(fs::metadata(&file).expect("it is there").mode() & 0o777, 0o600);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("it is ours");
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || add(&format!("n{number}")).expect("it is written"));
        }
    });
    let all = Clients::load(&file).expect("it is well-formed");
    assert_eq!((all.leases().len(), &all.leases()[0]), (9, &first), "no change is lost");
    assert_eq!(fs::metadata(&file).expect("it is there").mode() & 0o777, 0o600);
    fs::write(&file, "network = 5").expect("it is ours");
    assert!(matches!(add("x"), Err(ClientsError::Malformed(_))));
    assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("network = 5"));
    fs::remove_dir_all(&folder).expect("it is ours");
}

proptest! {
    /// Whatever the text, it is parsed or refused, and what hides keys keeps all offsets.
    #[test]
    fn any_text_is_a_file_or_not(text in "[a-z=\"\\[\\]0-9./é\n ]{0,200}") {
        prop_assert_eq!(without_keys(&text).lines().count(), text.lines().count());
        prop_assert_eq!(without_keys(&text).len(), text.len());
        let _ = Clients::parse("f", &text);
    }
}
