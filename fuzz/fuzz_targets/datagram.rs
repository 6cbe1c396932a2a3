#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `datagram`."]

exm_fuzz::target!(datagram);
