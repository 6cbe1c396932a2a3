#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `saturator`."]

exm_fuzz::target!(saturator);
