//! One look at each part of WASI.

use serde_json::{Value, json};
use wasip2::cli::{environment, stdin, stdout, terminal_stdout};
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::filesystem::preopens::get_directories;
use wasip2::io::streams::StreamError;
use wasip2::random::{insecure, insecure_seed, random};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

/// How long the one wait is, in nanoseconds.
const WAIT_NS: u64 = 5_000_000;

pub(crate) fn around() -> Value {
    json!({
        "environment": environment::get_environment(),
        "arguments": environment::get_arguments(),
        "folder": environment::initial_cwd(),
        "folders": get_directories().len(),
        "input": input(),
        "output": output(),
        "terminal": terminal_stdout::get_terminal_stdout().is_some(),
        "clock": clock(),
        "random": random::get_random_bytes(8),
        "insecure": insecure::get_insecure_random_bytes(8),
        "seed": insecure_seed::insecure_seed().0.to_string(),
        "tcp": tcp(),
        "udp": udp(),
        "name": name(),
    })
}

fn input() -> Value {
    match stdin::get_stdin().blocking_read(16) {
        Ok(bytes) => json!(bytes.len()),
        Err(StreamError::Closed) => json!("ended"),
        Err(StreamError::LastOperationFailed(_)) => json!("failed"),
    }
}

fn output() -> Value {
    let written = stdout::get_stdout().blocking_write_and_flush(b"a line for the log\n");
    json!(written.is_ok())
}

fn clock() -> Value {
    let wall = wall_clock::now();
    let before = monotonic_clock::now();
    monotonic_clock::subscribe_duration(WAIT_NS).block();
    let waited = monotonic_clock::now().saturating_sub(before);
    json!({"seconds": wall.seconds, "nanoseconds": wall.nanoseconds, "began": before, "waited": waited})
}

fn tcp() -> Value {
    let socket = match create_tcp_socket(IpAddressFamily::Ipv4) {
        Ok(socket) => socket,
        Err(code) => return json!(format!("{code:?}")),
    };
    let address = IpSocketAddress::Ipv4(Ipv4SocketAddress { port: 80, address: (127, 0, 0, 1) });
    let connected = socket.start_connect(&instance_network(), address).and_then(|()| {
        socket.subscribe().block();
        socket.finish_connect().map(|_| ())
    });
    json!(connected.map(|()| "open".to_owned()).unwrap_or_else(|code| format!("{code:?}")))
}

fn udp() -> Value {
    let opened = create_udp_socket(IpAddressFamily::Ipv4);
    json!(opened.map(|_| "open".to_owned()).unwrap_or_else(|code| format!("{code:?}")))
}

fn name() -> Value {
    let found = resolve_addresses(&instance_network(), "localhost").and_then(|stream| {
        stream.subscribe().block();
        stream.resolve_next_address().map(|_| ())
    });
    json!(found.map(|()| "found".to_owned()).unwrap_or_else(|code| format!("{code:?}")))
}
