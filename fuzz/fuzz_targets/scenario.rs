#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `scenario`."]

exm_fuzz::target!(scenario);
