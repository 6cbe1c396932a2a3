#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `dna`."]

exm_fuzz::target!(dna);
