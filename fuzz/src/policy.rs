//! The fuzz target `policy`.

use exm_policy::{Interface, Layer, Mlp, Policy};

/// A policy's file with some of its bytes replaced, three bytes of the input for each: where, and by what.
pub fn run(bytes: &[u8]) {
    let mut file = sound().into_bytes();
    for change in bytes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        file[place] = change[2];
    }
    let Ok(text) = str::from_utf8(&file) else { return };
    let Ok(policy) = Policy::from_json(text) else { return };
    assert_eq!(Policy::from_json(&policy.to_json()).expect("it was written here"), policy);
    let inputs = vec![f32::MAX; policy.interface().inputs()];
    let mut actions = vec![0.0; policy.interface().outputs()];
    policy.mlp().evaluate(&inputs, &mut actions);
    assert!(actions.iter().all(|action| action.abs() <= 1.0));
}

/// The file of a small policy.
fn sound() -> String {
    let interface = Interface { history: 1, ..Interface::default() };
    let hidden = Layer { weights: vec![vec![0.5, -1.0, 2.0]; 2], bias: vec![0.0, 1.0] };
    let last = Layer { weights: vec![vec![1.0, -1.0]], bias: vec![0.25] };
    let layers = [hidden, last];
    let mlp = Mlp::new(&layers, Default::default(), interface.inputs(), interface.outputs());
    let policy =
        Policy::new(interface, mlp.expect("its layers fit")).expect("they fit the interface");
    policy.to_json()
}
