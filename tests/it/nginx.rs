//! nginx, a server that we did not write, crawled over HTTP/1.1 and over HTTP/2 with TLS: redirects, gzip,
//! a listing of files, 404, and a rate limit that answers 503. What was asked when, its log says.
//!
//! Skipped, with words, where there is no nginx (`APPRENTICE_NGINX` names one that is not on the path).

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use apprentice::proto::v1;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::support::daemon::{Home, create, eventually, rows, toy};

/// Between two requests to a host.
const DELAY_MS: u64 = 300;

/// A running nginx; ended when it is dropped.
struct Nginx {
    process: Child,
    folder: tempfile::TempDir,
    plain: u16,
    tls: u16,
    authority_pem: String,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, if there is one.
fn program() -> Option<PathBuf> {
    let named = std::env::var_os("APPRENTICE_NGINX").map(PathBuf::from);
    let program = named.unwrap_or_else(|| PathBuf::from("nginx"));
    let tried = Command::new(&program)
        .arg("-v")
        .stderr(Stdio::null())
        .status();
    tried
        .is_ok_and(|status| status.success())
        .then_some(program)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn write_site(root: &Path) {
    let links = ["/large.html", "/moved", "/gone", "/files/", "/busy/1"];
    let links: String = links.iter().fold(String::new(), |mut html, to| {
        write!(html, "<a href={to}>x</a>").unwrap();
        html
    });
    fs::create_dir_all(root.join("files")).unwrap();
    fs::create_dir_all(root.join("busy")).unwrap();
    for (name, html) in [
        ("index.html", format!("<p>start</p>{links}")),
        (
            "large.html",
            format!("<p>{}", "bees and honey ".repeat(5_000)),
        ),
        ("target.html", "<p>moved here".to_owned()),
        ("files/one.html", "<p>one".to_owned()),
        ("busy/1", "<p>busy".to_owned()),
        (
            "robots.txt",
            "User-agent: *\nDisallow: /private\n".to_owned(),
        ),
    ] {
        fs::write(root.join(name), html).unwrap();
    }
}

/// A certificate for `secure.test`, written as files; gives that of its authority.
fn write_certificate(folder: &Path) -> String {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["secure.test".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    authority.pem()
}

impl Nginx {
    async fn start(program: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().display().to_string();
        write_site(&folder.path().join("site"));
        let authority_pem = write_certificate(folder.path());
        let (plain, tls) = (free_port(), free_port());
        // The limit lets the first request to /busy/ through and answers 503 to the next within a minute:
        // the crawl of the second host meets it.
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
            events {{ }}
            http {{
              log_format times '$msec $request_time $host $status $server_protocol '
                'c=$sent_http_content_encoding $request_uri';
              access_log {at}/access.log times;
              client_body_temp_path {at}/1; proxy_temp_path {at}/2; fastcgi_temp_path {at}/3;
              uwsgi_temp_path {at}/4; scgi_temp_path {at}/5;
              limit_req_zone $server_port zone=busy:1m rate=1r/m;
              default_type text/html; gzip on; gzip_types text/html;
              server {{
                listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl http2;
                ssl_certificate {at}/cert.pem; ssl_certificate_key {at}/key.pem;
                root {at}/site;
                location = /moved {{ return 301 /target.html; }}
                location /files/ {{ autoindex on; }}
                location /busy/ {{ limit_req zone=busy; limit_req_status 503;
                  add_header Retry-After 1 always; }}
              }}
            }}"
        );
        let path = folder.path().join("nginx.conf");
        fs::write(&path, config).unwrap();
        let process = Command::new(program)
            .args(["-p", &at, "-c"])
            .arg(&path)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let nginx = Self {
            process,
            folder,
            plain,
            tls,
            authority_pem,
        };
        eventually("nginx serves", async || {
            tokio::net::TcpStream::connect(("127.0.0.1", tls))
                .await
                .ok()
        })
        .await;
        nginx
    }

    /// What it has answered.
    fn log(&self) -> Vec<Asked> {
        let log = fs::read_to_string(self.folder.path().join("access.log")).unwrap();
        let asked = log.lines().map(|line| {
            let mut parts = line.split(' ');
            let mut next = || parts.next().unwrap().to_owned();
            let ms = |seconds: String| {
                let ms: i64 = seconds.replace('.', "").parse().unwrap();
                ms
            };
            let (ended_ms, took_ms) = (ms(next()), ms(next()));
            Asked {
                began_ms: ended_ms - took_ms,
                ended_ms,
                host: next(),
                status: next(),
                protocol: next(),
                coding: next(),
                path: next(),
            }
        });
        asked.collect()
    }
}

#[derive(Debug)]
struct Asked {
    began_ms: i64,
    ended_ms: i64,
    host: String,
    status: String,
    protocol: String,
    coding: String,
    path: String,
}

/// Every page was asked for, by the right protocol, and each host left alone between.
fn assert_crawled(asked: &[Asked]) {
    for (host, protocol) in [("plain.test", "HTTP/1.1"), ("secure.test", "HTTP/2.0")] {
        let here: Vec<&Asked> = asked.iter().filter(|asked| asked.host == host).collect();
        assert!(
            here.iter().all(|asked| asked.protocol == protocol),
            "{here:?}"
        );
        let status = |path: &str| {
            let found = here.iter().find(|asked| asked.path == path);
            found.map_or("unasked", |asked| asked.status.as_str())
        };
        for (path, expected) in [
            ("/robots.txt", "200"),
            ("/large.html", "200"),
            ("/moved", "301"),
            ("/target.html", "200"),
            ("/gone", "404"),
            ("/files/", "200"),
            ("/files/one.html", "200"),
        ] {
            assert_eq!(status(path), expected, "{host}{path}");
        }
        let large = here.iter().find(|asked| asked.path == "/large.html");
        assert_eq!(large.unwrap().coding, "c=gzip");
        for pair in here.windows(2) {
            let gap = pair[1].began_ms - pair[0].ended_ms;
            // The clocks of two processes, cut to milliseconds.
            assert!(
                gap >= i64::try_from(DELAY_MS).unwrap() - 2,
                "{gap} ms: {pair:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nginx_is_crawled_over_both_protocols_and_left_alone_between() {
    let Some(program) = program() else {
        eprintln!("skipped: there is no nginx here (Debian: apt-get install nginx)");
        return;
    };
    let nginx = Nginx::start(&program).await;
    let home = Home::new();
    let authority = home.path("authority.pem");
    fs::write(&authority, &nginx.authority_pem).unwrap();
    let (plain, tls) = (nginx.plain, nginx.tls);
    let resolve = |host: &str, port: u16| format!("{host}.test:{port}:127.0.0.1");
    let daemon = home
        .daemon(&[
            "--ca-file",
            authority.to_str().unwrap(),
            "--resolve",
            &resolve("plain", plain),
            "--resolve",
            &resolve("secure", tls),
        ])
        .await;
    let mut client = daemon.client().await;
    let mut spec = home.spec("crawl", &toy());
    "me@example.org".clone_into(&mut spec.contact);
    spec.seeds = vec![
        format!("http://plain.test:{plain}/"),
        format!("https://secure.test:{tls}/"),
        format!("https://secure.test:{tls}/busy/1?again"),
    ];
    spec.limits = Some(v1::Limits {
        delay_ms_min: Some(DELAY_MS),
        delay_factor: Some(0),
        ..Default::default()
    });
    let scope = spec.scope.get_or_insert_default();
    scope.allow_addresses = vec!["127.0.0.0/8".to_owned()];
    // Both hosts are the same site.
    scope.follow_copies = true;
    create(&mut client, spec).await;
    let asked = eventually("both sites are crawled but for what is busy", async || {
        let log = nginx.log();
        let busy = log.iter().filter(|asked| asked.status == "503").count();
        let listed = log.iter().filter(|asked| asked.path == "/files/one.html");
        (busy >= 2 && listed.count() == 2).then_some(log)
    })
    .await;
    assert_crawled(&asked);
    // Retry-After: 1.
    let busy: Vec<&Asked> = asked.iter().filter(|asked| asked.status == "503").collect();
    assert!(busy[1].began_ms - busy[0].ended_ms >= 998, "{busy:?}");
    let pages = rows(&mut client, "crawl", false).await;
    let large = pages.iter().filter(|row| row.url.ends_with("/large.html"));
    let bytes: Vec<u64> = large.map(|row| row.body_bytes).collect();
    // What was written, unzipped.
    assert_eq!(bytes, [15 * 5_000 + 3; 2]);
    daemon.stop().await;
}
