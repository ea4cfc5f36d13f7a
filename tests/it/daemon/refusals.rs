//! What a daemon does not start with: one line that says what, where and what to do.

use std::fs;
use std::net::TcpListener;

use crate::support::daemon::Home;

/// The line of a daemon that did not start.
#[track_caller]
fn refused(home: &Home, args: &[&str]) -> String {
    let said = home.run(&[&["daemon"], args].concat());
    said.error(1).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_daemon_on_the_same_data_is_told_who_has_them() {
    let home = Home::new();
    let first = home.daemon(&[]).await;
    // Another socket is no way round the lock.
    let line = refused(&home, &["--socket", "other.sock"]);
    let holder = format!("(process {})", first.id());
    assert!(line.contains(&holder), "{line}");
    assert!(line.contains(&home.data().display().to_string()), "{line}");
    assert!(line.contains("--data"), "{line}");
    assert!(home.socket().exists(), "the first one's socket is gone");
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_another_daemon_serves_is_left_to_it() {
    let home = Home::new();
    let first = home.daemon(&[]).await;
    let other = Home::new();
    let socket = home.socket().display().to_string();
    let line = refused(&other, &["--socket", &socket]);
    assert!(line.contains("in use by another daemon"), "{line}");
    first.client().await;
    first.stop().await;
}

#[test]
fn a_socket_path_that_the_system_cannot_take_is_told_with_its_length() {
    let home = Home::new();
    let long = format!("/tmp/{}", "x".repeat(103));
    let line = refused(&home, &["--socket", &long]);
    assert!(line.contains("108 bytes") && line.contains("107"), "{line}");
}

#[test]
fn a_file_where_the_socket_should_be_is_not_removed() {
    let home = Home::new();
    let file = home.path("precious");
    fs::write(&file, "keep").unwrap();
    let line = refused(&home, &["--socket", "precious"]);
    assert!(line.contains("precious exists and is no socket"), "{line}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "keep");
}

#[test]
fn a_socket_in_a_folder_that_does_not_exist_is_told() {
    let home = Home::new();
    let line = refused(&home, &["--socket", "nowhere/daemon.sock"]);
    assert!(line.contains("nowhere/daemon.sock"), "{line}");
}

#[test]
fn a_tcp_address_in_use_is_named_and_leaves_no_socket() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = refused(&home, &["--tcp", &address]);
    assert!(line.contains(&address) && line.contains("in use"), "{line}");
    assert!(!home.socket().exists());
}

#[test]
fn control_from_other_machines_needs_tls_and_a_token() {
    let home = Home::new();
    let line = refused(&home, &["--tcp", "0.0.0.0:0"]);
    assert!(line.contains("0.0.0.0:0 is not loopback"), "{line}");
    assert!(
        line.contains("--tls-cert") && line.contains("--token-file"),
        "{line}"
    );
}

#[test]
fn a_tls_identity_that_cannot_be_used_is_told_at_the_start() {
    let home = Home::new();
    fs::write(home.path("cert.pem"), "no certificate").unwrap();
    fs::write(home.path("key.pem"), "no key").unwrap();
    let files = ["--tls-cert", "cert.pem", "--tls-key"];
    for key in ["key.pem", "missing.pem"] {
        let line = refused(
            &home,
            &[&["--tcp", "127.0.0.1:0"], &files[..], &[key]].concat(),
        );
        assert!(line.contains("TLS identity of cert.pem and"), "{line}");
        assert!(line.contains(key), "{line}");
        assert!(!home.socket().exists());
    }
}

#[test]
fn a_token_that_is_too_short_is_refused() {
    let home = Home::new();
    fs::write(home.path("token"), "short\n").unwrap();
    let line = refused(&home, &["--tcp", "127.0.0.1:0", "--token-file", "token"]);
    assert!(
        line.contains("token file token") && line.contains("16"),
        "{line}"
    );
}

#[test]
fn a_data_directory_that_cannot_be_made_is_named() {
    let home = Home::new();
    fs::write(home.path("file"), "").unwrap();
    let line = refused(&home, &["--data", "file/data"]);
    assert!(
        line.contains("file/data") && line.contains("--data"),
        "{line}"
    );
}

#[test]
fn a_proxy_that_is_not_loopback_is_no_archive_proxy() {
    let home = Home::new();
    let line = refused(&home, &["--archive-proxy", "http://192.0.2.1:8080"]);
    assert!(
        line.contains("192.0.2.1") && line.contains("loopback"),
        "{line}"
    );
}
