//! The hosts of one crawl, and which of them are ready, waiting or away.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use hashbrown::HashTable;

use super::Held;
use super::calendar::Refused;
use super::domains::{Caps, Domain, Domains, NO_HOST};
use super::host_queue::{Host, Place};
use super::link_heap::LinkHeap;
use super::links::{Links, OrderKey};
use super::new_scores::{Line, Side};
use super::places::Places;
use super::switching::{Step, Switching};
use crate::clock::Timestamp;
use crate::url::HostKey;

/// All hosts. A host is known by a number, given in the order of first appearance.
///
/// Invariant, held by `settle` after every change: a host that is `Ready` or `Behind` a gate stands there
/// under the key of its best link, and an `Idle` one has nothing to lease.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    all: Vec<Host>,
    /// By key, which their records have.
    numbers: HashTable<u32>,
    hasher: RandomState,
    /// Apart, for the engine that holds a frontier moves about.
    places: Box<Places>,
    caps: Caps,
    domains: Domains,
    counts: LinkCounts,
    /// While a new epoch is put in force, host by host.
    switching: Option<Switching>,
    /// While a log is folded: queues, counts and the order of the hosts are made at its end.
    is_folding: bool,
}

/// How many links are where.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkCounts {
    /// Waiting at hosts below the cap.
    pub(super) waiting: u64,
    /// Waiting at hosts that have reached it.
    pub(super) held: u64,
    pub(super) leased: u64,
}

impl Hosts {
    /// The number of a host, known or new.
    pub(super) fn number_of(&mut self, key: &HostKey) -> u32 {
        let hash = self.hasher.hash_one(key);
        self.number_of_hashed(hash, key)
    }

    /// What [`number_of`](Self::number_of) looks for the key by.
    pub(super) fn hash(&self, key: &HostKey) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Reads what the hosts of these hashes will be known by. Their places are as good as random, and read
    /// one after another without work between they come from memory together.
    pub(super) fn touch(&self, hashes: &[Option<u64>]) {
        let mut seen = 0;
        for hash in hashes.iter().flatten() {
            let likely = self.numbers.find(*hash, |_| true);
            let host = likely.and_then(|number| self.all.get(*number as usize));
            seen ^= host.map_or(0, |host| host.key.as_str().len());
        }
        for hash in hashes.iter().flatten() {
            let likely = self.numbers.find(*hash, |_| true);
            let host = likely.and_then(|number| self.all.get(*number as usize));
            let letter = host.and_then(|host| host.key.as_str().as_bytes().first());
            seen ^= letter.map_or(0, |letter| usize::from(*letter));
        }
        std::hint::black_box(seen);
    }

    /// As [`number_of`](Self::number_of), where the hash is known.
    pub(super) fn number_of_hashed(&mut self, hash: u64, key: &HostKey) -> u32 {
        if let Some(number) = self.look_up(hash, key) {
            return number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let all = &self.all;
        let (domain, before) =
            (self.domains).add_host(key, number, |number| &all[number as usize].key);
        self.all.push(Host::new(key.clone(), domain, before));
        let (all, hasher) = (&self.all, &self.hasher);
        (self.numbers).insert_unique(hash, number, |number| {
            hasher.hash_one(&all[*number as usize].key)
        });
        number
    }

    pub(super) fn find(&self, key: &HostKey) -> Option<&Host> {
        let number = self.look_up(self.hasher.hash_one(key), key)?;
        Some(self.get(number))
    }

    fn look_up(&self, hash: u64, key: &HostKey) -> Option<u32> {
        let is_it = |number: &u32| self.all[*number as usize].key == *key;
        self.numbers.find(hash, is_it).copied()
    }

    pub(super) fn get(&self, number: u32) -> &Host {
        &self.all[number as usize]
    }

    fn get_mut(&mut self, number: u32) -> &mut Host {
        &mut self.all[number as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.all.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn counts(&self) -> LinkCounts {
        self.counts
    }

    /// Hosts with something to lease whose time has come, as far as is known here.
    pub(super) fn ready_at(&self, now: Timestamp) -> usize {
        self.places.ready_at(now)
    }

    /// Sets the caps, and lets every host ask the calendar anew.
    pub(super) fn set_caps(&mut self, caps: Caps, links: &Links) {
        self.caps = caps;
        if self.is_folding {
            return;
        }
        for number in 0..self.all.len() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let place = self.get(number).place();
            if matches!(place, Place::Waiting(_) | Place::Behind(..)) {
                self.put(number, Place::Idle);
            }
            self.settle(number, links);
        }
    }

    // What happens to links.

    /// The link in `slot` waits from now on.
    pub(super) fn link_waits(&mut self, slot: u32, links: &mut Links) {
        let number = links.get(slot).host;
        let side = self.side(number);
        let host = &mut self.all[number as usize];
        host.waiting += 1;
        if self.is_folding {
            return;
        }
        host.push(slot, links, side);
        *self.count_of_waiting(number) += 1;
        self.gather(slot, links);
        self.settle(number, links);
    }

    /// The waiting link in `slot` has another key than before.
    pub(super) fn link_moved(&mut self, slot: u32, links: &mut Links) {
        if self.is_folding {
            return;
        }
        let number = links.get(slot).host;
        let side = self.side(number);
        self.get_mut(number).moved(slot, links, side);
        self.settle(number, links);
    }

    /// The waiting link in `slot` has another key than before on the side that its host is not yet on.
    pub(super) fn link_moved_on_new_side(&mut self, slot: u32, links: &mut Links) {
        if let Some(switching) = &mut self.switching {
            switching.moved(links.get(slot).host, slot, links);
        }
    }

    // What a new epoch changes.

    /// The side that a host is on.
    pub(super) fn side(&self, number: u32) -> Side {
        match &self.switching {
            Some(switching) if switching.has_switched(number) => Side::New,
            _ => Side::Old,
        }
    }

    pub(super) fn switching(&self) -> Option<&Switching> {
        self.switching.as_ref()
    }

    /// Begins to change over to the new side, or ends it.
    pub(super) fn set_switching(&mut self, switching: Option<Switching>) {
        self.switching = switching;
    }

    /// What is to be done next to change over.
    pub(super) fn next_step(&mut self, links: &Links) -> Step {
        let hosts = self.len();
        match &mut self.switching {
            Some(switching) => switching.next(links.slots_end(), hosts),
            None => Step::End,
        }
    }

    /// Queues the link in `slot`, if one waits there, for the new side.
    pub(super) fn gather(&mut self, slot: u32, links: &mut Links) {
        if let Some(switching) = &mut self.switching
            && let Some(link) = links.used(slot).filter(|link| !link.is_leased())
        {
            let number = link.host;
            let waiting = self.all[number as usize].waiting;
            switching.push(number, waiting, slot, links);
        }
    }

    /// The host goes by the new side from now on, of which `queue` is.
    pub(super) fn exchange(&mut self, number: u32, queue: LinkHeap, links: &Links) {
        self.get_mut(number).set_queue(queue);
        self.settle(number, links);
    }

    /// The waiting link in `slot` is about to be removed from `links`.
    pub(super) fn link_struck_off(&mut self, slot: u32, links: &mut Links) {
        let number = links.get(slot).host;
        let side = self.side(number);
        let host = &mut self.all[number as usize];
        host.waiting -= 1;
        if self.is_folding {
            if host.waiting == 0 {
                host.set_place(Place::Idle);
            }
            return;
        }
        host.strike_off(slot, links, side);
        self.strike_off_second(number, slot, links);
        *self.count_of_waiting(number) -= 1;
        self.settle(number, links);
    }

    fn strike_off_second(&mut self, number: u32, slot: u32, links: &mut Links) {
        if let Some(switching) = &mut self.switching {
            switching.strike_off(number, slot, links);
        }
    }

    /// A lease of one of the host's links has ended, whatever became of the link.
    pub(super) fn link_came_back(&mut self, number: u32, links: &Links) {
        self.get_mut(number).leased -= 1;
        self.counts.leased -= 1;
        self.count_in_domain(number, links, |domain| domain.leased -= 1);
        self.settle(number, links);
    }

    /// Takes the best link of a ready host out, which is away then.
    pub(super) fn lease_best(&mut self, number: u32, links: &mut Links) -> Option<u32> {
        let slot = self.get(number).best_slot()?;
        self.lease_slot(number, slot, links);
        Some(slot)
    }

    /// Takes a waiting link of a ready host out, which is away then.
    pub(super) fn lease_slot(&mut self, number: u32, slot: u32, links: &mut Links) {
        self.set_away(number);
        links.get_mut(slot).set_leased(true);
        *self.count_of_waiting(number) -= 1;
        self.counts.leased += 1;
        let side = self.side(number);
        let host = self.get_mut(number);
        host.waiting -= 1;
        host.leased += 1;
        host.strike_off(slot, links, side);
        self.strike_off_second(number, slot, links);
        self.count_in_domain(number, links, |domain| domain.leased += 1);
        self.settle(number, links);
    }

    // What happens to hosts.

    /// A page or a final failure more.
    pub(super) fn count_fetch(&mut self, number: u32, links: &Links) {
        self.get_mut(number).fetched += 1;
        self.count_in_domain(number, links, |domain| domain.fetched += 1);
        self.settle(number, links);
    }

    /// Changes the counts of the host's domain; if it reaches its cap by that, or falls below it, all its
    /// hosts are settled.
    fn count_in_domain(&mut self, number: u32, links: &Links, change: impl FnOnce(&mut Domain)) {
        let cap = self.caps.domain;
        let domain = self.domains.get_mut(self.get(number).domain);
        let was_full = domain.used() >= cap;
        change(domain);
        if self.is_folding || was_full == (domain.used() >= cap) {
            return;
        }
        let mut host = domain.last_host;
        while host != NO_HOST {
            self.settle(host, links);
            host = self.get(host).before_in_domain;
        }
    }

    pub(super) fn set_given_up(&mut self, number: u32, is_given_up: bool) {
        self.get_mut(number).is_given_up = is_given_up;
    }

    /// The best of the ready hosts.
    pub(super) fn best_ready(&self) -> Option<u32> {
        self.ready().next()
    }

    /// The ready hosts, the one with the best link first; of those behind one full address only the best.
    pub(super) fn ready(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.ready().map(|(_, number)| number)
    }

    /// The key of the best link of the ready hosts.
    pub(super) fn best_ready_key(&self) -> Option<OrderKey> {
        self.places.ready().next().map(|(key, _)| key)
    }

    /// Whether a link of the host may be leased now.
    pub(super) fn is_ready(&self, number: u32) -> bool {
        self.places.is_ready(self.get(number).place())
    }

    /// The key of the best waiting link of a host.
    pub(super) fn best_of(&self, number: u32, links: &Links) -> Option<OrderKey> {
        self.get(number).best(links, self.side(number))
    }

    /// When the first of the waiting hosts may be asked.
    pub(super) fn first_waiting(&self) -> Option<Timestamp> {
        self.places.first_waiting()
    }

    /// The waiting hosts whose time has come are ready.
    pub(super) fn wake(&mut self, now: Timestamp, links: &Links) {
        self.places.open_until(now);
        while let Some(number) = self.places.due(now) {
            self.put(number, Place::Idle);
            self.settle(number, links);
        }
    }

    /// The one way in which a host changes its place.
    fn put(&mut self, number: u32, place: Place) {
        let host = &mut self.all[number as usize];
        self.places.put(number, host, place);
    }

    /// The calendar has refused the ready host.
    pub(super) fn refused(&mut self, number: u32, refused: Refused, links: &Links) {
        match (refused, self.best_of(number, links)) {
            (Refused::Address(address, held), Some(key)) => {
                let host = &mut self.all[number as usize];
                (self.places).put_behind((address, held), (number, key), host);
            }
            (Refused::Host(Held::Until(until)), _) => self.wait_until(number, until),
            (Refused::Host(Held::Leased), _) => self.set_away(number),
            (Refused::Address(..), None) => self.put(number, Place::Idle),
        }
    }

    /// A host behind the address has come back from a lease, whoever's.
    pub(super) fn open_address(&mut self, address: IpAddr) {
        self.places.open(address);
    }

    /// The host, if it is ready or waits for less, waits until `until`.
    pub(super) fn wait_until(&mut self, number: u32, until: Timestamp) {
        let host = &mut self.all[number as usize];
        if self.is_folding {
            match host.place() {
                Place::Waiting(earlier) if earlier >= until => {}
                _ if host.waiting > 0 => host.set_place(Place::Waiting(until)),
                _ => {}
            }
            return;
        }
        match host.place() {
            Place::Ready(_) | Place::Behind(..) => {}
            Place::Waiting(earlier) if earlier < until => {}
            Place::Waiting(_) | Place::Idle | Place::Away => return,
        }
        self.put(number, Place::Waiting(until));
    }

    /// The ready host is out on a lease.
    fn set_away(&mut self, number: u32) {
        self.put(number, Place::Away);
    }

    /// A lease of the host, ours or another crawl's, has ended; it may be asked from `at` on; it is `now`.
    pub(super) fn returned(
        &mut self,
        number: u32,
        (at, now): (Timestamp, Timestamp),
        links: &Links,
    ) {
        if at > now && self.has_something(number) {
            self.put(number, Place::Waiting(at));
        } else {
            self.put(number, Place::Idle);
            self.settle(number, links);
        }
    }

    /// Whether the host has a link that may be leased.
    fn has_something(&self, number: u32) -> bool {
        let host = self.get(number);
        host.best_slot().is_some() && !host.is_capped
    }

    fn count_of_waiting(&mut self, number: u32) -> &mut u64 {
        if self.get(number).is_capped {
            &mut self.counts.held
        } else {
            &mut self.counts.waiting
        }
    }

    // What a log leaves behind.

    /// From now on events are only counted; nothing may be leased, and no epoch put in force.
    pub(super) fn begin_fold(&mut self) {
        debug_assert!(self.counts.leased == 0 && self.switching.is_none());
        self.is_folding = true;
    }

    /// All events are counted: queues the links that wait, each host's in one go, and puts the hosts where
    /// they belong.
    pub(super) fn end_fold(&mut self, links: &mut Links) {
        if !std::mem::take(&mut self.is_folding) {
            return;
        }
        let queue_of = |host: &Host| Vec::with_capacity(host.waiting as usize);
        let mut queues: Vec<Vec<(OrderKey, u32)>> = self.all.iter().map(queue_of).collect();
        for (slot, link) in links.iter() {
            if let Some(queue) = queues.get_mut(link.host as usize) {
                queue.push((links.order_key(slot, Side::Old), slot));
            }
        }
        self.counts = LinkCounts::default();
        *self.places = Places::default();
        for (number, queue) in (0..).zip(queues) {
            let queue = LinkHeap::of(queue, links, Line::Own(Side::Old));
            let host = self.get_mut(number);
            host.set_queue(queue);
            host.is_capped = false;
            // Until here places were only noted.
            let place = host.place();
            host.set_place(Place::Idle);
            self.counts.waiting += u64::from(host.waiting);
            if let Place::Waiting(_) = place {
                self.put(number, place);
            }
            self.settle(number, links);
        }
    }

    /// Puts the host where it belongs after a change.
    fn settle(&mut self, number: u32, links: &Links) {
        if self.is_folding {
            return;
        }
        let host = &self.all[number as usize];
        let is_capped = u64::from(host.fetched) + u64::from(host.leased) >= self.caps.host
            || self.domains.get(host.domain).used() >= self.caps.domain;
        let best = self.best_of(number, links).filter(|_| !is_capped);
        let place = host.place();
        if is_capped != host.is_capped {
            let count = u64::from(host.waiting);
            *self.count_of_waiting(number) -= count;
            self.get_mut(number).is_capped = is_capped;
            *self.count_of_waiting(number) += count;
        }
        let settled = match (place, best) {
            (Place::Away, _) | (Place::Waiting(_), Some(_)) => return,
            (Place::Behind(gate, _), Some(key)) => Place::Behind(gate, key),
            (_, Some(key)) => Place::Ready(key),
            (_, None) => Place::Idle,
        };
        self.put(number, settled);
    }
}
