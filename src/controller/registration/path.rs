//! What is known of one path: whether it is proven, and whether calls that fail refuse requests.

use std::time::{Duration, Instant};

/// Between two probes of a path that works.
const PERIOD: Duration = Duration::from_secs(10);
/// Between two probes of one that does not: first, and once it is known not to.
const AGAIN: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(5);
/// An API server goes by a new configuration as soon as its watch has brought it. For so long it is asked at short intervals.
const LOADING: Duration = Duration::from_secs(3);
const LOADING_AGAIN: Duration = Duration::from_millis(25);
/// So many probes in a row fail before a path that worked counts as broken: what is over in 2 s is no reason to stop failing closed.
const TOLERATED: u32 = 2;

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The refusal is ours.
    Answered,
    /// The API server took the Lease: it asks nobody, or does not yet.
    NotAsked,
    /// The API server asked in vain, with its error.
    Unreachable(String),
    /// Refused by somebody else, before or instead of us.
    Refused(String),
    /// The API server says nothing itself. That says nothing of the path.
    Silence(String),
}

/// Why a path is not to be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::controller) struct Fault {
    /// Of a condition.
    pub(in crate::controller) reason: &'static str,
    pub(in crate::controller) message: String,
}

#[derive(Debug)]
pub(super) struct Path {
    /// Whether its entry is to fail closed.
    pub(super) armed: bool,
    pub(super) fault: Option<Fault>,
    /// The newest configuration, and since when it is known. There is nothing to probe without.
    target: Option<(String, Instant)>,
    /// The configuration for which the path was proven last.
    proven: Option<String>,
    failures: u32,
    due: Instant,
    is_asking: bool,
}

impl Path {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            armed: false,
            fault: None,
            target: None,
            proven: None,
            failures: 0,
            due: now,
            is_asking: false,
        }
    }

    /// The configuration is another one now, or was changed by somebody.
    pub(super) fn aim(&mut self, token: Option<&str>, now: Instant) {
        if self.target.as_ref().map(|(known, _)| known.as_str()) != token {
            self.target = token.map(|token| (token.to_owned(), now));
        }
        self.due = now;
    }

    /// The token to ask with, if it is time; then [`Self::take`] has to follow.
    pub(super) fn ask(&mut self, now: Instant) -> Option<String> {
        let (token, _) = self.target.as_ref().filter(|_| !self.is_asking && self.due <= now)?;
        self.is_asking = true;
        Some(token.clone())
    }

    /// When there is something to do next.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.target.is_some() && !self.is_asking).then_some(self.due)
    }

    /// Whether it works, as far as the newest configuration is concerned.
    pub(super) fn is_proven(&self) -> bool {
        self.fault.is_none()
            && self.proven.is_some()
            && self.proven.as_ref() == self.target.as_ref().map(|(token, _)| token)
    }

    /// Whether there is anything to say of it yet.
    pub(super) fn is_known(&self) -> bool {
        self.fault.is_some() || self.proven.is_some()
    }

    pub(super) fn take(&mut self, token: &str, outcome: Outcome, now: Instant) {
        self.is_asking = false;
        let Some((target, since)) = &self.target else { return };
        if target != token {
            // Of an older configuration. The newest one has to be asked about anyway.
            self.due = now;
            return;
        }
        match outcome {
            Outcome::Answered => {
                self.proven = Some(token.to_owned());
                self.fault = None;
                self.failures = 0;
                self.due = now + PERIOD;
            }
            Outcome::NotAsked if now.saturating_duration_since(*since) < LOADING => {
                self.due = now + LOADING_AGAIN
            }
            Outcome::NotAsked => {
                self.fail("NotAsked", "the API server does not call the webhook".to_owned(), now)
            }
            Outcome::Unreachable(error) => self.fail("Unreachable", error, now),
            Outcome::Refused(error) => self.fail("ProbeRefused", error, now),
            // Whoever begins has to say something in the end.
            Outcome::Silence(error)
                if !self.armed && !self.is_known() && now.saturating_duration_since(*since) >= LOADING =>
            {
                self.fail("NoAnswer", error, now);
            }
            Outcome::Silence(_) => self.due = now + AGAIN,
        }
    }

    fn fail(&mut self, reason: &'static str, message: String, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let is_broken = self.proven.is_none() && !self.armed || self.failures > TOLERATED;
        self.due = now + if is_broken && self.failures > TOLERATED { LATER } else { AGAIN };
        if !is_broken {
            return;
        }
        self.armed = false;
        // Numbers such as the port of a connection are no news.
        let words = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        let is_same = |known: &Fault| known.reason == reason && words(&known.message) == words(&message);
        if !self.fault.as_ref().is_some_and(is_same) {
            self.fault = Some(Fault { reason, message });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(text: &str) -> Outcome {
        Outcome::Unreachable(text.to_owned())
    }

    struct Clock(Instant);

    impl Clock {
        fn after(&self, seconds: f64) -> Instant {
            self.0 + Duration::from_secs_f64(seconds)
        }
    }

    fn answer(path: &mut Path, outcome: Outcome, now: Instant) {
        let token = path.ask(now).expect("it is due");
        path.take(&token, outcome, now);
    }

    #[test]
    fn a_path_is_asked_until_the_new_configuration_is_in_force_and_then_seldom() {
        let clock = Clock(Instant::now());
        let mut path = Path::new(clock.0);
        assert_eq!(path.ask(clock.0), None, "there is no configuration");
        path.aim(Some("one"), clock.0);
        answer(&mut path, Outcome::NotAsked, clock.0);
        assert!(!path.is_known());
        answer(&mut path, Outcome::Answered, clock.after(0.025));
        assert!(path.is_proven());
        assert_eq!(path.ask(clock.after(10.0)), None);
        assert!(path.ask(clock.after(10.1)).is_some());
        assert_eq!(path.ask(clock.after(20.0)), None, "one at a time");
        path.take("one", Outcome::Answered, clock.after(20.0));

        path.aim(Some("two"), clock.after(21.0));
        assert!(!path.is_proven() && path.is_known());
        let token = path.ask(clock.after(21.0)).unwrap();
        path.aim(Some("three"), clock.after(21.0));
        path.take(&token, Outcome::Answered, clock.after(21.0));
        assert!(!path.is_proven(), "of another configuration");
        answer(&mut path, Outcome::Answered, clock.after(21.0));
        assert!(path.is_proven());
    }

    #[test]
    fn a_path_that_worked_is_broken_after_three_failures_and_another_at_once() {
        let clock = Clock(Instant::now());
        let mut path = Path::new(clock.0);
        path.aim(Some("one"), clock.0);
        answer(&mut path, unreachable("x509"), clock.0);
        assert_eq!(path.fault.as_ref().map(|fault| fault.reason), Some("Unreachable"));
        answer(&mut path, Outcome::Answered, clock.after(1.0));
        path.armed = true;
        assert!(path.is_proven());
        for second in [11.0, 12.0] {
            answer(&mut path, unreachable("refused"), clock.after(second));
            assert!(path.armed && path.fault.is_none());
        }
        // A silent API server is no failure of the path.
        answer(&mut path, Outcome::Silence(String::new()), clock.after(13.0));
        answer(&mut path, unreachable("refused from 4711"), clock.after(14.0));
        assert!(!path.armed && !path.is_proven());
        answer(&mut path, unreachable("refused from 4712"), clock.after(19.0));
        assert_eq!(path.fault.as_ref().unwrap().message, "refused from 4711", "no news");
        answer(&mut path, Outcome::Answered, clock.after(24.0));
        assert!(path.is_proven() && !path.armed, "whoever keeps the configuration arms it");
    }

    #[test]
    fn a_silent_api_server_is_a_fault_only_of_a_path_that_is_not_known() {
        let clock = Clock(Instant::now());
        let mut path = Path::new(clock.0);
        path.aim(Some("one"), clock.0);
        answer(&mut path, Outcome::Silence("busy".to_owned()), clock.after(2.0));
        assert!(!path.is_known());
        answer(&mut path, Outcome::Silence("busy".to_owned()), clock.after(3.0));
        assert_eq!(path.fault.as_ref().map(|fault| fault.reason), Some("NoAnswer"));
        answer(&mut path, Outcome::Answered, clock.after(4.0));
        answer(&mut path, Outcome::Silence("busy".to_owned()), clock.after(14.0));
        assert!(path.is_proven());
    }

    #[test]
    fn an_api_server_that_never_asks_is_a_fault() {
        let clock = Clock(Instant::now());
        let mut path = Path::new(clock.0);
        path.aim(Some("one"), clock.0);
        answer(&mut path, Outcome::NotAsked, clock.after(2.9));
        assert!(path.fault.is_none());
        answer(&mut path, Outcome::NotAsked, clock.after(3.0));
        assert_eq!(path.fault.map(|fault| fault.reason), Some("NotAsked"));
    }
}
