//! What somebody is told who would connect an account: what it is for, and the button that begins it.
//!
//! The words are shown to that person alone, since the address behind the button is theirs.

use super::Linked;
use crate::wire::Office;
use anyhow::Result;
use event::PrincipalId;

/// What is said to one person, and the button under it, where a browser can begin.
pub struct Offer {
    /// The words, as Markdown.
    pub text: String,
    /// What stands on the button, and the address it opens.
    pub link: Option<(String, String)>,
}

/// How `person` connects an account at the service that people call `name`.
///
/// # Errors
/// When the way out cannot be made, or the record was opened without keys.
pub fn offer(office: &Office, name: &str, person: &PrincipalId) -> Result<Offer> {
    let config = &office.config;
    let plain = |text: String| Ok(Offer { text, link: None });
    let Some(service) = config.services.iter().find(|service| service.name == name) else {
        return plain(format!("That cannot be connected: there is no service `{name}`."));
    };
    if service.by_browser().is_none() {
        return plain(format!(
            "An account at {name} is connected by a key, at this office's terminal: `chancery account connect {name}` asks \
             for it. Do not write it here."
        ));
    }
    let Some(linked) = Linked::of(config, &office.record, office.clock.clone())? else {
        return plain(format!(
            "Accounts are connected at this office's terminal, with `chancery account connect {name}`: it says no address \
             where browsers reach it."
        ));
    };
    let url = linked.link(name, person)?;
    let text = "The button counts for ten minutes and is yours alone: whoever opens it connects an account to you. What I \
                read with it I tell nobody but you."
        .to_owned();
    Ok(Offer { text, link: Some((format!("Connect your account at {name}"), url)) })
}
