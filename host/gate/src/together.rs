//! How calls begin: several at once, and in one commit with what their caller has to say.
//!
//! Always holds: a call begins in the transaction that was judged by, on rows as they stand there; what the caller says
//! stands before it; and either all of that is written or nothing. What an earlier call came to can be among it: that
//! only gives room back, and where a call is refused for want of room it is asked again once that stands by itself.

use crate::approval::Question;
use crate::begin::{Begin, Beginning, Begun, MovedOn, NotBegun, Taken};
use crate::call::Call;
use crate::effect::captured;
use crate::going::{Came, Going};
use crate::guard::{GuardNo, GuardedCall};
use crate::known::Trust;
use crate::look::Seen;
use crate::outcome::earlier_label;
use crate::owed::Owed;
use crate::pass::{Gate, GateError, Passed};
use crate::permit::Admission;
use crate::reach::Output;
use crate::ready::Ready;
use crate::story::Story;
use crate::verdict::{Denial, Verdict};
use event::{ApprovalId, DeniedBy, Event, Timestamp};
use record::{Append, Decided, Error, Foreseen, Record, RowKey, Rows};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How often calls that are about to begin are judged anew: what they are judged by changes between a look and the
/// decision rarely once, and next to never twice.
pub(crate) const BEGIN_TRIES_MAX: u32 = 4;

/// What must still be so when calls begin, by rows as they stand in that transaction.
#[derive(Clone)]
pub struct Condition {
    /// The rows it looks at.
    pub reads: Vec<RowKey>,
    /// Whether it is so.
    pub is_met: Arc<dyn Fn(&Rows) -> bool + Send + Sync>,
}

/// What a caller has to say in the commit with which its calls begin.
#[derive(Clone, Default)]
pub struct Carried {
    /// What the record is owed of earlier calls.
    pub owed: Vec<Owed>,
    /// What else it says, after that.
    pub appends: Vec<Append>,
    /// What must still be so.
    pub condition: Option<Condition>,
}

impl Carried {
    /// Writes it down with nothing else; nothing, where its condition is not met.
    ///
    /// # Errors
    /// As [`Record::append_all`].
    pub async fn write(&self, record: &Record) -> Result<Option<Vec<Event>>, Error> {
        let (this, foreseen) = (self.clone(), self.foreseen());
        let decided = record
            .decide_foreseen(foreseen, move |rows, _| {
                if this.holds(rows) { Ok((this.all().cloned().collect(), ())) } else { Err(()) }
            })
            .await?;
        match decided {
            Decided::Appended { events, .. } => Ok(Some(events)),
            Decided::Rejected(()) => Ok(None),
        }
    }

    fn foreseen(&self) -> Foreseen {
        let mut foreseen = Foreseen::default();
        self.all().for_each(|append| foreseen.count_in(std::slice::from_ref(append)));
        foreseen.rows.extend(self.condition.iter().flat_map(|condition| condition.reads.iter().cloned()));
        foreseen
    }

    fn all(&self) -> impl Iterator<Item = &Append> {
        self.owed.iter().flat_map(Owed::appends).chain(&self.appends)
    }

    fn holds(&self, rows: &Rows) -> bool {
        self.condition.as_ref().is_none_or(|condition| (condition.is_met)(rows))
    }

    /// Whether it says what an earlier call came to.
    fn settles(&self) -> bool {
        self.owed.iter().any(|owed| !owed.is_nothing())
    }
}

/// What came of letting calls begin. `G` is a call that has begun.
#[derive(Debug)]
pub enum Began<G = Going> {
    /// Each was judged.
    Judged {
        /// What came of each, in order.
        calls: Vec<Begins<G>>,
        /// The events that were written, the caller's own among them; nothing where nothing had to be: what was carried
        /// is then still to be written.
        events: Option<Vec<Event>>,
    },
    /// Nothing was written: the condition is not met.
    Overtaken,
    /// Nothing was written: what was carried must stand by itself before these calls are judged.
    Apart,
}

/// What came of one of them.
#[derive(Debug)]
pub enum Begins<G = Going> {
    /// It has begun, and is made with [`Gate::go`].
    Goes(Box<G>),
    /// It came to something without being made.
    Came(Box<Came>),
    /// It waits for a person's yes, and what was asked stands.
    Waits {
        /// What was asked.
        approval: ApprovalId,
        /// When no answer becomes a no.
        expires_at: Timestamp,
    },
    /// It was not begun, because one before it waits for a person, or may change something outside.
    Behind,
}

/// What the pure half and the guards said to one call, as far as something follows from it in the commit.
enum Judged {
    Begins(Box<Beginning>),
    Asks(Box<Question>),
    Came(Box<Came>),
    Behind,
}

/// What the writer said to one of them.
enum Said {
    Began(Box<Beginning>, Result<Begun, NotBegun>),
    Asked(ApprovalId, Timestamp),
    Came(Box<Came>),
    Behind,
}

/// Why nothing was written.
enum Unwritten {
    Overtaken,
    Apart,
    Again(Timestamp),
}

/// What guards said to a call as they were shown it.
pub(crate) type GuardsSaid = Option<(GuardedCall, Option<GuardNo>)>;

impl Gate {
    /// Lets `calls` begin, in one commit with what is `carried`: each is judged by itself, the first that waits for a
    /// person holds up those behind it, and so does the first that may change something outside.
    ///
    /// # Errors
    /// [`GateError`] when the record cannot be used or no policy is in force. A no is no error.
    pub async fn begin(&self, calls: Vec<Call>, carried: Carried) -> Result<Began, GateError> {
        // What nobody holds any more must not stand in a call's way.
        self.clear_holds().await?;
        if carried.owed.iter().any(|owed| !owed.can_wait()) {
            return Ok(Began::Apart);
        }
        let calls: Vec<Arc<Ready>> = calls.into_iter().map(|call| Arc::new(Ready::of(call))).collect();
        let mut guards: Vec<GuardsSaid> = calls.iter().map(|_| None).collect();
        let mut trust = Trust::Known;
        for _ in 0..BEGIN_TRIES_MAX {
            let Some(judged) = self.judge(&calls, &carried, trust, &mut guards).await? else {
                return Ok(Began::Apart);
            };
            if !judged.iter().any(|one| matches!(one, Judged::Begins(_) | Judged::Asks(_))) {
                return Ok(Began::Judged {
                    calls: judged.into_iter().map(unwritten).collect(),
                    events: None,
                });
            }
            match self.write(judged, carried.clone()).await? {
                Ok((said, events)) => {
                    let calls = said.into_iter().map(|said| self.begins(said)).collect();
                    return Ok(Began::Judged { calls, events: Some(events) });
                }
                Err(Unwritten::Overtaken) => return Ok(Began::Overtaken),
                Err(Unwritten::Apart) => return Ok(Began::Apart),
                Err(Unwritten::Again(at)) => {
                    self.moments.saw(at);
                    trust = Trust::Record;
                }
            }
        }
        Err(GateError::MovedOn)
    }

    /// What is said to each call; nothing where what is carried must stand by itself first.
    async fn judge(
        &self,
        calls: &[Arc<Ready>],
        carried: &Carried,
        trust: Trust,
        guards: &mut [GuardsSaid],
    ) -> Result<Option<Vec<Judged>>, GateError> {
        let mut judged = Vec::with_capacity(calls.len());
        let (mut waits, mut ends) = (false, false);
        for (ready, guards) in calls.iter().zip(guards) {
            if ends {
                judged.push(Judged::Behind);
                continue;
            }
            // The judgement of what a tool may do is a call itself.
            if carried.settles() && self.undeclared(&ready.call).is_some() {
                return Ok(None);
            }
            let (verdict, seen) = self.verdict(ready, trust, guards).await?;
            let effect = matches!(&verdict, Verdict::Admitted(admission) if admission.effect.is_effect());
            ends = effect && calls.len() > 1;
            judged.push(match verdict {
                Verdict::Refused(_) if carried.settles() => return Ok(None),
                Verdict::Asks(asking) => {
                    waits = true;
                    Judged::Asks(Box::new(self.question(ready, asking)))
                }
                _ if waits => Judged::Behind,
                Verdict::Admitted(_) if effect && judged_any_begin(&judged) => Judged::Behind,
                Verdict::Admitted(admission) => {
                    Judged::Begins(Box::new(self.beginning(ready, admission, seen)))
                }
                Verdict::Denied(denial) => Judged::Came(Box::new(Came::denied(ready, denial))),
                Verdict::Refused(refusal) => Judged::Came(Box::new(Came::refused(ready, refusal))),
            });
        }
        Ok(Some(judged))
    }

    fn beginning(&self, ready: &Ready, admission: Admission, seen: Seen) -> Beginning {
        let call = ready.call.clone();
        let priced = admission.hold.as_ref();
        let names = priced.map(|price| price.accounts.iter().map(|account| account.budget.clone()).collect());
        Beginning {
            subjects: crate::admit::subjects(&call, self.parts.catalogue.as_ref(), names.unwrap_or_default()),
            effect: self.effect_of(&call, &admission),
            drill: self.parts.drill || call.drill,
            story: ready.story.clone(),
            call,
            admission,
            seen,
        }
    }

    /// Takes the holds on every budget in play, or on none, and records what is intended and asked, in one commit.
    async fn write(
        &self,
        judged: Vec<Judged>,
        carried: Carried,
    ) -> Result<Result<(Vec<Said>, Vec<Event>), Unwritten>, GateError> {
        let mut foreseen = carried.foreseen();
        for one in &judged {
            match one {
                Judged::Begins(beginning) => beginning.count_in(&mut foreseen),
                Judged::Asks(question) => question.count_in(&mut foreseen),
                Judged::Came(_) | Judged::Behind => {}
            }
        }
        let decide = move |rows: &Rows, at: Timestamp| written(judged, &carried, rows, at);
        Ok(match self.parts.record.decide_foreseen(foreseen, decide).await? {
            Decided::Appended { events, value } => Ok((value, events)),
            Decided::Rejected(why) => Err(why),
        })
    }

    fn begins(&self, said: Said) -> Begins {
        match said {
            Said::Behind => Begins::Behind,
            Said::Came(came) => Begins::Came(came),
            Said::Asked(approval, expires_at) => Begins::Waits { approval, expires_at },
            Said::Began(beginning, Ok(begun)) => {
                self.moments.saw(begun.at);
                let Beginning { call, admission, story, .. } = *beginning;
                Begins::Goes(Box::new(Going { call, admission, begun, story }))
            }
            Said::Began(beginning, Err(not_begun)) => {
                let Beginning { call, admission, story, .. } = *beginning;
                Begins::Came(Box::new(not_begun_came(&call, &admission, &story, not_begun)))
            }
        }
    }
}

fn judged_any_begin(judged: &[Judged]) -> bool {
    judged.iter().any(|one| matches!(one, Judged::Begins(_)))
}

/// What needs no commit of the gate's.
fn unwritten(judged: Judged) -> Begins {
    match judged {
        Judged::Came(came) => Begins::Came(came),
        _ => Begins::Behind,
    }
}

/// What is decided inside the writer.
fn written(
    judged: Vec<Judged>,
    carried: &Carried,
    rows: &Rows,
    at: Timestamp,
) -> Result<(Vec<Append>, Vec<Said>), Unwritten> {
    if !carried.holds(rows) {
        return Err(Unwritten::Overtaken);
    }
    let mut appends: Vec<Append> = carried.all().cloned().collect();
    let (mut said, mut taken) = (Vec::with_capacity(judged.len()), Taken::new());
    for one in judged {
        said.push(match one {
            Judged::Begins(beginning) => {
                let begin: Begin = beginning.decide(rows, at, &mut taken);
                let (more, outcome) = begin.map_err(|MovedOn(at)| Unwritten::Again(at))?;
                if carried.settles() && matches!(outcome, Err(NotBegun::Refused(_))) {
                    return Err(Unwritten::Apart);
                }
                appends.extend(more);
                Said::Began(beginning, outcome)
            }
            Judged::Asks(question) => {
                let Question { approval, .. } = &*question;
                let approval = approval.clone();
                let (more, expires_at) = question.decide(rows);
                appends.extend(more);
                Said::Asked(approval, expires_at)
            }
            Judged::Came(came) => Said::Came(came),
            Judged::Behind => Said::Behind,
        });
    }
    Ok((appends, said))
}

/// What an admitted call that was not begun came to.
fn not_begun_came(call: &Call, admission: &Admission, story: &Story, not_begun: NotBegun) -> Came {
    let done = |output, label| Passed::Done {
        output: Output::Tool(output),
        label,
        receipts: Vec::new(),
        of: BTreeSet::new(),
    };
    let passed = match not_begun {
        NotBegun::Refused(refusal) => {
            let owed = Owed::facts(call, story.refused(&refusal));
            return Came { passed: Passed::Refused(refusal), owed };
        }
        NotBegun::Denied(reason) => {
            let denial = Denial {
                by: DeniedBy::Approval,
                resource: admission.resource.text().to_owned(),
                policies: Vec::new(),
                policy_set: admission.policy_set.clone(),
                reason,
                quotes: None,
                account: admission.account.clone(),
                violates_flow: admission.violates_flow,
                lacking: None,
            };
            let owed = Owed::facts(call, story.denied(&denial));
            return Came { passed: Passed::Denied(denial), owed };
        }
        NotBegun::AlreadySent(reference) => done(reference, earlier_label(admission).join(&call.label)),
        NotBegun::Captured(effect) => done(captured(&effect), call.label.clone()),
        NotBegun::OutcomeUnknown(reason) => Passed::Unknown { reason },
    };
    Came { passed, owed: Owed::nothing() }
}
