//! [`ControlSocket`]: the control socket of a running tunnel, where there can be one.

use crate::shell::note;
use exm_os::runtime_folder;
use exm_tunnel::{Control, Status};
use exm_units::Instant;
use std::os::fd::{AsFd, BorrowedFd};

/// The control socket of a running tunnel, if it can have one: a tunnel works without.
pub(super) struct ControlSocket {
    control: Option<Control>,
    /// The device that it is named for.
    device: Option<String>,
}

impl ControlSocket {
    /// Creates it. Must be called before this process gives up its rights.
    pub(super) fn open() -> ControlSocket {
        let control = runtime_folder().and_then(Control::open);
        if let Err(error) = &control {
            note(&format!("\"exm tunnel status\" will not show this tunnel: {error}"));
        }
        ControlSocket { control: control.ok(), device: None }
    }

    /// A file that is readable when there is work.
    pub(super) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(AsFd::as_fd)
    }

    /// Does the work `now` of a tunnel with `device`, if its file was readable or it is time. Returns when to call it
    /// again.
    pub(super) fn update(
        &mut self,
        (now, alarmed): (Instant, bool),
        device: Option<&str>,
        status: impl FnMut() -> Status,
    ) -> Instant {
        let Some(control) = &mut self.control else { return Instant::MAX };
        if let Some(device) = device
            && self.device.as_deref() != Some(device)
        {
            // It keeps its name if that fails, by which it is found as well.
            let _ = control.set_device(device);
            self.device = Some(device.to_owned());
        }
        if alarmed || now >= control.next_wake() {
            control.service(now, status);
        }
        control.next_wake()
    }
}
