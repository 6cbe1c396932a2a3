//! A table as an object of BPF, for the loaders of others.

use crate::algorithm::check_name;
use crate::error::KernelError;
use crate::image::Image;
use exm_remy::fixed::FixedTable;
use object::{Object, ObjectSection};

/// The program without a table, built from `bpf/alone.bpf.c` by `make kernel-object`.
const ALONE: &[u8] = include_bytes!("../bpf/alone.bpf.o");
/// The sections of the table and of the operations.
const IMAGE: &str = ".rodata.image";
const OPERATIONS: &str = ".struct_ops";
/// Where the name lies in the operations (`struct tcp_congestion_ops` of `bpf/kernel.h`), and its size.
const NAME_AT: usize = 48;
const NAME_SIZE: usize = 16;

/// An object of BPF that has `table` control the connections that choose `name`: for `bpftool struct_ops
/// register FILE`, libbpf, and other loaders of struct_ops, where its operations are called `remycc`. `label` is the table's name for people. It takes Linux 6.10
/// or later.
///
/// # Errors
/// [`KernelError::Name`] and [`KernelError::TooLarge`].
pub fn bpf_object(name: &str, table: &FixedTable, label: &str) -> Result<Vec<u8>, KernelError> {
    check_name(name)?;
    let Image(image) = Image::new(table, label)?;
    let mut bytes = ALONE.to_vec();
    let at = place(IMAGE);
    bytes[at..at + image.len()].copy_from_slice(&image);
    let at = place(OPERATIONS) + NAME_AT;
    bytes[at..at + NAME_SIZE].fill(0);
    bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
    Ok(bytes)
}

/// Where the section `name` begins in the object.
fn place(name: &str) -> usize {
    let file =
        object::File::parse(ALONE).expect("the test `the_prebuilt_object_has_room` reads it");
    let range = file.section_by_name(name).and_then(|section| section.file_range());
    range.expect("the test finds it").0 as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::SIZE;

    #[test]
    fn the_prebuilt_object_has_room() {
        let file = object::File::parse(ALONE).expect("an object of clang");
        let section = |name| file.section_by_name(name).expect(name);
        assert_eq!(section(IMAGE).size(), SIZE as u64);
        let at = place(OPERATIONS) + NAME_AT;
        assert_eq!(&ALONE[at..at + NAME_SIZE], b"remy\0\0\0\0\0\0\0\0\0\0\0\0");
    }
}
