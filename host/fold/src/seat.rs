//! Who may call what: the grants of a seat.

use event::SeatCreated;

/// Whether `seat` was granted `tool`: by its name, or by its family as `family.*`.
#[must_use]
pub fn holds_grant(seat: &SeatCreated, tool: &str) -> bool {
    let in_family = |grant: &str| {
        let family = grant.strip_suffix('*').filter(|family| family.ends_with('.'));
        family.is_some_and(|family| tool.len() > family.len() && tool.starts_with(family))
    };
    seat.grants.iter().any(|grant| grant == tool || in_family(grant))
}

#[cfg(test)]
mod tests {
    use super::holds_grant;
    use event::{SeatCreated, SeatId};

    #[test]
    fn a_grant_covers_its_tool_or_its_family_and_nothing_that_only_looks_alike() {
        let seat = SeatCreated {
            seat: SeatId::parse("seat_a").unwrap(),
            role: "assistant".into(),
            department: None,
            line: None,
            grants: vec!["web.*".into(), "slack.post".into()],
        };
        for (tool, held) in [
            ("web.fetch", true),
            ("slack.post", true),
            ("slack.react", false),
            ("webhook.send", false),
            ("we", false),
            ("web", false),
            ("web.", false),
        ] {
            assert_eq!(holds_grant(&seat, tool), held, "{tool}");
        }
    }
}
