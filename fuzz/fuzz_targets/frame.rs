#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `frame`."]

exm_fuzz::target!(frame);
