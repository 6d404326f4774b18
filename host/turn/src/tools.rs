//! The tools a turn may see: what its seat was granted, without the one its answer goes out by, and `finish`.

use crate::finish::{FINISH, offer};
use crate::next::Offer;
use event::{ReplyTo, SeatCreated};
use fold::seat::holds_grant;
use gate::{Catalogue, ToolOffer};

/// What is on offer to `seat`, in order of name, `finish` last. A grant is not yet a permission: policy
/// decides each call.
pub(crate) fn on_offer(
    catalogue: &dyn Catalogue,
    seat: &SeatCreated,
    reply_to: Option<&ReplyTo>,
    which: Offer,
) -> Vec<ToolOffer> {
    let mut offers: Vec<ToolOffer> = match which {
        Offer::FinishOnly => Vec::new(),
        Offer::All => catalogue
            .tools()
            .iter()
            .filter(|tool| holds_grant(seat, &tool.name) && tool.name != FINISH)
            .filter(|tool| reply_to.is_none_or(|reply_to| tool.name != reply_to.tool))
            .map(|tool| ToolOffer {
                name: tool.name.clone(),
                description: tool.description.clone(),
                input_schema: tool.input_schema.clone(),
            })
            .collect(),
    };
    offers.sort_by(|a, b| a.name.cmp(&b.name));
    offers.push(offer());
    offers
}
