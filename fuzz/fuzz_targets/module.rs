#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `module`."]

exm_fuzz::target!(module);
