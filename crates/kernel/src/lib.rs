//! placeholder
#![cfg(target_os = "linux")]
mod btf;
mod error;
mod image;
mod loader;
mod object;

pub use error::KernelError;
pub use image::{TableInfo, TooLarge};

#[cfg(test)]
mod tests {
    use super::*;
    use exm_remy::{Action, RuleTable, SignalSet, fixed::FixedTable};
    #[test]
    fn loads() {
        let table = RuleTable::single(SignalSet::FIRST_FOUR, 1.0, Action { multiple: 0.0, increment: 20, intersend_ms: 1.0 });
        let table = FixedTable::new(&table, 7).expect("four signals");
        let image = image::Image::new(&table, "hello").unwrap();
        match loader::load("remy_test", &image) {
            Ok(_) => {
                let out = std::process::Command::new("sysctl").arg("net.ipv4.tcp_available_congestion_control").output().unwrap();
                println!("{}", String::from_utf8_lossy(&out.stdout));
            }
            Err(e) => panic!("{e}"),
        }
        println!("{}", loader::read_connections().unwrap().len());
    }
}
