#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `trace_import`."]

exm_fuzz::target!(trace_import);
