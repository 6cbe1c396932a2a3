//! A transfer over quinn.

use crate::common::{Job, Link, Report, Result, certificate, now};
use exm_quic::Factory;
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Sends `job` over `link`, from a client to a server.
pub(crate) async fn run(job: Job, link: Link) -> Result<Report> {
    let mut transport = TransportConfig::default();
    // This is all that a program of one's own needs.
    transport.congestion_controller_factory(Arc::new(Factory::new(job.controller)?));
    transfer(transport, job.bytes, link).await
}

/// Sends `bytes` by `transport` over `link`, from a client to a server.
pub(crate) async fn transfer(
    transport: TransportConfig,
    bytes: usize,
    link: Link,
) -> Result<Report> {
    let (certificate, key) = certificate()?;
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key)?;
    let server = Endpoint::server(config, SocketAddr::from(LOCAL))?;
    let address = link.before(server.local_addr()?)?;
    let receiver = tokio::spawn(receive(server, bytes));

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(Arc::new(transport));
    let client = Endpoint::client(SocketAddr::from(LOCAL))?;
    let connection = client.connect_with(config, address, "localhost")?.await?;

    let start = now();
    send(&connection, bytes).await?;
    receiver.await??;
    let stats = connection.stats().path;
    connection.close(0u8.into(), b"done");
    Ok(Report {
        bytes,
        took: start.elapsed(),
        rtt: stats.rtt,
        window: stats.cwnd,
        lost: stats.lost_packets,
    })
}

async fn send(connection: &Connection, bytes: usize) -> Result<()> {
    let mut stream = connection.open_uni().await?;
    stream.write_all(&vec![0; bytes]).await?;
    stream.finish()?;
    Ok(())
}

async fn receive(server: Endpoint, bytes: usize) -> Result<()> {
    let connection = server.accept().await.ok_or("the server was closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let received = stream.read_to_end(bytes).await?.len();
    if received != bytes {
        return Err(format!("{received} of {bytes} bytes arrived").into());
    }
    Ok(())
}
