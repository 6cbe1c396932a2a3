#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `policy`."]

exm_fuzz::target!(policy);
