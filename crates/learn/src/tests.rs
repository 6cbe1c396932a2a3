//! Environments against the simulator that they drive.

use crate::{
    ActionError, Environment, Learners, ResetError, Results, Reward, Settings, Source, Vector,
};
use exm_design::{Model, outcomes};
use exm_policy::{ActionSpace, Activation, Interface, Layer, Mlp, Observation, Policy};
use exm_sim::controllers::AnyController;
use exm_sim::engine::Simulation;
use exm_sim::network::Host;
use exm_units::Span;
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

/// Two senders that are on and off, on networks of any kind.
const MODEL: &str = r#"
    [network]
    rate = "1..20 Mbps"
    rtt = "20..200 ms"
    senders = 2
    buffer = "30 packets"
    loss = "0..1 %"
    [traffic]
    on = "exp 2 s"
    off = "exp 0.5 s"
    [design]
    duration = "8 s"
"#;

fn model() -> Model {
    Model::parse(MODEL, "the model").unwrap()
}

fn source() -> Source {
    Source::Model(Box::new(model()))
}

fn settings(interface: Interface) -> Settings {
    Settings {
        interface,
        reward: Reward::Objective,
        learners: Learners::All,
        others: AnyController::named("cubic").unwrap(),
        host: Host::Tcp,
        duration: None,
    }
}

/// A policy that does something different at each step.
fn policy(interface: Interface) -> Arc<Policy> {
    // Its actions are negative on average: rates that only grow would send millions of packets.
    let weight =
        |output: usize, input: usize| ((output * 31 + input * 17) % 13) as f64 / 13.0 - 0.6;
    let layer = |inputs: usize, outputs: usize| Layer {
        weights: (0..outputs).map(|o| (0..inputs).map(|i| weight(o, i)).collect()).collect(),
        bias: (0..outputs).map(|o| weight(o, 3)).collect(),
    };
    let (inputs, outputs) = (interface.inputs(), interface.outputs());
    let layers = [layer(inputs, 5), layer(5, outputs)];
    let mlp = Mlp::new(&layers, Activation::Tanh, inputs, outputs).unwrap();
    Arc::new(Policy::new(interface, mlp).unwrap())
}

/// Lets `policy` act in `environment` to the end of the episode. Returns the sum of rewards.
fn play(environment: &mut Environment, policy: &Policy) -> f64 {
    let interface = *policy.interface();
    let (inputs, outputs) = (interface.inputs(), interface.outputs());
    let mut total = 0.0;
    while !environment.has_ended() {
        let mut actions = vec![0.0; environment.learners() * outputs];
        for (learner, action) in actions.chunks_exact_mut(outputs).enumerate() {
            let mut room = vec![0.0; inputs];
            environment.observe(learner, &mut room);
            policy.act(&room, action);
        }
        environment.step(&actions).unwrap();
        total += (0..environment.learners()).map(|l| environment.reward(l)).sum::<f64>();
    }
    total
}

fn interfaces() -> impl Strategy<Value = Interface> {
    let interval = select(vec!["1 RTT", "0.5 RTT", "30 ms", "100 ms"]);
    let (observation, action) =
        (select(Observation::ALL.to_vec()), select(ActionSpace::ALL.to_vec()));
    (observation, 1usize..5, action, interval).prop_map(
        |(observation, history, action, interval)| {
            let interval = interval.parse().unwrap();
            Interface { observation, history, action, change: action.default_change(), interval }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// What it learns is what it does: a policy that acts in an environment gives the same report as the same policy as
    /// a controller.
    #[test]
    fn a_policy_does_as_a_controller_what_it_did_here(
        interface in interfaces(),
        seed in 0u64..1000,
        host in select(vec![Host::Tcp, Host::Bare]),
    ) {
        let policy = policy(interface);
        let settings = Settings { host, ..settings(interface) };
        let Ok(mut environment) = Environment::new(source(), settings, seed) else { return Ok(()) };
        play(&mut environment, &policy);
        let network = environment.simulation().network().clone();
        let network = network.changed(|_, flows| {
            for flow in flows {
                flow.transport = host.transport(AnyController::own(policy.controller()));
            }
        }).unwrap();
        let report = environment.report();
        let alone = Simulation::new(network, report.seed).finish();
        prop_assert_eq!(report.flows, alone.flows);
        prop_assert_eq!(report.links, alone.links);
    }

    #[test]
    fn vectors_are_environments_side_by_side(seed in 0u64..1000, action in -1f32..1.0) {
        let settings = Settings { learners: Learners::First, ..settings(Interface::default()) };
        let seeds = [seed, seed + 1, seed + 2];
        let mut vector = Vector::new(source(), settings.clone(), &seeds).unwrap();
        let mut observations = [0f32; 90];
        let (mut rewards, mut ended) = ([0.0; 3], [0; 3]);
        let mut alone: Vec<Vector> = seeds
            .iter()
            .map(|&seed| Vector::new(source(), settings.clone(), &[seed]).unwrap())
            .collect();
        for _ in 0..200 {
            vector.step(&[action; 3], Results {
                observations: &mut observations, rewards: &mut rewards, ended: &mut ended,
            }).unwrap();
            for (index, one) in alone.iter_mut().enumerate() {
                let (mut room, mut reward, mut end) = ([0f32; 30], [0.0], [0]);
                one.step(&[action], Results {
                    observations: &mut room, rewards: &mut reward, ended: &mut end,
                }).unwrap();
                prop_assert_eq!(&room[..], &observations[30 * index..][..30]);
                prop_assert_eq!((reward[0], end[0]), (rewards[index], ended[index]));
            }
        }
    }
}

#[test]
fn the_score_is_the_models() {
    for learners in [Learners::All, Learners::First] {
        let settings =
            Settings { learners, reward: Reward::Score, ..settings(Interface::default()) };
        let mut environment = Environment::new(source(), settings, 5).unwrap();
        let total = play(&mut environment, &policy(Interface::default()));
        let specimen = (0..9)
            .map(|number| model().specimens(5, number, 1).remove(0))
            .find(|specimen| specimen.seed == environment.report().seed)
            .expect("the environment drew one of these");
        let got = outcomes(environment.simulation().network(), &environment.report());
        let score = model().score(&specimen.network, &got);
        let own = model().sender_score(&specimen.network, 0, &got[0]);
        let expected = if learners == Learners::All { Some(score) } else { own };
        assert_eq!(environment.score(), expected);
        let count = environment.learners() as f64;
        assert!((total / count - environment.score().unwrap()).abs() < 1e-9);
    }
}

#[test]
fn a_return_is_the_objectives_integral_however_long_intervals_are() {
    // Alone on a link with half of it: the objective hardly changes.
    let model = r#"
        [network]
        rate = "10 Mbps"
        rtt = "50 ms"
        senders = 1
        [traffic]
        on = "always"
        [design]
        duration = "20 s"
    "#;
    let model = Model::parse(model, "the model").unwrap();
    let total = |interval: &str| {
        let interface = Interface {
            action: ActionSpace::Window,
            interval: interval.parse().unwrap(),
            ..Interface::default()
        };
        let source = Source::Model(Box::new(model.clone()));
        let mut environment = Environment::new(source, settings(interface), 1).unwrap();
        let mut total = 0.0;
        while !environment.has_ended() {
            environment.step(&[0.0]).unwrap();
            total += environment.reward(0);
        }
        total
    };
    let (short, long) = (total("50 ms"), total("400 ms"));
    assert!((short / long - 1.0).abs() < 0.02, "{short} and {long}");
}

/// A sender that fills an unlimited queue gets no ACK of its next flows for seconds, and their intervals are cut off:
/// none of that may pay.
#[test]
fn senders_that_fill_queues_are_rewarded_as_they_are_scored() {
    let model = r#"
        [network]
        rate = "10 Mbps"
        rtt = "50 ms"
        senders = 1
        buffer = "unlimited"
        [traffic]
        on = "exp 1 s"
        off = "exp 0.2 s"
        [objective]
        delta = 1
        [design]
        duration = "40 s"
    "#;
    let model = Model::parse(model, "the model").unwrap();
    let interface = Interface { action: ActionSpace::Window, ..Interface::default() };
    let both = |action: f32| {
        let source = Source::Model(Box::new(model.clone()));
        let mut environment = Environment::new(source, settings(interface), 1).unwrap();
        let mut total = 0.0;
        while !environment.has_ended() {
            environment.step(&[action]).unwrap();
            total += environment.reward(0);
        }
        let on = environment.simulation().on_time(0).as_secs_f64();
        (total / on, environment.score().unwrap())
    };
    for action in [0.0, 1.0] {
        let (reward, score) = both(action);
        assert!((reward - score).abs() < 1.0, "{action}: {reward} and {score}");
    }
}

#[test]
fn what_is_no_action_changes_nothing() {
    let mut environment = Environment::new(source(), settings(Interface::default()), 1).unwrap();
    let before = environment.report();
    let number = environment.step(&[0.0, f32::NAN]).unwrap_err();
    assert!(matches!(number, ActionError::Number { index: 1, .. }));
    assert_eq!(environment.step(&[0.0]), Err(ActionError::Size { got: 1, expected: 2 }));
    assert_eq!(environment.report().events, before.events);
    while !environment.has_ended() {
        environment.step(&[0.0, 0.0]).unwrap();
    }
    assert_eq!(environment.step(&[0.0, 0.0]), Err(ActionError::Ended));
}

#[test]
fn an_environment_in_which_nobody_acts_says_so() {
    let settings =
        Settings { duration: Some(Span::from_millis(1)), ..settings(Interface::default()) };
    let error = Environment::new(source(), settings, 1).unwrap_err();
    assert_eq!(error, ResetError::NobodyLearns(1000));
}

#[test]
fn a_flow_of_a_network_learns() {
    let specimen = model().specimens(3, 0, 1).remove(0);
    let cubic = Host::Tcp.transport(AnyController::named("cubic").unwrap());
    let network = model().network(&specimen.network, &cubic).unwrap();
    let source = |flows| Source::Network { network: Box::new(network.clone()), flows };
    let settings = || settings(Interface::default());
    let mut environment = Environment::new(source(vec![1]), settings(), 1).unwrap();
    assert_eq!((environment.learners(), environment.flow(0)), (1, 1));
    while !environment.has_ended() {
        environment.step(&[0.5]).unwrap();
    }
    assert_eq!(environment.score(), None);
    let error = Environment::new(source(vec![2]), settings(), 1).unwrap_err();
    assert_eq!(error, ResetError::NoSuchFlow { flow: 2, flows: 2 });
}
