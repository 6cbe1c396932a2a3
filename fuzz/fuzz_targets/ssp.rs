#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `ssp`."]

exm_fuzz::target!(ssp);
