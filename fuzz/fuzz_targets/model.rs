#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `model`."]

exm_fuzz::target!(model);
