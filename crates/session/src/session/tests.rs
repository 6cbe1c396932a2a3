use super::*;
use crate::stats::State;
use crate::traffic::{Mailbox, WhenFull};
use exm_os::Waiter;
use rustix::io::Errno;

fn mailbox() -> Mailbox {
    Mailbox::new(Bytes::new(100_000), WhenFull::Refuse)
}

/// How often each of a hundred datagrams was delivered, by its first byte.
fn times(traffic: &Mailbox) -> [u32; 100] {
    let mut times = [0; 100];
    traffic.delivered.iter().for_each(|payload| times[usize::from(payload[0])] += 1);
    times
}

/// Serves `sessions` until `done`; panics after ten seconds.
fn serve(
    sessions: &mut [Session; 2],
    traffic: &mut [Mailbox; 2],
    done: impl Fn(&[Session; 2], &[Mailbox; 2]) -> bool,
) {
    let clock = sessions[0].clock();
    let waiter = Waiter::new(clock, Span::ZERO);
    let end = clock.now() + Span::from_secs(10);
    while !done(sessions, traffic) {
        assert!(clock.now() < end, "timed out: {:?}", sessions[0].counters());
        for (session, traffic) in sessions.iter_mut().zip(&mut *traffic) {
            session.service(traffic);
        }
        let wake = sessions.iter().map(Session::next_wake).min().unwrap_or(end);
        waiter.wait(sessions.each_ref().map(AsFd::as_fd), wake.min(end)).expect("it waits");
    }
}

#[test]
fn socket_errors_are_counted_and_do_not_end_the_session() {
    let (clock, key) = (Clock::start(), Key::from_bytes([1; 16]));
    let (settings, local) = (Settings::default(), Some([127, 0, 0, 1].into()));
    let server = Session::listen(clock, key.clone(), settings, local, PortRange::single(0));
    let server = server.expect("a free port");
    let address = server.local_address().expect("it is bound");
    let client = Session::connect(clock, key, settings, vec![address]).expect("a socket");
    let mut sessions = [client, server];
    let mut traffic = [mailbox(), mailbox()];
    serve(&mut sessions, &mut traffic, |sessions, _| {
        sessions.iter().all(|session| session.stats().state == State::Established)
    });

    // The last one is used first: the first three are retried, the others are lost.
    let errors = [
        Errno::MSGSIZE,
        Errno::PERM,
        Errno::CONNREFUSED,
        Errno::NETDOWN,
        Errno::HOSTUNREACH,
        Errno::NETUNREACH,
        Errno::AGAIN,
        Errno::NOBUFS,
        Errno::NOBUFS,
    ];
    sessions[0].injected = errors.to_vec();
    for number in 0..100 {
        traffic[0].queue.try_send(vec![number; 100]).expect("room");
    }
    serve(&mut sessions, &mut traffic, |sessions, traffic| {
        let errors = sessions[0].injected_errors;
        let arrived = times(&traffic[1]).iter().filter(|&&times| times == 1).count();
        errors.total() == 9 && arrived >= 94
    });
    assert!(times(&traffic[1]).iter().all(|&times| times <= 1), "none is delivered twice");
    let errors = sessions[0].injected_errors;
    let counted = [errors.full, errors.unreachable, errors.refused];
    assert_eq!((counted, errors.too_large, errors.other), ([3, 3, 1], 1, 1));
    assert_eq!(sessions[0].stats().state, State::Established);
}

#[test]
fn a_datagram_without_buffer_space_is_retried_and_then_lost() {
    let (clock, key) = (Clock::start(), Key::from_bytes([1; 16]));
    let address = "192.0.2.1:9".parse().expect("an address");
    let mut client =
        Session::connect(clock, key, Settings::default(), vec![address]).expect("a socket");
    client.injected = vec![Errno::NOBUFS; 1000];
    client.service(&mut mailbox());
    assert_eq!((client.unsent.is_some(), client.injected_errors.full), (true, 1));
    let soon = client.next_wake().saturating_since(clock.now());
    assert!(soon <= RETRY, "it is retried in {soon}");
    let (since, path) = client.unsent.expect("it is kept for a retry");
    assert!(!client.send(since + RETRIED, since, path));
    assert!(client.unsent.is_none(), "it was given up");
}
