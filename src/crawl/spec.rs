//! What a crawl is told: unchecked as it comes (`proto::v1::CrawlSpec`), checked as [`Spec`].

use std::path::PathBuf;
use std::time::Duration;

use super::labels::Labels;
use super::order::{CrawlOrder, check_combine, check_features, parse_order};
use super::scope::Scope;
use super::starts::{StartSpec, check_start};
use crate::critic::{JudgeAddress, RemoteOptions};
use crate::features::FeatureSpec;
use crate::fetch::FetchLimits;
use crate::frontier::{Combine, FrontierParams, HOSTS_PER_ADDRESS, LINK_BYTES, Spacing, Steering};
use crate::page::PageLimits;
use crate::proto::v1;
use crate::url::CanonicalUrl;

/// The longest name of a crawl, in bytes; it is also a folder's name.
const NAME_BYTES_MAX: usize = 64;
/// The longest delay between two requests to a host that a spec may ask for: one day.
const DELAY_MS_MAX: u64 = 86_400_000;
/// References kept for one link (DESIGN.md 4.4).
const REFERENCES_MAX: usize = 8;

/// A field of a spec that cannot be taken, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("spec field `{field}`: {problem}")]
pub struct SpecError {
    /// The field, as a TOML spec names it.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl SpecError {
    pub(super) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
        }
    }
}

/// A checked spec. What is fixed at birth stands here, what may change while the crawl runs in
/// [`Tuning`].
#[derive(Clone, Debug)]
pub struct Spec {
    /// Letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// The topics of the focus; at least one.
    pub topics: Vec<String>,
    /// Topics under those that are taken out of the focus again.
    pub without: Vec<String>,
    /// What judges the pages.
    pub judged_by: JudgedBy,
    /// Seeds given as URLs.
    pub seeds: Vec<CanonicalUrl>,
    /// How many example URLs of the topics are seeds as well.
    pub example_seeds: usize,
    /// How the frontier is ordered.
    pub order: CrawlOrder,
    /// Which link is taken in that order.
    pub steering: Steering,
    /// How the priorities that several pages give a link become one.
    pub combine: Combine,
    /// What its apprentice looks at, if it has one.
    pub features: FeatureSpec,
    /// What fetches teach it.
    pub labels: Labels,
    /// Seed of all chance in the crawl.
    pub seed: u64,
    /// The crawl within whose fetches this one stays.
    pub within: Option<String>,
    /// What its apprentice begins with, if not with nothing.
    pub start: Option<StartSpec>,
    /// Pages are kept as WARC.
    pub warc: bool,
    /// What may change while it runs.
    pub tuning: Tuning,
}

/// What judges the pages of a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JudgedBy {
    /// A critic; the crawl was created from this model file, or from the general one.
    Critic(Option<PathBuf>),
    /// A judge behind gRPC.
    Judge(RemoteOptions),
}

/// What may change while a crawl runs.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Fetches that count; `None` is without end.
    pub budget: Option<u64>,
    /// Who answers for the crawl.
    pub contact: Option<String>,
    /// Which links are taken in.
    pub scope: Scope,
    /// Fetches at once.
    pub in_flight_max: usize,
    /// Between two requests to a host.
    pub delay: Duration,
    /// Requests at once, and a delay, to all hosts behind one address together.
    pub per_address: u32,
    /// How the delay grows with the server's time to answer.
    pub delay_growth: DelayGrowth,
    /// Bounds on one fetch.
    pub fetch: FetchLimits,
    /// Bounds on one page.
    pub page: PageLimits,
    /// Waiting links at most.
    pub links_max: Option<u64>,
    /// Redirects from one link.
    pub redirects_max: u16,
    /// A host whose robots.txt could not be had this often in a row is given up.
    pub robots_tries_max: u32,
}

/// How the delay grows: a server that answers slowly is left alone for longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayGrowth {
    /// So many times the time to answer; 0 is never.
    pub factor: u32,
    /// Up to this.
    pub max: Duration,
}

impl DelayGrowth {
    /// The delay after an answer that took `answer_time`, where `delay` is owed anyway. No delay stays
    /// none.
    pub fn grown(self, delay: Duration, answer_time: Duration) -> Duration {
        if delay.is_zero() {
            return delay;
        }
        delay.max(answer_time.saturating_mul(self.factor).min(self.max))
    }
}

impl Tuning {
    /// What the frontier has to know of it.
    pub fn frontier_params(&self, order: CrawlOrder, combine: Combine) -> FrontierParams {
        FrontierParams {
            combine,
            pages_per_host_max: self.scope.pages_per_host_max,
            pages_per_domain_max: self.scope.pages_per_domain_max,
            references_max: REFERENCES_MAX,
            links_max: self.links_max,
            delay: self.delay,
            per_address: self.per_address,
            keeps_baseline: order == CrawlOrder::Auto,
        }
    }

    /// The distance to keep from a host that is owed `delay`.
    pub fn spacing(&self, delay: Duration) -> Spacing {
        Spacing {
            delay,
            per_address: self.per_address,
        }
    }

    /// The User-Agent that says who asks.
    pub fn user_agent(&self) -> String {
        user_agent(self.contact.as_deref())
    }

    fn check(spec: &v1::CrawlSpec) -> Result<Self, SpecError> {
        let limits = spec.limits.unwrap_or_default();
        let contact = Some(spec.contact.trim()).filter(|text| !text.is_empty());
        if let Some(contact) = contact {
            check_contact(contact)?;
        }
        Ok(Self {
            budget: Some(spec.budget).filter(|budget| *budget > 0),
            contact: contact.map(str::to_owned),
            scope: Scope::check(&spec.scope.clone().unwrap_or_default())?,
            in_flight_max: bounded("limits.in_flight_max", limits.in_flight_max, 32, 1024)?,
            delay: check_delay(limits.delay_ms_min)?,
            per_address: bounded(
                "limits.requests_per_address_max",
                limits.requests_per_address_max,
                HOSTS_PER_ADDRESS,
                1024,
            )?,
            delay_growth: DelayGrowth {
                factor: bounded_or_0("limits.delay_factor", limits.delay_factor, 5, 1000)?,
                max: Duration::from_millis(bounded(
                    "limits.delay_ms_max",
                    limits.delay_ms_max,
                    30_000,
                    DELAY_MS_MAX,
                )?),
            },
            fetch: check_fetch_limits(&limits)?,
            page: PageLimits {
                links_max: bounded(
                    "limits.links_per_page_max",
                    limits.links_per_page_max,
                    PageLimits::default().links_max,
                    100_000,
                )?,
                ..PageLimits::default()
            },
            links_max: check_links_max(&limits)?,
            redirects_max: bounded("limits.redirects_max", limits.redirects_max, 10, 100)?,
            robots_tries_max: bounded("limits.robots_tries_max", limits.robots_tries_max, 3, 100)?,
        })
    }
}

/// The User-Agent that says who asks.
pub fn user_agent(contact: Option<&str>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match contact {
        Some(contact) => format!("apprentice/{version} (+{contact})"),
        None => format!("apprentice/{version}"),
    }
}

impl Spec {
    /// Checks a spec.
    ///
    /// # Errors
    /// [`SpecError`] names the first field that cannot be taken.
    pub fn check(spec: &v1::CrawlSpec) -> Result<Self, SpecError> {
        check_name(&spec.name)?;
        if spec.topics.is_empty() {
            return Err(SpecError::new(
                "topics",
                "no topic; name at least one class of the critic, or one that the judge understands",
            ));
        }
        let (order, steering) = match spec.order.as_str() {
            // What it meant before specs named it; a new crawl is given the default when it is created.
            "" => (CrawlOrder::Baseline, Steering::BestFirst),
            name => parse_order(name).map_err(|problem| SpecError::new("order", problem))?,
        };
        Ok(Self {
            name: spec.name.clone(),
            topics: spec.topics.clone(),
            without: spec.without.clone(),
            judged_by: check_judge(spec)?,
            seeds: check_seeds("seeds", &spec.seeds)?,
            example_seeds: spec.example_seeds as usize,
            features: check_features(order, spec.apprentice.as_ref())?,
            combine: check_combine(order, spec.apprentice.as_ref())?,
            labels: Labels::check(spec.apprentice.as_ref())?,
            order,
            steering,
            seed: spec.seed,
            within: check_within(&spec.within)?,
            start: check_start(spec.start.as_ref())?,
            warc: spec.warc,
            tuning: Tuning::check(spec)?,
        })
    }
}

/// Another crawl's name, or none.
fn check_within(name: &str) -> Result<Option<String>, SpecError> {
    if name.is_empty() {
        return Ok(None);
    }
    check_name(name).map_err(|error| SpecError::new("within", error.problem))?;
    Ok(Some(name.to_owned()))
}

/// Who judges: exactly one.
fn check_judge(spec: &v1::CrawlSpec) -> Result<JudgedBy, SpecError> {
    let judge = match (&spec.judge, spec.critic.is_empty()) {
        (None, false) => return Ok(JudgedBy::Critic(Some(PathBuf::from(&spec.critic)))),
        (None, true) => return Ok(JudgedBy::Critic(None)),
        (Some(_), false) => {
            return Err(SpecError::new(
                "judge",
                "there is a critic as well, and only one can judge; leave one of them out",
            ));
        }
        (Some(judge), true) => judge,
    };
    if !spec.without.is_empty() {
        return Err(SpecError::new(
            "without",
            "a judge knows of no topics under topics; name what it is to look for",
        ));
    }
    if spec.example_seeds > 0 {
        return Err(SpecError::new(
            "example_seeds",
            "a judge tells no examples as a critic does; give seeds",
        ));
    }
    let file =
        |path: &String| Some(PathBuf::from(path)).filter(|path| !path.as_os_str().is_empty());
    let deadline_ms = bounded("judge.deadline_ms", judge.deadline_ms, 30_000, 600_000)?;
    Ok(JudgedBy::Judge(RemoteOptions {
        address: JudgeAddress::parse(&judge.address)
            .map_err(|problem| SpecError::new("judge.address", problem))?,
        ca_file: file(&judge.ca_file),
        token_file: file(&judge.token_file),
        deadline: Duration::from_millis(deadline_ms),
        pages_max: bounded("judge.batch_pages_max", judge.batch_pages_max, 64, 1024)?,
        topics: spec.topics.clone(),
    }))
}

/// Checks URLs given as seeds.
///
/// # Errors
/// [`SpecError`] names the place and the URL.
pub fn check_seeds(field: &str, urls: &[String]) -> Result<Vec<CanonicalUrl>, SpecError> {
    urls.iter()
        .enumerate()
        .map(|(at, url)| {
            CanonicalUrl::parse(url).map_err(|error| {
                SpecError::new(format!("{field}[{at}]"), format!("{url:?}: {error}"))
            })
        })
        .collect()
}

/// Checks the name of a crawl.
///
/// # Errors
/// [`SpecError`] says which names can be taken.
pub fn check_name(name: &str) -> Result<(), SpecError> {
    let fits = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if fits {
        return Ok(());
    }
    Err(SpecError::new(
        "name",
        format!(
            "{name:?} cannot be a crawl's name; use 1 to {NAME_BYTES_MAX} letters, digits, `-`, `_` or `.`, not starting with `.`"
        ),
    ))
}

/// Checks who is to answer for requests.
///
/// # Errors
/// [`SpecError`] says what a contact is.
pub fn check_contact(contact: &str) -> Result<(), SpecError> {
    let printable = contact.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let reachable =
        contact.contains('@') || contact.starts_with("http://") || contact.starts_with("https://");
    if printable && reachable && contact.len() <= 200 {
        return Ok(());
    }
    Err(SpecError::new(
        "contact",
        format!(
            "{contact:?} is no contact; give an e-mail address or an http(s) URL that a site's owner can use"
        ),
    ))
}

fn check_delay(delay_ms: Option<u64>) -> Result<Duration, SpecError> {
    let delay_ms = delay_ms.unwrap_or(1000);
    if delay_ms > DELAY_MS_MAX {
        return Err(SpecError::new(
            "limits.delay_ms_min",
            format!("{delay_ms} ms; at most {DELAY_MS_MAX} (a day) can be asked for"),
        ));
    }
    Ok(Duration::from_millis(delay_ms))
}

fn check_fetch_limits(limits: &v1::Limits) -> Result<FetchLimits, SpecError> {
    let usual = FetchLimits::default();
    let ms = |field, value: u64, default: Duration| -> Result<Duration, SpecError> {
        let default = u64::try_from(default.as_millis()).unwrap_or(u64::MAX);
        Ok(Duration::from_millis(bounded(
            field, value, default, 3_600_000,
        )?))
    };
    Ok(FetchLimits {
        connect: ms(
            "limits.connect_ms_max",
            limits.connect_ms_max,
            usual.connect,
        )?,
        first_byte: ms(
            "limits.first_byte_ms_max",
            limits.first_byte_ms_max,
            usual.first_byte,
        )?,
        total: ms("limits.fetch_ms_max", limits.fetch_ms_max, usual.total)?,
        body_bytes_max: bounded(
            "limits.body_bytes_max",
            limits.body_bytes_max,
            usual.body_bytes_max,
            64 << 20,
        )?,
        refuse_large: limits.refuse_large,
        header_bytes_max: bounded(
            "limits.header_bytes_max",
            limits.header_bytes_max,
            usual.header_bytes_max,
            1 << 20,
        )?,
        rate_bytes_min: bounded_or_0(
            "limits.bytes_per_second_min",
            limits.bytes_per_second_min,
            usual.rate_bytes_min,
            1 << 20,
        )?,
        expansion_max: bounded(
            "limits.expansion_max",
            limits.expansion_max,
            usual.expansion_max,
            100_000,
        )?,
        ..usual
    })
}

/// `value` at most `max`, 0 as well; `default` where it is unset.
fn bounded_or_0(field: &str, value: Option<u32>, default: u32, max: u32) -> Result<u32, SpecError> {
    match value {
        Some(0) => Ok(0),
        value => bounded(field, value.unwrap_or(default), default, max),
    }
}

/// Fewer waiting links than that are no frontier.
pub const LINKS_WAITING_MIN: u64 = 100;

/// The bound on waiting links, given as links or as bytes; 0 is none.
fn check_links_max(limits: &v1::Limits) -> Result<Option<u64>, SpecError> {
    let check = |field: &str, given: Option<u64>, each: u64| match given {
        None | Some(0) => Ok(None),
        Some(given) if given / each >= LINKS_WAITING_MIN => Ok(Some(given / each)),
        Some(given) => Err(SpecError::new(
            field,
            format!(
                "{given} is too little; give 0 (no bound) or at least {}",
                LINKS_WAITING_MIN * each
            ),
        )),
    };
    let links = check("limits.links_waiting_max", limits.links_waiting_max, 1)?;
    let bytes = limits.links_waiting_bytes_max;
    let of_bytes = check("limits.links_waiting_bytes_max", bytes, LINK_BYTES)?;
    Ok(links.into_iter().chain(of_bytes).min())
}

/// `value`, or `default` where it is 0; at most `max`.
fn bounded<V, T>(field: &str, value: V, default: T, max: T) -> Result<T, SpecError>
where
    V: Into<u64> + Copy,
    T: TryFrom<u64> + PartialOrd + std::fmt::Display + Copy,
{
    let value: u64 = value.into();
    if value == 0 {
        return Ok(default);
    }
    match T::try_from(value) {
        Ok(value) if value <= max => Ok(value),
        _ => Err(SpecError::new(
            field,
            format!("{value} is over the bound of {max}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> v1::CrawlSpec {
        v1::CrawlSpec {
            name: "reefs".into(),
            topics: vec!["databases".into()],
            critic: "critic.model".into(),
            seeds: vec!["http://a.test/".into()],
            ..Default::default()
        }
    }

    fn problem_of(change: impl FnOnce(&mut v1::CrawlSpec)) -> String {
        let mut spec = spec();
        change(&mut spec);
        Spec::check(&spec).unwrap_err().to_string()
    }

    #[test]
    fn what_is_left_out_takes_its_default() {
        let checked = Spec::check(&spec()).unwrap();
        assert_eq!(checked.order, CrawlOrder::Baseline);
        assert_eq!(checked.tuning.budget, None);
        assert_eq!(checked.tuning.delay, Duration::from_secs(1));
        assert_eq!(checked.tuning.in_flight_max, 32);
        assert_eq!(checked.tuning.fetch, FetchLimits::default());
    }

    #[test]
    fn a_wrong_field_is_named_with_what_would_be_right() {
        assert!(problem_of(|s| s.name = "../x".into()).contains("`name`"));
        assert!(problem_of(|s| s.topics.clear()).contains("`topics`"));
        assert!(problem_of(|s| s.seeds.push("mailto:x".into())).contains("`seeds[1]`"));
        assert!(problem_of(|s| s.order = "best".into()).contains("breadth-first"));
        assert!(problem_of(|s| s.contact = "me".into()).contains("e-mail"));
        let scope = |allow: &str| v1::Scope {
            allow: vec![allow.into()],
            ..Default::default()
        };
        assert!(problem_of(|s| s.scope = Some(scope("("))).contains("`scope.allow[0]`"));
        let addresses = v1::Scope {
            allow_addresses: vec!["10.0.0.0/99".into()],
            ..Default::default()
        };
        let problem = problem_of(|s| s.scope = Some(addresses));
        assert!(problem.contains("`scope.allow_addresses`"), "{problem}");
        let limits = v1::Limits {
            in_flight_max: 5000,
            ..Default::default()
        };
        assert!(problem_of(|s| s.limits = Some(limits)).contains("1024"));
    }

    #[test]
    fn the_delay_grows_with_the_time_to_answer_within_its_bounds() {
        let growth = |factor, max| DelayGrowth {
            factor,
            max: Duration::from_secs(max),
        };
        let grown = |growth: DelayGrowth, delay, answer| {
            let delay = growth.grown(Duration::from_millis(delay), Duration::from_millis(answer));
            delay.as_millis()
        };
        assert_eq!(grown(growth(5, 30), 1000, 100), 1000);
        assert_eq!(grown(growth(5, 30), 1000, 700), 3500);
        assert_eq!(grown(growth(5, 30), 1000, 20_000), 30_000);
        // Somebody's own delay may be longer than what it would grow to.
        assert_eq!(grown(growth(5, 30), 60_000, 20_000), 60_000);
        assert_eq!(grown(growth(0, 30), 1000, 20_000), 1000);
        assert_eq!(grown(growth(5, 30), 0, 20_000), 0);
        assert_eq!(grown(growth(u32::MAX, 30), 1, 3_600_000), 30_000);
    }

    #[test]
    fn the_limits_of_a_fetch_come_from_the_spec() {
        let mut given = spec();
        given.limits = Some(v1::Limits {
            header_bytes_max: 9_000,
            bytes_per_second_min: Some(0),
            expansion_max: 20,
            refuse_large: true,
            delay_factor: Some(0),
            delay_ms_max: 7,
            requests_per_address_max: 9,
            ..Default::default()
        });
        let tuning = Spec::check(&given).unwrap().tuning;
        let fetch = tuning.fetch;
        assert_eq!((fetch.header_bytes_max, fetch.rate_bytes_min), (9_000, 0));
        assert_eq!((fetch.expansion_max, fetch.refuse_large), (20, true));
        assert_eq!(tuning.per_address, 9);
        let growth = tuning.delay_growth;
        assert_eq!((growth.factor, growth.max.as_millis()), (0, 7));
        given.limits.as_mut().unwrap().delay_factor = Some(1001);
        let problem = Spec::check(&given).unwrap_err().to_string();
        assert!(problem.contains("`limits.delay_factor`"), "{problem}");
    }

    #[test]
    fn exactly_one_judges() {
        let judge = |address: &str| v1::Judge {
            address: address.into(),
            ..Default::default()
        };
        let mut general = spec();
        general.critic.clear();
        assert_eq!(
            Spec::check(&general).unwrap().judged_by,
            JudgedBy::Critic(None)
        );
        let problem = problem_of(|s| s.judge = Some(judge("http://127.0.0.1:1")));
        assert!(problem.contains("only one can judge"), "{problem}");
        let with = |change: fn(&mut v1::CrawlSpec)| {
            let mut spec = spec();
            spec.critic.clear();
            spec.judge = Some(judge("http://127.0.0.1:1"));
            change(&mut spec);
            Spec::check(&spec).map(|spec| spec.judged_by)
        };
        let Ok(JudgedBy::Judge(options)) = with(|_| ()) else {
            panic!("a judge is enough");
        };
        assert_eq!(options.deadline, Duration::from_secs(30));
        assert_eq!(
            (options.pages_max, options.topics),
            (64, vec!["databases".to_owned()])
        );
        let problem = with(|s| s.judge.as_mut().unwrap().address = "nowhere".into());
        assert!(problem.unwrap_err().to_string().contains("`judge.address`"));
        let problem = with(|s| s.judge.as_mut().unwrap().deadline_ms = 700_000);
        assert!(problem.unwrap_err().to_string().contains("600000"));
        let problem = with(|s| s.without.push("a/b".into()));
        assert!(problem.unwrap_err().to_string().contains("`without`"));
        let problem = with(|s| s.example_seeds = 1);
        assert!(problem.unwrap_err().to_string().contains("`example_seeds`"));
    }
}
