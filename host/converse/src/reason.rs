//! Why a delivery has its class: one word for each rung of the ladder. The words are part of the record and
//! never change their meaning.
//!
//! A reason decides the class, so a class that contradicts its reason cannot be written. Deliberately
//! absent: free text. What a person needs beyond the word is in the delivery.

use event::Class;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident $word:literal $class:ident,)+) => {
        /// Which rung of the ladder decided.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Reason {
            /// Every reason, in the order of the ladder.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The stable word that the record keeps.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// The class it puts a delivery in.
            #[must_use]
            pub fn class(self) -> Class {
                match self { $(Self::$name => Class::$class,)+ }
            }

            /// What it means, in one sentence for people.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

reasons! {
    /// Its words were erased before it had its class.
    Erased "erased" Ignored,
    /// Who the office is on Slack is not known yet, so its own messages could not be told from others.
    IdentityUnknown "identity-unknown" Context,
    /// The office said it itself.
    OwnMessage "own-message" Ignored,
    /// Another program said or did it, or Slack did.
    BotMessage "bot-message" Ignored,
    /// Another program mentions the office in this very message, and may talk with it.
    BotMention "bot-mention" Explicit,
    /// A message that nobody said: a notice of Slack, or a subtype this office does not know.
    UnsupportedSubtype "unsupported-subtype" Ignored,
    /// A message changed and its text did not: a link was unfolded, or only its metadata changed.
    EditWithoutNews "edit-without-news" Ignored,
    /// Somebody changed what they had said.
    Edit "edit" Context,
    /// Somebody took back what they had said.
    Deletion "deletion" Context,
    /// A message or click without an author, a conversation or a timestamp: it could not be answered, or told from another.
    IncompleteMessage "incomplete-message" Ignored,
    /// It begins by naming somebody else and does not name the office.
    AddressedToAnother "addressed-to-another" Context,
    /// A guest, someone of another organisation, or a channel shared with one: not answered without leave.
    ExternalPerson "external-person" Context,
    /// Said at a terminal session, which is with the office.
    Terminal "terminal" Explicit,
    /// It asks the office to try something without doing it: what would be sent is kept and shown to whoever asked.
    Drill "drill" Explicit,
    /// It mentions the office.
    Mention "mention" Explicit,
    /// It calls the office by its name.
    NameCalled "name-called" Explicit,
    /// Said in the office's assistant view.
    AssistantThread "assistant-thread" Explicit,
    /// Said to the office in a direct message.
    DirectMessage "direct-message" Explicit,
    /// Nothing but emoji, in a place where nobody asked the office.
    EmojiOnly "emoji-only" Ignored,
    /// Said in a channel, to everyone there.
    ChannelMessage "channel-message" Passive,
    /// Another delivery of a message that already has its class, and says nothing new about it.
    Duplicate "duplicate" Ignored,
    /// The office itself did it: a reaction, a pin, a file.
    OwnAct "own-act" Ignored,
    /// Somebody reacted, or took a reaction back.
    Reaction "reaction" Context,
    /// Somebody, perhaps the office, joined or left a conversation.
    Membership "membership" Context,
    /// A conversation was made, renamed, shared, archived, opened or emptied.
    ConversationChange "conversation-change" Context,
    /// A file or a comment on one came, changed or went.
    File "file" Context,
    /// Something was pinned or unpinned.
    Pin "pin" Context,
    /// Somebody starred something for themselves.
    Star "star" Ignored,
    /// A link to a domain of the office was posted.
    LinkShared "link-shared" Context,
    /// Metadata was put on a message, changed or taken off.
    MessageMetadata "message-metadata" Ignored,
    /// Somebody opened a thread of the assistant view.
    AssistantOpened "assistant-opened" Context,
    /// What somebody looks at in the assistant view changed; nothing was said.
    AssistantView "assistant-view" Context,
    /// Somebody opened the office's Home tab.
    AppHome "app-home" Ignored,
    /// The workspace changed: its name, its people, their groups, its emoji.
    DirectoryChange "directory-change" Ignored,
    /// A call or a huddle began, changed or ended.
    Call "call" Ignored,
    /// A workflow or a function step ran or changed.
    Workflow "workflow" Ignored,
    /// The app was installed, removed, or given other rights.
    InstallationChange "installation-change" Ignored,
    /// Slack sent less than it had: the workspace was over its limit of deliveries.
    RateLimited "rate-limited" Ignored,
    /// Slack spoke about the connection itself.
    ConnectionNotice "connection-notice" Ignored,
    /// An event callback without an event.
    EmptyEvent "empty-event" Ignored,
    /// Somebody of the workspace used a button of an approval card; whether it counts, the gate says.
    ApprovalAnswer "approval-answer" Explicit,
    /// Somebody of the workspace said with a button what became of an effect; whether it counts, the gate says.
    EffectAnswer "effect-answer" Explicit,
    /// Somebody of the workspace chose something on their Home tab; whether it counts, the record says.
    HomeSetting "home-setting" Ignored,
    /// Somebody used another button, a menu or another element.
    BlockAction "block-action" Ignored,
    /// Somebody asked for the options of a menu.
    OptionRequest "option-request" Ignored,
    /// Somebody of the workspace asks the office something with its form; it is asked where they want it answered.
    FormQuestion "form-question" Explicit,
    /// Somebody submitted another form.
    ViewSubmission "view-submission" Ignored,
    /// Somebody dismissed a form.
    ViewDismissal "view-dismissal" Ignored,
    /// Somebody of the workspace asks the office about a message, with a shortcut on it.
    MessageShortcut "message-shortcut" Explicit,
    /// Somebody of the workspace wants the form in which the office is asked something.
    FormWanted "form-wanted" Ignored,
    /// Somebody used another shortcut.
    Shortcut "shortcut" Ignored,
    /// Somebody used the office's slash command.
    SlashCommand "slash-command" Ignored,
    /// Slack checked that the address is ours.
    UrlVerification "url-verification" Ignored,
    /// Slack checked the certificate of the address.
    SslCheck "ssl-check" Ignored,
    /// A type this office does not know; kept as it came.
    UnknownType "unknown-type" Ignored,
}

#[cfg(test)]
mod tests {
    use super::Reason;
    use std::collections::BTreeSet;

    #[test]
    fn each_reason_has_a_word_and_a_meaning_of_its_own() {
        let words: BTreeSet<_> = Reason::ALL.iter().map(|r| r.word()).collect();
        let meanings: BTreeSet<_> = Reason::ALL.iter().map(|r| r.meaning()).collect();
        assert_eq!((words.len(), meanings.len()), (Reason::ALL.len(), Reason::ALL.len()));
        for reason in Reason::ALL {
            let plain = |b: u8| b.is_ascii_lowercase() || b == b'-';
            assert!(reason.word().bytes().all(plain), "{}", reason.word());
            assert!(
                reason.meaning().ends_with('.') && !reason.meaning().starts_with(' '),
                "{}",
                reason.meaning()
            );
        }
    }
}
