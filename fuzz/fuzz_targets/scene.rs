#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `scene`."]

exm_fuzz::target!(scene);
