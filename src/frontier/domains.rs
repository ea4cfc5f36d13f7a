//! The registrable domains of a crawl's hosts, for the cap on each.

use std::collections::HashMap;

use crate::url::{HostKey, registrable_domain};

/// All domains, known by number.
#[derive(Debug, Default)]
pub(super) struct Domains {
    all: Vec<Domain>,
    numbers: HashMap<Box<str>, u32>,
}

/// One registrable domain.
#[derive(Debug, Default)]
pub(super) struct Domain {
    /// Pages and final failures of all its hosts.
    pub(super) fetched: u64,
    /// Links of its hosts that are out on a lease.
    pub(super) leased: u64,
    /// The numbers of its hosts.
    pub(super) hosts: Vec<u32>,
}

impl Domain {
    /// What is held against the cap.
    pub(super) fn used(&self) -> u64 {
        self.fetched + self.leased
    }
}

impl Domains {
    /// Takes in a new host. Gives the number of its domain, known or new.
    pub(super) fn add_host(&mut self, key: &HostKey, host: u32) -> u32 {
        let name = registrable_domain(key);
        let number = if let Some(number) = self.numbers.get(name) {
            *number
        } else {
            let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
            self.all.push(Domain::default());
            self.numbers.insert(name.into(), number);
            number
        };
        self.get_mut(number).hosts.push(host);
        number
    }

    pub(super) fn get(&self, number: u32) -> &Domain {
        &self.all[number as usize]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Domain {
        &mut self.all[number as usize]
    }
}
