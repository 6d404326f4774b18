//! The purse kept a second time, from the events alone and in plain sums, and held against what the office did.

use crate::office::World;
use event::{Account, Event, Fact, GlobalPosition, HoldId, NanoUsd, RefusalSubject};
use fold::Projection;
use fold::purse::{AccountRow, Holds};
use record::Record;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Taken,
    Started,
    Settled,
    Released,
    Unknown,
}

struct Hold {
    state: State,
    amount: i64,
    accounts: Vec<Account>,
    origin: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    settled: i64,
    held: i64,
    unknown: i64,
    over: i64,
}

impl Sums {
    fn total(self) -> i64 {
        self.settled + self.held + self.unknown
    }
}

#[derive(Default)]
pub struct Ledger {
    seen: u64,
    holds: BTreeMap<HoldId, Hold>,
    accounts: BTreeMap<String, Sums>,
    limits: BTreeMap<String, i64>,
    /// The highest that each limit ever was.
    highest: BTreeMap<String, i64>,
    refused: BTreeMap<String, String>,
    /// Budgets whose refusal must follow in the commit that is being read.
    owed: BTreeSet<String>,
}

impl Ledger {
    pub fn holds(&self) -> usize {
        self.holds.len()
    }

    /// Reads what is new in the record, and checks after each event.
    pub async fn check(&mut self, record: &Record) {
        let events = record.read_all(GlobalPosition(self.seen), 100_000).await.unwrap();
        for event in &events {
            self.evolve(event);
            self.within_limits(event);
            self.seen = event.global_position.0;
        }
        assert!(self.owed.is_empty(), "an overrun did not refuse {:?}", self.owed);
    }

    fn evolve(&mut self, event: &Event) {
        match &event.fact {
            Fact::BudgetSet(body) => {
                self.limits.insert(body.budget.clone(), body.limit.0);
                let highest = self.highest.entry(body.budget.clone()).or_default();
                *highest = body.limit.0.max(*highest);
            }
            Fact::RefusalRaised(body) => {
                if let RefusalSubject::Budget(budget) = &body.subject {
                    self.owed.remove(budget);
                }
                self.refused.insert(body.subject.to_string(), body.refusal.to_string());
            }
            Fact::RefusalLifted(body) => {
                let subject = body.subject.to_string();
                if self.refused.get(&subject) == Some(&body.refusal.to_string()) {
                    self.refused.remove(&subject);
                }
            }
            Fact::HoldTaken(body) => {
                let hold = Hold {
                    state: State::Taken,
                    amount: body.amount.0,
                    accounts: body.accounts.clone(),
                    origin: body.origin.to_string(),
                };
                assert!(self.holds.insert(body.hold.clone(), hold).is_none(), "taken twice: {event:?}");
                for account in &body.accounts {
                    let sums = self.accounts.entry(account.key()).or_default();
                    sums.held += body.amount.0;
                    let limit = self.limits[&account.budget];
                    assert!(sums.total() <= limit, "{sums:?} on {account:?} of {limit}: {event:?}");
                    let subject = RefusalSubject::Budget(account.budget.clone()).to_string();
                    assert!(!self.refused.contains_key(&subject), "held on a refused budget: {event:?}");
                }
                assert!(body.accounts.len() >= 4, "every budget in play holds: {event:?}");
            }
            Fact::HoldStarted(body) => {
                let hold = self.holds.get_mut(&body.hold).unwrap();
                assert_eq!(hold.state, State::Taken, "{event:?}");
                hold.state = State::Started;
            }
            Fact::HoldSettled(body) => {
                if body.charged > body.held {
                    self.owed.extend(body.accounts.iter().map(|account| account.budget.clone()));
                }
                let (charged, held) = (body.charged.0, body.held.0);
                self.end(&body.hold, State::Settled, |sums| {
                    sums.settled += charged;
                    sums.over += (charged - held).max(0);
                });
            }
            Fact::HoldReleased(body) => self.end(&body.hold, State::Released, |_| {}),
            Fact::HoldLeftUnknown(body) => {
                let held = body.held.0;
                self.end(&body.hold, State::Unknown, |sums| sums.unknown += held);
            }
            _ => {}
        }
    }

    fn end(&mut self, id: &HoldId, state: State, change: impl Fn(&mut Sums)) {
        let hold = self.holds.get_mut(id).unwrap();
        assert!(matches!(hold.state, State::Taken | State::Started), "{id} ends twice");
        hold.state = state;
        for account in &hold.accounts {
            let sums = self.accounts.get_mut(&account.key()).unwrap();
            sums.held -= hold.amount;
            change(sums);
        }
    }

    fn within_limits(&self, event: &Event) {
        for (key, sums) in &self.accounts {
            let budget = key.rsplit_once('/').unwrap().0;
            assert!(sums.held >= 0 && sums.settled >= 0, "{key} {sums:?} after {event:?}");
            assert!(sums.total() <= self.highest[budget] + sums.over, "{key} {sums:?} after {event:?}");
        }
    }

    /// When all is over.
    pub async fn check_end(&self, record: &Record, world: &World) {
        for (effect, count) in world.sent() {
            assert_eq!(count, 1, "{effect} was sent {count} times");
        }
        let left = world.left();
        for (id, hold) in &self.holds {
            assert!(!matches!(hold.state, State::Taken | State::Started), "{id} is still open");
            let given_back = hold.state == State::Released;
            assert!(!given_back || !left.contains(&hold.origin), "{id} was given back and its call had left");
        }
        assert!(record.ranked(Holds.name(), i64::MIN, 10).await.unwrap().is_empty());
        for (key, sums) in &self.accounts {
            let row: AccountRow = fold::decode(record.row("account", key).await.unwrap().as_ref()).unwrap();
            let said = AccountRow {
                settled: NanoUsd(sums.settled),
                held: NanoUsd(sums.held),
                unknown: NanoUsd(sums.unknown),
                over: NanoUsd(sums.over),
            };
            assert_eq!(row, said, "{key}");
        }
        let live = record.rows_digest().await.unwrap();
        record.rebuild().await.unwrap();
        assert_eq!(record.rows_digest().await.unwrap(), live, "the rows are not what the events say");
    }
}
