#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `tunnel_message`."]

exm_fuzz::target!(tunnel_message);
