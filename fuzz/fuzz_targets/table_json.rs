#![cfg_attr(fuzzing, no_main)]
#![doc = "The fuzz target `table_json`."]

exm_fuzz::target!(table_json);
