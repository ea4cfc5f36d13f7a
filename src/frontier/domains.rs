//! The registrable domains of a crawl's hosts, for the cap on each, and the caps.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::url::{HostKey, registrable_domain};

/// No host: the end of a list.
pub(super) const NO_HOST: u32 = u32::MAX;

/// Pages and final failures, with what is leased, at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps {
    pub(super) host: u64,
    /// Of all hosts of a registrable domain.
    pub(super) domain: u64,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            host: u64::MAX,
            domain: u64::MAX,
        }
    }
}

/// All domains, known by number. The hosts of a domain are a list through their records.
#[derive(Debug, Default)]
pub(super) struct Domains {
    all: Vec<Domain>,
    /// By name, which is that of any of its hosts.
    numbers: HashTable<u32>,
    hasher: RandomState,
}

/// One registrable domain.
#[derive(Debug)]
pub(super) struct Domain {
    /// Of its name.
    hash: u64,
    /// Pages and final failures of all its hosts.
    pub(super) fetched: u32,
    /// Links of its hosts that are out on a lease.
    pub(super) leased: u32,
    /// The number of the host that was met last.
    pub(super) last_host: u32,
}

impl Domain {
    /// What is held against the cap.
    pub(super) fn used(&self) -> u64 {
        u64::from(self.fetched) + u64::from(self.leased)
    }
}

impl Domains {
    /// Takes in the new host `number`. Gives the number of its domain, known or new, and the host of it that
    /// was met before, or [`NO_HOST`].
    pub(super) fn add_host<'a>(
        &mut self,
        key: &HostKey,
        number: u32,
        key_of: impl Fn(u32) -> &'a HostKey,
    ) -> (u32, u32) {
        let name = registrable_domain(key);
        let hash = self.hasher.hash_one(name);
        let all = &self.all;
        let is_it = |domain: &u32| {
            let last = all[*domain as usize].last_host;
            registrable_domain(key_of(last)) == name
        };
        if let Some(found) = self.numbers.find(hash, is_it).copied() {
            let before = std::mem::replace(&mut self.get_mut(found).last_host, number);
            return (found, before);
        }
        let domain = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(Domain {
            hash,
            fetched: 0,
            leased: 0,
            last_host: number,
        });
        let all = &self.all;
        (self.numbers).insert_unique(hash, domain, |domain| all[*domain as usize].hash);
        (domain, NO_HOST)
    }

    pub(super) fn get(&self, number: u32) -> &Domain {
        &self.all[number as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Domain {
        &mut self.all[number as usize]
    }
}
