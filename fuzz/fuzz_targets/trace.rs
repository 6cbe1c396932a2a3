#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `trace`."]

exm_fuzz::target!(trace);
