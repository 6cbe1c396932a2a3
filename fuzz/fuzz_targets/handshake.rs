#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `handshake`."]

exm_fuzz::target!(handshake);
