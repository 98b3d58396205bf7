//! The server's flags.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::body::BodyLimits;
use super::cgroup;
use super::drain::DrainSettings;
use super::duration::parse_duration;
use super::listener::ConnectionLimits;
use super::memory::ReviewLimits;
use super::tls::{CertFiles, TlsError, self_signed};
use crate::telemetry::LogFormat;

/// Flags of everything that listens. Durations are written as in Go: `500ms`, `10s`, `1m30s`.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("certificate").required(true).args(["tls_cert", "tls_self_signed"]))]
pub struct ServerArgs {
    /// Address and port of the webhook server (HTTPS).
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8443", env = "USHER_BIND", value_parser = address)]
    pub bind: SocketAddr,

    /// Address and port for probes and metrics (plain HTTP): /livez /readyz /healthz /metrics /version.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080", env = "USHER_ADMIN_BIND", value_parser = address)]
    pub admin_bind: SocketAddr,

    /// PEM file with the server's certificate, followed by intermediate ones. Replaced while running when the file changes.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file with the certificate's private key (PKCS#8, PKCS#1 or SEC1, not encrypted).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Make an authority and a certificate for localhost and usher.usher-system.svc in this directory, or use what is there.
    #[arg(long, value_name = "DIR", conflicts_with = "tls_key")]
    pub tls_self_signed: Option<PathBuf>,

    /// Memory that the process may use, in bytes or with Ki, Mi, Gi: what reviews and their documents may take is derived from it.
    /// [default: the limit of the control group, or 512Mi]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub memory_limit: Option<usize>,

    /// Largest review that is read. Larger ones are denied with code 413. [default: what the memory allows, at most 32Mi]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub max_body_bytes: Option<usize>,

    /// Bytes of all reviews in flight together. More are asked to come back (429 with Retry-After). [default: what the memory allows]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub max_in_flight_bytes: Option<usize>,

    /// Open connections. More are refused at once. An API server keeps at most 25.
    #[arg(long, value_name = "COUNT", default_value_t = 1024, value_parser = parse_count)]
    pub max_connections: usize,

    /// How long a connection may be idle. Keep it above the 90s for which the API server keeps connections.
    #[arg(long, value_name = "DURATION", default_value = "120s", value_parser = duration)]
    pub idle_timeout: Duration,

    /// How long new connections are accepted after SIGTERM, until load balancers have heard of it. Meanwhile every answer
    /// closes its connection and /readyz fails.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub drain_window: Duration,

    /// From SIGTERM until requests in flight are cut; longer than --drain-window. Keep it below the Pod's terminationGracePeriodSeconds.
    #[arg(long, value_name = "DURATION", default_value = "25s", value_parser = duration)]
    pub drain_timeout: Duration,

    /// How log lines look; they go to standard error.
    #[arg(long, value_name = "FORMAT", default_value = "json", value_enum)]
    pub log_format: LogFormat,

    /// What is logged: error, warn, info, debug, trace, or directives such as info,usher=debug.
    #[arg(long, value_name = "FILTER", default_value = "info", env = "USHER_LOG")]
    pub log_level: String,
}

impl ServerArgs {
    /// Whether the flags go together.
    ///
    /// # Errors
    /// Names the flag that is wrong.
    pub fn check(&self) -> anyhow::Result<()> {
        let Self { drain_window, drain_timeout, .. } = self;
        anyhow::ensure!(
            drain_window < drain_timeout,
            "--drain-window: {drain_window:?} must be less than --drain-timeout ({drain_timeout:?}), at whose end \
             requests in flight are cut"
        );
        Ok(())
    }

    /// The certificate's files; made first if they are to be self-signed.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn cert_files(&self) -> Result<CertFiles, TlsError> {
        match (&self.tls_self_signed, &self.tls_cert, &self.tls_key) {
            (Some(directory), ..) => self_signed(directory),
            (None, cert, key) => Ok(CertFiles {
                // The parser has seen to it that both are there.
                cert: cert.clone().unwrap_or_default(),
                key: key.clone().unwrap_or_default(),
            }),
        }
    }

    pub fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits {
            max_connections: self.max_connections,
            idle_timeout: self.idle_timeout,
            ..ConnectionLimits::default()
        }
    }

    /// From the memory that there is, as far as no flag says otherwise.
    pub fn review_limits(&self) -> ReviewLimits {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let memory = self.memory_limit.or_else(cgroup::memory_limit);
        let limits = ReviewLimits::within(memory, processors);
        let max_bytes = self.max_body_bytes.unwrap_or(limits.bodies.max_bytes);
        let max_total_bytes = self.max_in_flight_bytes.unwrap_or(limits.bodies.max_total_bytes);
        ReviewLimits {
            bodies: BodyLimits {
                max_bytes,
                // One review of the largest size must always fit.
                max_total_bytes: max_total_bytes.max(max_bytes.saturating_mul(4) / 3 + 4),
                ..limits.bodies
            },
            ..limits
        }
    }

    pub fn drain_settings(&self) -> DrainSettings {
        DrainSettings { window: self.drain_window, grace: self.drain_timeout }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port such as 0.0.0.0:8443 or [::]:8443".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "expected a duration such as 500ms, 10s or 1m30s".to_owned())
}

fn parse_bytes(text: &str) -> Result<usize, String> {
    let expected = || "expected a number of bytes such as 33554432, 512Ki, 32Mi or 1Gi".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "Ki" | "KiB" => 1024,
        "Mi" | "MiB" => 1024 * 1024,
        "Gi" | "GiB" => 1024 * 1024 * 1024,
        _ => return Err(expected()),
    };
    let count: usize = digits.parse().map_err(|_| expected())?;
    match count.checked_mul(unit) {
        None | Some(0) => Err(expected()),
        Some(bytes) => Ok(bytes),
    }
}

fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        // The semaphore behind it counts no further.
        Ok(count @ 1..=1_000_000) => Ok(count),
        _ => Err("expected a number from 1 to 1000000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::super::body::large_share;
    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        server: ServerArgs,
    }

    fn parse(args: &[&str]) -> Result<ServerArgs, String> {
        let args = ["usher"].iter().chain(args);
        Command::try_parse_from(args).map(|command| command.server).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_what_the_documentation_says() {
        let args = parse(&["--tls-self-signed", "certs"]).unwrap();
        assert_eq!(
            parse(&["--tls-self-signed", "certs", "--memory-limit", "512Mi"])
                .unwrap()
                .review_limits()
                .bodies
                .max_bytes,
            32 << 20
        );
        let of_128 =
            parse(&["--tls-self-signed", "certs", "--memory-limit", "128Mi", "--max-body-bytes", "64Mi"]);
        let bodies = of_128.unwrap().review_limits().bodies;
        assert_eq!(bodies.max_bytes, 64 << 20);
        assert!(large_share(bodies.max_total_bytes) >= bodies.max_bytes);
        assert_eq!(args.connection_limits(), ConnectionLimits::default());
        assert_eq!(args.drain_settings(), DrainSettings::default());
        assert_eq!(args.log_format, LogFormat::Json);
    }

    #[rstest]
    #[case::no_certificate(&[], "--tls-cert")]
    #[case::no_key(&["--tls-cert", "a"], "--tls-key")]
    #[case::both(&["--tls-cert", "a", "--tls-key", "b", "--tls-self-signed", "c"], "--tls-self-signed")]
    #[case::bytes(&["--tls-self-signed", "c", "--max-body-bytes", "32MB"], "--max-body-bytes")]
    #[case::zero(&["--tls-self-signed", "c", "--max-body-bytes", "0"], "32Mi")]
    #[case::memory(&["--tls-self-signed", "c", "--memory-limit", "lots"], "--memory-limit")]
    #[case::window(&["--tls-self-signed", "c", "--drain-window", "10"], "10s")]
    #[case::connections(&["--tls-self-signed", "c", "--max-connections", "0"], "from 1 to")]
    #[case::bind(&["--tls-self-signed", "c", "--bind", "localhost:8443"], "--bind")]
    #[case::bind_port(&["--tls-self-signed", "c", "--bind", "8443"], "such as 0.0.0.0:8443")]
    fn wrong_flags_are_named(#[case] args: &[&str], #[case] expected: &str) {
        let error = parse(args).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[rstest]
    #[case("9s", true)]
    #[case("10s", false)]
    #[case("30s", false)]
    fn the_drain_needs_time_after_its_window(#[case] window: &str, #[case] good: bool) {
        let args =
            parse(&["--tls-self-signed", "c", "--drain-window", window, "--drain-timeout", "10s"]).unwrap();
        assert_eq!(args.check().is_ok(), good);
    }

    #[rstest]
    #[case("7", 7)]
    #[case("512Ki", 512 * 1024)]
    #[case("1GiB", 1 << 30)]
    fn bytes_have_units(#[case] text: &str, #[case] bytes: usize) {
        assert_eq!(parse_bytes(text), Ok(bytes));
    }
}
