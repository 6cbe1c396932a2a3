#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `bench_message`."]

exm_fuzz::target!(bench_message);
