#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `tunnel_packet`."]

exm_fuzz::target!(tunnel_packet);
