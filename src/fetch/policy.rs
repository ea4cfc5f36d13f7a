//! The failure table: what is done about each way to fail.

use std::time::Duration;

use super::FetchError;

/// A stated Retry-After is obeyed up to this long.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// No doubling of an own wait goes beyond this.
const WAIT_MAX: Duration = Duration::from_mins(10);

/// What is given up when the retries are spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// This URL alone.
    Url,
    /// The host with all its links.
    Host,
}

/// What is done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How many further requests are made.
    pub retries: u32,
    /// The wait before the first of them; it doubles each time. The host waits, not the link alone.
    pub wait: Duration,
    /// Where the doubling ends.
    pub wait_max: Duration,
    /// What is given up after the last.
    pub give_up: GiveUp,
}

impl Policy {
    const fn never(give_up: GiveUp) -> Self {
        Self {
            retries: 0,
            wait: Duration::ZERO,
            wait_max: Duration::ZERO,
            give_up,
        }
    }

    const fn retry(retries: u32, wait_secs: u64, give_up: GiveUp) -> Self {
        Self {
            retries,
            wait: Duration::from_secs(wait_secs),
            wait_max: WAIT_MAX,
            give_up,
        }
    }
}

impl FetchError {
    /// The row of this failure in the table of policies.
    pub fn policy(&self) -> Policy {
        use GiveUp::{Host, Url};
        match self {
            Self::Dns { .. } => Policy::retry(1, 30, Host),
            Self::Connect(_) | Self::TimeoutConnect(_) => Policy::retry(2, 10, Host),
            Self::Tls(_) | Self::Address(_) | Self::Port(_) => Policy::never(Host),
            Self::TimeoutFirstByte(_)
            | Self::TimeoutTotal(_)
            | Self::TooSlow(_)
            | Self::Broken(_) => Policy::retry(1, 15, Url),
            Self::Protocol(_)
            | Self::Decode { .. }
            | Self::Bomb { .. }
            | Self::TooLarge(_)
            | Self::BadRedirect { .. }
            | Self::ContentType(_)
            | Self::NotInArchive => Policy::never(Url),
            Self::Status { code, retry_after } => status_policy(*code, *retry_after),
            // Without the proxy no page can be had: the crawl waits for it and loses none.
            Self::Proxy(_) => Policy {
                wait_max: Duration::from_mins(1),
                ..Policy::retry(u32::MAX, 5, Url)
            },
        }
    }

    /// How long the server asks to be left alone, as far as it is obeyed.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status {
                code: 429 | 503,
                retry_after,
            } => retry_after.map(|stated| stated.clamp(Duration::from_secs(1), RETRY_AFTER_MAX)),
            _ => None,
        }
    }

    /// The wait before the next request when `retries_made` were made after the first, or `None`
    /// when they are spent.
    pub fn retry_wait(&self, retries_made: u32) -> Option<Duration> {
        let policy = self.policy();
        if retries_made >= policy.retries {
            return None;
        }
        let doubled = 2_u32
            .checked_pow(retries_made)
            .and_then(|factor| policy.wait.checked_mul(factor))
            .unwrap_or(policy.wait_max);
        Some(doubled.min(policy.wait_max))
    }
}

fn status_policy(code: u16, retry_after: Option<Duration>) -> Policy {
    match (code, retry_after) {
        // The stated time, no more and no less (clamping it below keeps a storm of requests alive).
        (429 | 503, Some(stated)) => {
            let wait = stated.clamp(Duration::from_secs(1), RETRY_AFTER_MAX);
            Policy {
                retries: 3,
                wait,
                wait_max: wait,
                give_up: GiveUp::Url,
            }
        }
        (429 | 503, None) => Policy::retry(3, 30, GiveUp::Url),
        (500 | 502 | 504, _) => Policy::retry(1, 20, GiveUp::Url),
        _ => Policy::never(GiveUp::Url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn status(code: u16, retry_after: Option<Duration>) -> FetchError {
        FetchError::Status { code, retry_after }
    }

    /// (failure, waits in seconds before each retry, what is given up)
    fn table() -> Vec<(FetchError, &'static [u64], GiveUp)> {
        use GiveUp::{Host, Url};
        let text = String::new;
        vec![
            (
                FetchError::Dns {
                    host: text(),
                    detail: text(),
                },
                &[30],
                Host,
            ),
            (FetchError::Connect(text()), &[10, 20], Host),
            (FetchError::TimeoutConnect(SECOND), &[10, 20], Host),
            (FetchError::Tls(text()), &[], Host),
            (FetchError::Address([127, 0, 0, 1].into()), &[], Host),
            (FetchError::TimeoutFirstByte(SECOND), &[15], Url),
            (FetchError::TimeoutTotal(SECOND), &[15], Url),
            (FetchError::TooSlow(100), &[15], Url),
            (FetchError::Port(25), &[], Host),
            (FetchError::TooLarge(100), &[], Url),
            (
                FetchError::Bomb {
                    encoding: text(),
                    expansion_max: 9,
                },
                &[],
                Url,
            ),
            (FetchError::Broken(text()), &[15], Url),
            (FetchError::Protocol(text()), &[], Url),
            (
                FetchError::Decode {
                    encoding: text(),
                    detail: text(),
                },
                &[],
                Url,
            ),
            (
                FetchError::BadRedirect {
                    code: 302,
                    detail: text(),
                },
                &[],
                Url,
            ),
            (FetchError::ContentType(text()), &[], Url),
            (FetchError::NotInArchive, &[], Url),
            (status(429, None), &[30, 60, 120], Url),
            (status(503, None), &[30, 60, 120], Url),
            (status(429, Some(3120 * SECOND)), &[3120, 3120, 3120], Url),
            (status(503, Some(Duration::ZERO)), &[1, 1, 1], Url),
            (
                status(503, Some(Duration::MAX)),
                &[86_400, 86_400, 86_400],
                Url,
            ),
            (status(500, None), &[20], Url),
            (status(502, Some(9 * SECOND)), &[20], Url),
            (status(504, None), &[20], Url),
            (status(404, None), &[], Url),
            (status(501, None), &[], Url),
            (status(304, None), &[], Url),
        ]
    }

    #[test]
    fn every_row_of_the_table_is_as_written_down() {
        for (failure, waits, give_up) in table() {
            let mut seen = Vec::new();
            while let Some(wait) = failure.retry_wait(u32::try_from(seen.len()).unwrap()) {
                seen.push(wait.as_secs());
            }
            assert_eq!(seen, waits, "{failure:?}");
            assert_eq!(failure.policy().give_up, give_up, "{failure:?}");
        }
    }

    #[test]
    fn a_dead_proxy_is_waited_for_a_minute_at_a_time_at_most() {
        let dead = FetchError::Proxy(String::new());
        let waits: Vec<u64> = (0..6)
            .map(|made| dead.retry_wait(made).unwrap().as_secs())
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        assert_eq!(dead.retry_wait(1_000_000), Some(60 * SECOND));
    }
}
