#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `sprout_header`."]

exm_fuzz::target!(sprout_header);
