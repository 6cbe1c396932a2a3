#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `capture`."]

exm_fuzz::target!(capture);
