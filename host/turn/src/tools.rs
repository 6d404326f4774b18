//! The tools a turn may see: what its seat was granted, without those that answers go out by, and `finish`.

use crate::finish::{FINISH, offer};
use crate::manner::Manner;
use crate::next::Offer;
use event::SeatCreated;
use fold::seat::holds_grant;
use gate::{Catalogue, ToolOffer};

/// What is on offer to `seat`, in order of name, `finish` last. A grant is not yet a permission: policy
/// decides each call.
pub(crate) fn on_offer(
    catalogue: &dyn Catalogue,
    seat: &SeatCreated,
    answer_tools: &[&str],
    which: Offer,
    manner: Manner,
) -> Vec<ToolOffer> {
    let mut offers: Vec<ToolOffer> = match which {
        Offer::FinishOnly => Vec::new(),
        Offer::All => catalogue
            .tools()
            .iter()
            .filter(|tool| holds_grant(seat, &tool.name) && tool.name != FINISH)
            .filter(|tool| manner.offers(tool.effect))
            .filter(|tool| !answer_tools.contains(&tool.name.as_str()))
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
