//! What somebody types after `chancery account`.

use crate::seat::ActArgs;
use clap::{Args, Subcommand};
use event::{PrincipalId, SeatId};

/// Connect accounts and take them back.
#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// List the accounts that are connected: whose, for which seats, and until when.
    List,
    /// Connect your account at a service, or the organisation's. A browser asks you there; a token can be typed instead.
    ///
    /// What was read with your account is yours: it is told to nobody else, unless you say yes to a send, or
    /// `account disclose` says where.
    Connect(ConnectArgs),
    /// Take an account back: no call uses it from now on, and the service is told.
    Remove(RemoveArgs),
    /// Say where may be told what is read with your accounts, in place of what you said before.
    Disclose {
        /// Destinations as tools name them, such as `C0123456789` of Slack or `ann@example.com`.
        #[arg(required_unless_present = "nowhere")]
        destinations: Vec<String>,
        /// Nowhere but to you.
        #[arg(long, conflicts_with = "destinations")]
        nowhere: bool,
        /// In which seat.
        #[command(flatten)]
        act: ActArgs,
    },
}

/// What to connect.
#[derive(Debug, Args)]
pub struct ConnectArgs {
    /// The service: the `name` of an `[[account]]`.
    pub service: String,
    /// The organisation's account, which is used where nobody's own is.
    #[arg(long)]
    pub organisation: bool,
    /// Read a token from standard input instead of asking in a browser.
    #[arg(long)]
    pub token: bool,
    /// A seat that may use it, as far as policy lets it; may be repeated. Any seat when there is none.
    #[arg(long = "seat", value_name = "SEAT", value_parser = SeatId::parse)]
    pub seats: Vec<SeatId>,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}

/// What to take back.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// The service, or the credential of one that the configuration no longer names.
    pub service: String,
    /// The organisation's account.
    #[arg(long)]
    pub organisation: bool,
    /// Another person's account, `person_…`, as the owner.
    #[arg(long, value_name = "PERSON", value_parser = PrincipalId::parse, conflicts_with = "organisation")]
    pub of: Option<PrincipalId>,
    /// Why.
    #[arg(long, default_value = "asked for", value_name = "TEXT")]
    pub reason: String,
    /// In which seat.
    #[command(flatten)]
    pub act: ActArgs,
}
