#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `terminal`."]

exm_fuzz::target!(terminal);
