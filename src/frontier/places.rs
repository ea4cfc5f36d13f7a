//! Which hosts are ready, which wait, and which stand in line behind an address that they share.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use super::Held;
use super::host_queue::{Host, Place};
use super::links::OrderKey;
use crate::clock::Timestamp;

/// The hosts in order. Each is where its [`Place`] says, and nowhere else: [`put`](Self::put) is the one
/// way there.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The ready hosts, and of each open gate the best one.
    ready: BTreeSet<(OrderKey, u32)>,
    waiting: BTreeSet<(Timestamp, u32)>,
    gates: Vec<Gate>,
    gate_numbers: HashMap<IpAddr, u32>,
    /// Gates that nobody stands behind.
    free_gates: Vec<u32>,
    /// The gates that open at a known time.
    opening: BTreeSet<(Timestamp, u32)>,
}

/// The hosts that an address has kept from being asked: thousands may share it. Only the best of them is
/// tried when there is room again, and the next one when that one has gone.
#[derive(Debug)]
struct Gate {
    address: IpAddr,
    hosts: BTreeSet<(OrderKey, u32)>,
    /// `None` if it is open.
    shut: Option<Held>,
}

impl Gate {
    /// The host that may try.
    fn front(&self) -> Option<(OrderKey, u32)> {
        self.hosts.first().copied().filter(|_| self.shut.is_none())
    }
}

impl Places {
    /// Takes the host out of wherever it stands, and puts it to `place`.
    pub(super) fn put(&mut self, number: u32, host: &mut Host, place: Place) {
        let old = host.place();
        if old == place {
            return;
        }
        match old {
            Place::Ready(key) => {
                self.ready.remove(&(key, number));
            }
            Place::Waiting(until) => {
                self.waiting.remove(&(until, number));
            }
            Place::Behind(gate, key) => self.change_gate(gate, |gate| {
                gate.hosts.remove(&(key, number));
            }),
            Place::Idle | Place::Away => {}
        }
        match place {
            Place::Ready(key) => {
                self.ready.insert((key, number));
            }
            Place::Waiting(until) => {
                self.waiting.insert((until, number));
            }
            Place::Behind(gate, key) => self.change_gate(gate, |gate| {
                gate.hosts.insert((key, number));
            }),
            Place::Idle | Place::Away => {}
        }
        host.set_place(place);
        if let Place::Behind(gate, _) = old {
            self.free_if_empty(gate);
        }
    }

    /// The address of the host, whose best link has `key`, is `held`: so is whoever stands behind it.
    pub(super) fn put_behind(
        &mut self,
        (address, held): (IpAddr, Held),
        (number, key): (u32, OrderKey),
        host: &mut Host,
    ) {
        let gate = self.gate_of(address);
        self.shut(gate, Some(held));
        self.put(number, host, Place::Behind(gate, key));
    }

    /// A host behind the address has come back from a lease.
    pub(super) fn open(&mut self, address: IpAddr) {
        if let Some(gate) = self.gate_numbers.get(&address) {
            self.shut(*gate, None);
        }
    }

    /// Opens the gates whose time has come.
    pub(super) fn open_until(&mut self, now: Timestamp) {
        while let Some((until, gate)) = self.opening.first().copied()
            && until <= now
        {
            self.shut(gate, None);
        }
    }

    /// The first of the waiting hosts, if its time has come.
    pub(super) fn due(&self, now: Timestamp) -> Option<u32> {
        let (until, number) = self.waiting.first()?;
        (*until <= now).then_some(*number)
    }

    /// When the first of the waiting hosts, or of those behind a gate, may be asked.
    pub(super) fn first_waiting(&self) -> Option<Timestamp> {
        let of = |first: Option<&(Timestamp, u32)>| first.map(|(until, _)| *until);
        let first = [of(self.waiting.first()), of(self.opening.first())];
        first.into_iter().flatten().min()
    }

    /// The ready hosts, the one with the best link first; of those behind one address only the best.
    pub(super) fn ready(&self) -> impl Iterator<Item = (OrderKey, u32)> + '_ {
        self.ready.iter().copied()
    }

    /// How many will be ready at `now`.
    pub(super) fn ready_at(&self, now: Timestamp) -> usize {
        let until = ..=(now, u32::MAX);
        self.ready.len() + self.waiting.range(until).count() + self.opening.range(until).count()
    }

    /// Whether a host that stands there may be tried.
    pub(super) fn is_ready(&self, place: Place) -> bool {
        match place {
            Place::Ready(_) => true,
            Place::Behind(gate, _) => self.gates[gate as usize].shut.is_none(),
            Place::Idle | Place::Waiting(_) | Place::Away => false,
        }
    }

    fn gate_of(&mut self, address: IpAddr) -> u32 {
        if let Some(gate) = self.gate_numbers.get(&address) {
            return *gate;
        }
        let new = Gate {
            address,
            hosts: BTreeSet::new(),
            shut: None,
        };
        let gate = if let Some(gate) = self.free_gates.pop() {
            self.gates[gate as usize] = new;
            gate
        } else {
            self.gates.push(new);
            u32::try_from(self.gates.len() - 1).unwrap_or(u32::MAX)
        };
        self.gate_numbers.insert(address, gate);
        gate
    }

    fn shut(&mut self, gate: u32, shut: Option<Held>) {
        if let Some(Held::Until(until)) = self.gates[gate as usize].shut {
            self.opening.remove(&(until, gate));
        }
        if let Some(Held::Until(until)) = shut {
            self.opening.insert((until, gate));
        }
        self.change_gate(gate, |gate| gate.shut = shut);
    }

    /// Changes a gate; its front is among the ready hosts afterwards, and nobody else from there.
    fn change_gate(&mut self, gate: u32, change: impl FnOnce(&mut Gate)) {
        let gate = &mut self.gates[gate as usize];
        let old = gate.front();
        change(gate);
        let front = gate.front();
        if old != front {
            if let Some(old) = old {
                self.ready.remove(&old);
            }
            self.ready.extend(front);
        }
    }

    fn free_if_empty(&mut self, gate: u32) {
        let Gate { address, hosts, .. } = &self.gates[gate as usize];
        if hosts.is_empty() {
            self.gate_numbers.remove(address);
            self.shut(gate, None);
            self.free_gates.push(gate);
        }
    }
}
