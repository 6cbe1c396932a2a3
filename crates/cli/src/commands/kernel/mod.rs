//! `exm kernel`: tables as congestion control of the Linux kernel.

mod list;
mod load;
mod replace;
mod show;
mod trying;
mod unload;

use crate::commands::subcommands;

const EXAMPLES: &str = "\
A table that is loaded is a congestion control of TCP like any other: programs choose it by its name,
for the connections that they open from then on. It takes root and Linux 6.4 or later.

Examples:
  exm kernel load coexist --name remy1
  iperf3 -C remy1 -c HOST
  sysctl net.ipv4.tcp_congestion_control=remy1
  ip route change default via GATEWAY congctl remy1
  exm kernel show remy1
  exm kernel try HOST coexist --duration 60s --key-file key";

subcommands! {
    /// Run tables in the Linux kernel, as congestion control of TCP
    {
        Load(load),
        Unload(unload),
        Replace(replace),
        List(list),
        Show(show),
        Try(trying),
    }
}
