#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `channels`."]

exm_fuzz::target!(channels);
