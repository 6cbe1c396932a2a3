#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `roaming`."]

exm_fuzz::target!(roaming);
