//! Controllers whose design ranges are known.

use crate::{outside, tables};
use exm_design::DesignRanges;
use exm_remy::RemyCc;
use exm_sim::controllers::AnyController;
use std::path::Path;

/// The controller from outside called `name`, or else the RemyCC of this table, or at `path` if it is that of a
/// file; its design range is added to `ranges`.
pub(crate) fn controller(
    ranges: &mut DesignRanges,
    name: &str,
    path: &Path,
) -> Result<AnyController, String> {
    if let Some(outside) = outside::controller(name, path) {
        return outside;
    }
    let file = tables::for_controller(name, path)?;
    ranges.note(name, &file);
    Ok(RemyCc::new(&file.table).into())
}
