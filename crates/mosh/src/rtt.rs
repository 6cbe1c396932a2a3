//! What the datagram layer has measured, as the layer above wants it.

use exm_datagram::Session;
use exm_ssp::Rtt;

pub(crate) fn rtt(session: &Session) -> Rtt {
    let (estimate, unknown) = (session.rtt(), Rtt::default());
    match estimate.srtt() {
        Some(srtt) => Rtt { srtt, timeout: estimate.timeout() },
        None => unknown,
    }
}
