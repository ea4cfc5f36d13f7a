//! The change from one order of the frontier to the next, in steps that each cost next to nothing.
//!
//! First every waiting link is queued a second time, under its new key, then the hosts change over one
//! by one, each by an exchange of its two queues, and at last the new priorities become the only ones.
//! Whatever happens to a link in between happens to both of its priorities.

use super::link_heap::LinkHeap;
use super::links::Links;
use super::new_scores::Line;

/// How far it has come.
#[derive(Debug, Default)]
pub(super) struct Switching {
    /// The second queues, by host: the waiting links of slots below `gathered`.
    queues: Vec<LinkHeap>,
    gathered: u32,
    /// Hosts below have changed over.
    switched: u32,
    /// Slots below have one priority again.
    settled: u32,
}

/// A step of the way, of which the one who asked takes care at once.
#[derive(Debug)]
pub(super) enum Step {
    /// The link in this slot, if one waits there, is to be queued a second time.
    Gather(u32),
    /// This host has changed over, and this is its queue.
    Switch(u32, LinkHeap),
    /// The new score of this slot is to become the only one.
    Settle(u32),
    /// All is done.
    End,
}

/// All of them, also those to come.
const ALL: u32 = u32::MAX;

impl Switching {
    pub(super) fn has_switched(&self, host: u32) -> bool {
        host < self.switched
    }

    /// The share of `hosts` that have changed over.
    pub(super) fn share(&self, hosts: usize) -> f64 {
        if self.switched == ALL {
            return 1.0;
        }
        f64::from(self.switched) / hosts.max(1) as f64
    }

    /// Queues the waiting link in `slot`, unless its turn is still to come or its host has changed over.
    /// `waiting` links wait at the host.
    pub(super) fn push(&mut self, host: u32, waiting: u32, slot: u32, links: &mut Links) {
        if slot >= self.gathered || self.has_switched(host) {
            return;
        }
        let at = host as usize;
        if self.queues.len() <= at {
            self.queues.resize_with(at + 1, LinkHeap::default);
        }
        let queue = &mut self.queues[at];
        if !queue.has_room() {
            queue.reserve(waiting as usize);
        }
        queue.insert(slot, links, Line::Second);
    }

    /// The waiting link in `slot` has another new key than before.
    pub(super) fn moved(&mut self, host: u32, slot: u32, links: &mut Links) {
        if let Some(queue) = self.second_of(host, slot, links) {
            queue.moved(slot, links, Line::Second);
        }
    }

    /// The link in `slot` waits no longer.
    pub(super) fn strike_off(&mut self, host: u32, slot: u32, links: &mut Links) {
        if let Some(queue) = self.second_of(host, slot, links) {
            queue.remove(slot, links, Line::Second);
        }
    }

    /// The second queue of the host, if it has not changed over and the link stands there.
    fn second_of(&mut self, host: u32, slot: u32, links: &Links) -> Option<&mut LinkHeap> {
        if self.has_switched(host) {
            return None;
        }
        links.new_place(slot)?;
        self.queues.get_mut(host as usize)
    }

    /// What is to be done next, where there are `slots` slots and `hosts` hosts.
    pub(super) fn next(&mut self, slots: u32, hosts: usize) -> Step {
        if self.gathered < slots {
            self.gathered += 1;
            return Step::Gather(self.gathered - 1);
        }
        self.gathered = ALL;
        let number = self.switched;
        if (number as usize) < hosts {
            self.switched += 1;
            let queue = self.queues.get_mut(number as usize);
            return Step::Switch(number, queue.map(std::mem::take).unwrap_or_default());
        }
        self.switched = ALL;
        self.queues = Vec::new();
        if self.settled < slots {
            self.settled += 1;
            return Step::Settle(self.settled - 1);
        }
        Step::End
    }
}
