//! What an operator types after `chancery seat`.

use clap::{Args, Subcommand};
use event::{PrincipalId, SeatId};

/// Look at the seats and change them.
#[derive(Debug, Subcommand)]
pub enum SeatCommand {
    /// List the seats: role, holder, the seat each reports to, and what waits for it.
    List,
    /// Show one seat: its grants, what it answers for, its line up to the top, and what waits for it.
    Show {
        /// The seat, `seat_…`.
        #[arg(value_parser = SeatId::parse)]
        seat: SeatId,
    },
    /// Make a seat.
    Create(CreateArgs),
    /// Make a seat another from now on. What is not named stays as it is.
    Change(ChangeArgs),
    /// Let a principal hold a seat from now on. The queue of the seat stays with the seat.
    Hold {
        /// The seat, `seat_…`.
        #[arg(value_parser = SeatId::parse)]
        seat: SeatId,
        /// Who: `agent_…` takes turns by itself, `person_…` does not.
        #[arg(value_parser = PrincipalId::parse)]
        principal: PrincipalId,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
    /// Let nobody hold a seat: it takes no turns, and the seat that stands in for it works for it.
    Vacate {
        /// The seat, `seat_…`.
        #[arg(value_parser = SeatId::parse)]
        seat: SeatId,
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
}

/// In which seat the operator acts.
#[derive(Clone, Debug, Args)]
pub struct ActArgs {
    /// Act in another seat that the owner holds, with what that seat may do.
    #[arg(long = "as", value_name = "SEAT", value_parser = SeatId::parse)]
    pub as_seat: Option<SeatId>,
}

/// A seat to make.
#[derive(Clone, Debug, Args)]
pub struct CreateArgs {
    /// The seat, `seat_…`.
    #[arg(value_parser = SeatId::parse)]
    pub seat: SeatId,
    /// The role that policies speak of.
    #[arg(long)]
    pub role: String,
    /// Its department.
    #[arg(long, value_name = "NAME")]
    pub department: Option<String>,
    /// The seat it reports to.
    #[arg(long, value_name = "SEAT", value_parser = SeatId::parse)]
    pub line: Option<SeatId>,
    /// What it may call (`web.fetch`, `web.*`, a model) or state (`record:<kind>`); may be repeated.
    #[arg(long = "grant", value_name = "GRANT")]
    pub grants: Vec<String>,
    /// What it answers for, a sentence; may be repeated, up to five times.
    #[arg(long = "accountability", value_name = "TEXT")]
    pub accountabilities: Vec<String>,
    /// The seat that works for it while it is vacant; without one, the seat it reports to.
    #[arg(long, value_name = "SEAT", value_parser = SeatId::parse)]
    pub stands_in: Option<SeatId>,
    /// Who holds it; nobody when absent.
    #[arg(long, value_name = "PRINCIPAL", value_parser = PrincipalId::parse)]
    pub holder: Option<PrincipalId>,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}

/// What becomes another of a seat.
#[derive(Clone, Debug, Args)]
pub struct ChangeArgs {
    /// The seat, `seat_…`.
    #[arg(value_parser = SeatId::parse)]
    pub seat: SeatId,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    /// The role that policies speak of.
    #[arg(long)]
    pub role: Option<String>,
    /// Its department.
    #[arg(long, value_name = "NAME", conflicts_with = "no_department")]
    pub department: Option<String>,
    /// It has no department.
    #[arg(long)]
    pub no_department: bool,
    /// The seat it reports to.
    #[arg(long, value_name = "SEAT", value_parser = SeatId::parse, conflicts_with = "no_line")]
    pub line: Option<SeatId>,
    /// It reports to no seat.
    #[arg(long)]
    pub no_line: bool,
    /// All that it may call or state, instead of what it may now; may be repeated.
    #[arg(long = "grant", value_name = "GRANT")]
    pub grants: Vec<String>,
    /// One grant more; may be repeated.
    #[arg(long = "add-grant", value_name = "GRANT")]
    pub add_grants: Vec<String>,
    /// One grant less; may be repeated.
    #[arg(long = "remove-grant", value_name = "GRANT")]
    pub remove_grants: Vec<String>,
    /// All that it answers for, instead of what it does now; may be repeated, up to five times.
    #[arg(long = "accountability", value_name = "TEXT", conflicts_with = "no_accountabilities")]
    pub accountabilities: Vec<String>,
    /// It answers for nothing.
    #[arg(long)]
    pub no_accountabilities: bool,
    /// The seat that works for it while it is vacant.
    #[arg(long, value_name = "SEAT", value_parser = SeatId::parse, conflicts_with = "no_stands_in")]
    pub stands_in: Option<SeatId>,
    /// The seat it reports to works for it while it is vacant.
    #[arg(long)]
    pub no_stands_in: bool,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}
