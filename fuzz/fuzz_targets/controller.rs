#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `controller`."]

exm_fuzz::target!(controller);
