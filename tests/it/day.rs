//! A day of five hundred messages, with everything that goes wrong on one: what the office said, where, and why.

use event::{Choice, Class, Event, Fact, GlobalPosition, TurnEnding};
use record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};
use tests::courier::{Brought, Courier};
use tests::day::{CHANNELS, Day, Dice, Kind, MESSAGES, PEOPLE, Said, number_in};
use tests::office::guests;
use tests::slack::{BOT_USER, TEAM};
use tests::{Host, Kit, Provider};

/// The day that is played; another number is another day. `CHANCERY_DAY` names one.
const SEED: u64 = 20_261_130;
/// The model of the day.
const MODEL: &str = "anthropic/claude-opus-5-5";
/// How often the host is killed in the middle of it.
const CUTS: usize = 5;
/// How long the day may take to come to rest after the last delivery, in seconds.
const REST_S: u64 = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_day_of_five_hundred_messages_nothing_is_said_twice_or_in_the_wrong_place_and_all_have_a_reason()
{
    let seed = std::env::var("CHANCERY_DAY").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    let day = Day::of(seed);
    let provider = Provider::serve().await;
    let brain = day.brain();
    provider.answers(move |request| brain(&request.body));
    let kit = kit(&provider).await;
    let config = kit.write();
    let mut dice = Dice::new(seed ^ 1);
    let mut courier = Courier::new(day.deliveries.clone(), &mut dice);
    let whole = courier.left();
    let mut host = Host::serve(&config).await;
    courier.office_is(Some(&host.url));
    courier.start();
    for cut in 1..=CUTS {
        while courier.left() > whole - whole * cut / (CUTS + 1) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        tokio::time::sleep(Duration::from_millis(u64::try_from(dice.roll(300)).unwrap())).await;
        courier.office_is(None);
        host.kill();
        host = Host::serve(&config).await;
        courier.office_is(Some(&host.url));
    }
    courier.done().await;
    let events = at_rest(kit.folder()).await;
    host.kill();
    let story = Story::of(&day, &kit, &events, courier.brought());
    let told = story.told();
    let file = guests().with_file_name("day.md");
    std::fs::write(&file, &told).unwrap();
    println!("{told}\n(also in {})", file.display());
    story.every_delivery_has_one_reason();
    story.every_message_is_there_once_and_decided_once();
    story.nothing_is_said_twice_or_in_the_wrong_place();
    story.whoever_asked_was_heard_and_whoever_is_outside_was_not();
    let verified = tests::host::run(&config, &["record", "verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

async fn kit(provider: &Provider) -> Kit {
    let mut kit = Kit::new().await;
    std::fs::write(kit.folder().join("key"), "sk-not-a-key-0123456789").unwrap();
    kit.model = MODEL.to_owned();
    kit.lease_ms = 3_000;
    kit.day = "900.00".to_owned();
    kit.month = "900.00".to_owned();
    kit.loopback.push(provider.origin.clone());
    let modes: String = CHANNELS
        .iter()
        .filter(|(_, _, mode)| *mode != "direct")
        .map(|(channel, _, mode)| format!("{channel} = \"{mode}\"\n"))
        .collect();
    write!(
        kit.more,
        "[converse]\nmodel = \"{MODEL}\"\nnames = [\"Ada\"]\n[converse.channels]\n{modes}\
         [credentials.\"anthropic.api-key\"]\nfile = \"key\"\nheader = \"x-api-key\"\n[[plugin]]\nname = \"anthropic\"\n\
         file = \"{}\"\nsettings = {{ base_url = \"{1}\" }}\n[[plugin.route]]\nmethods = [\"POST\"]\norigin = \"{1}\"\n\
         path_prefix = \"/v1/messages\"\ncredential = \"anthropic.api-key\"\n",
        guests().join("anthropic.wasm").display(),
        provider.origin,
    )
    .unwrap();
    kit
}

async fn record(folder: &Path) -> Vec<Event> {
    let record = Record::open_sqlite_read_only(&folder.join("office.sqlite")).await.unwrap();
    let mut events: Vec<Event> = Vec::new();
    loop {
        let page = record.read_all(GlobalPosition(events.len() as u64), 2_000).await.unwrap();
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

/// The record once nothing more comes: every delivery has its class, every turn its end, and it is quiet.
async fn at_rest(folder: &Path) -> Vec<Event> {
    let began = Instant::now();
    let mut before = 0;
    loop {
        let events = record(folder).await;
        let count = |kind: &str| events.iter().filter(|event| event.fact.kind() == kind).count();
        let classified = count("delivery.received") == count("delivery.classified");
        if classified && count("turn.opened") == count("turn.ended") && events.len() == before {
            return events;
        }
        assert!(
            began.elapsed().as_secs() < REST_S,
            "it never came to rest: {} deliveries of which {} have a class, {} turns of which {} ended",
            count("delivery.received"),
            count("delivery.classified"),
            count("turn.opened"),
            count("turn.ended"),
        );
        before = events.len();
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

/// What became of the day.
struct Story<'a> {
    day: &'a Day,
    events: &'a [Event],
    brought: Brought,
    posts: Vec<serde_json::Value>,
    reactions: Vec<serde_json::Value>,
    /// The message of each event.
    numbers: BTreeMap<event::EventId, usize>,
}

impl<'a> Story<'a> {
    fn of(day: &'a Day, kit: &Kit, events: &'a [Event], brought: Brought) -> Self {
        let by_ts: BTreeMap<(&str, &str), usize> =
            day.said.iter().map(|said| ((said.channel, said.ts.as_str()), said.number)).collect();
        let numbers = events.iter().filter_map(|event| match &event.fact {
            Fact::MessageReceived(body) => {
                let number = by_ts.get(&(body.place.channel.as_str(), body.place.ts.as_str()))?;
                Some((event.id.clone(), *number))
            }
            _ => None,
        });
        let numbers = numbers.collect();
        Self { day, events, brought, posts: kit.slack.posts(), reactions: kit.slack.reactions(), numbers }
    }

    fn said(&self, number: usize) -> &Said {
        self.day
            .said
            .iter()
            .find(|said| said.number == number)
            .unwrap_or_else(|| panic!("nobody said #{number}"))
    }

    fn every_delivery_has_one_reason(&self) {
        let mut reasons: BTreeMap<&event::EventId, Vec<&str>> = BTreeMap::new();
        for event in self.events {
            match &event.fact {
                Fact::DeliveryReceived(_) => drop(reasons.entry(&event.id).or_default()),
                Fact::DeliveryClassified(body) => {
                    reasons.entry(&body.delivery).or_default().push(&body.reason)
                }
                _ => {}
            }
        }
        assert_eq!(reasons.len(), self.day.deliveries.len(), "each delivery is on the record once");
        let wrong: Vec<_> = reasons.iter().filter(|(_, reasons)| reasons.len() != 1).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    fn every_message_is_there_once_and_decided_once(&self) {
        let there: BTreeSet<usize> = self.numbers.values().copied().collect();
        assert_eq!((self.numbers.len(), there.len()), (MESSAGES, MESSAGES));
        let mut decided: BTreeMap<usize, usize> = BTreeMap::new();
        for event in self.events {
            if let Fact::TriageDecided(body) = &event.fact {
                *decided.entry(self.numbers[&body.message]).or_default() += 1;
            }
        }
        assert!(decided.values().all(|count| *count == 1), "{decided:?}");
        for (number, class) in self.classes() {
            let steered = self.steered().contains(&number);
            let weighed = decided.contains_key(&number);
            let may_speak = matches!(class, Class::Explicit | Class::Passive);
            assert_eq!(weighed, may_speak && !steered, "#{number} is {class:?}");
        }
    }

    /// The class of each message: the strongest of its deliveries.
    fn classes(&self) -> BTreeMap<usize, Class> {
        let mut classes = BTreeMap::new();
        for event in self.events {
            if let Fact::DeliveryClassified(body) = &event.fact
                && let Some(number) = body.message.as_ref().and_then(|message| self.numbers.get(message))
                && body.reason != "duplicate"
            {
                let stands = classes.entry(*number).or_insert(body.class);
                if body.class == Class::Explicit {
                    *stands = Class::Explicit;
                }
            }
        }
        classes
    }

    /// What was said into a running turn.
    fn steered(&self) -> BTreeSet<usize> {
        let of = |event: &Event| match &event.fact {
            Fact::TurnSteered(body) => self.numbers.get(&body.message).copied(),
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    fn nothing_is_said_twice_or_in_the_wrong_place(&self) {
        let mut about = BTreeSet::new();
        for post in &self.posts {
            let text = post["text"].as_str().unwrap();
            let number = number_in(text).unwrap_or_else(|| panic!("nobody asked for this: {post}"));
            let said = self.said(number);
            assert_eq!(post["channel"], said.channel, "in the wrong channel: {post}");
            assert_eq!(post["thread_ts"].as_str(), said.root(), "in the wrong thread: {post}");
            assert!(about.insert((said.channel, text)), "said twice: {post}");
            assert!(!text.contains("<@") && !text.contains("<!"), "it mentions somebody: {post}");
        }
        let mut put = BTreeSet::new();
        for reaction in &self.reactions {
            let at = |key: &str| reaction[key].as_str().unwrap();
            let there =
                self.day.said.iter().any(|said| said.channel == at("channel") && said.ts == at("timestamp"));
            assert!(there, "on no message: {reaction}");
            assert!(put.insert((at("channel"), at("timestamp"), at("name"))), "put twice: {reaction}");
        }
        let count = |kind: &str| self.events.iter().filter(|event| event.fact.kind() == kind).count();
        let (arrived, sent) = (self.posts.len() + self.reactions.len(), count("effect.sent"));
        let unknown = count("effect.left-unknown");
        assert!(
            sent <= arrived && arrived <= sent + unknown,
            "{sent} sent, {unknown} unknown, {arrived} arrived"
        );
    }

    fn whoever_asked_was_heard_and_whoever_is_outside_was_not(&self) {
        let mut woke: BTreeSet<usize> = BTreeSet::new();
        let mut acked: BTreeSet<usize> = BTreeSet::new();
        let mut gone: BTreeSet<usize> = BTreeSet::new();
        for event in self.events {
            match &event.fact {
                Fact::MessageDeleted(body) => gone.extend(self.numbers.get(&body.message)),
                Fact::TurnOpened(body) => woke.extend(self.numbers.get(&body.woken_by)),
                Fact::TriageDecided(body) if body.choice == Choice::Ack => {
                    acked.insert(self.numbers[&body.message]);
                }
                _ => {}
            }
        }
        let steered = self.steered();
        let classes = self.classes();
        for said in &self.day.said {
            let number = said.number;
            let heard = woke.contains(&number) || acked.contains(&number) || steered.contains(&number);
            match said.kind {
                Kind::Explicit => {
                    assert_eq!(classes[&number], Class::Explicit, "#{number}: {}", said.text);
                    let here = |post: &serde_json::Value| {
                        post["channel"] == said.channel && post["thread_ts"].as_str() == said.root()
                    };
                    let answered = self.posts.iter().any(here);
                    // Nobody waits for an answer to what was taken back.
                    let done = answered || acked.contains(&number) || gone.contains(&number);
                    assert!(done, "nobody answered #{number}: {}", said.text);
                    // Several in one thread within the burst window are one turn's.
                    let joined = self.events.iter().any(|event| match &event.fact {
                        Fact::TurnOpened(body) => body.topic.as_str().ends_with(&format!(
                            "{}:{}",
                            said.channel,
                            said.root().unwrap_or(&said.ts)
                        )),
                        _ => false,
                    });
                    assert!(heard || joined, "nobody heard #{number}: {}", said.text);
                }
                Kind::Program | Kind::Outside => {
                    assert!(!woke.contains(&number) && !acked.contains(&number), "#{number}")
                }
                Kind::Passive => {}
            }
        }
    }

    /// The day as a table.
    fn told(&self) -> String {
        let count = |kind: &str| self.events.iter().filter(|event| event.fact.kind() == kind).count();
        let people: BTreeSet<&str> = self.day.said.iter().map(|said| said.user.as_str()).collect();
        let languages: BTreeSet<&str> = self.day.said.iter().map(|said| said.language.as_str()).collect();
        let mut text = format!(
            "# A day\n\n{} messages of {} people (of {PEOPLE}) in {} channels and {} languages of workspace {TEAM}, and {} \
             other deliveries. Slack made {} requests: {} came again after they were taken, {} found nobody. The host was \
             killed {CUTS} times. On the record: {} events, {} turns, {} weighings; in Slack: {} answers, {} emoji.\n\n",
            self.day.said.len(),
            people.len(),
            CHANNELS.len(),
            languages.len(),
            self.day.others,
            self.brought.requests,
            self.brought.again,
            self.brought.failed,
            self.events.len(),
            count("turn.opened"),
            count("triage.decided"),
            self.posts.len(),
            self.reactions.len(),
        );
        text.push_str(&self.by_channel());
        text.push_str("\n| # | where | who | what | said | class: reason | decided | the office |\n|---|---|---|---|---|---|---|---|\n");
        let (decided, reasons, did) = (self.decided(), self.reasons(), self.did());
        for said in &self.day.said {
            let words: String = said
                .text
                .replace(&format!("<@{BOT_USER}>"), "@Ada")
                .replace(['|', '\n'], " ")
                .chars()
                .take(60)
                .collect();
            let none = String::new();
            let of = |map: &BTreeMap<usize, String>| map.get(&said.number).unwrap_or(&none).clone();
            writeln!(
                text,
                "| {} | {}{} | {} | {} {} | {words} | {} | {} | {} |",
                said.number,
                said.name,
                if said.thread.is_some() { " (thread)" } else { "" },
                said.user,
                said.language,
                said.category,
                of(&reasons),
                of(&decided),
                of(&did),
            )
            .unwrap();
        }
        text
    }

    fn by_channel(&self) -> String {
        let mut text = "| channel | mode | messages | answers | emoji |\n|---|---|---|---|---|\n".to_owned();
        for (channel, name, mode) in CHANNELS {
            let said = self.day.said.iter().filter(|said| said.channel == channel).count();
            let of = |all: &[serde_json::Value]| all.iter().filter(|one| one["channel"] == channel).count();
            writeln!(text, "| {name} | {mode} | {said} | {} | {} |", of(&self.posts), of(&self.reactions))
                .unwrap();
        }
        text
    }

    fn reasons(&self) -> BTreeMap<usize, String> {
        let mut reasons: BTreeMap<usize, String> = BTreeMap::new();
        for event in self.events {
            if let Fact::DeliveryClassified(body) = &event.fact
                && let Some(number) = body.message.as_ref().and_then(|message| self.numbers.get(message))
                && body.reason != "duplicate"
            {
                let word = format!("{:?}: {}", body.class, body.reason).to_lowercase();
                let stands = reasons.entry(*number).or_insert_with(|| word.clone());
                if body.class == Class::Explicit {
                    *stands = word;
                }
            }
        }
        reasons
    }

    fn decided(&self) -> BTreeMap<usize, String> {
        let steered =
            self.steered().into_iter().map(|number| (number, "said into a running turn".to_owned()));
        let of = |event: &Event| match &event.fact {
            Fact::TriageDecided(body) => {
                Some((self.numbers[&body.message], format!("{} ({})", body.choice, body.reason)))
            }
            _ => None,
        };
        steered.chain(self.events.iter().filter_map(of)).collect()
    }

    /// What the office did about each message.
    fn did(&self) -> BTreeMap<usize, String> {
        let mut did: BTreeMap<usize, String> = BTreeMap::new();
        for event in self.events {
            if let Fact::TurnEnded(body) = &event.fact
                && body.ending == TurnEnding::Silent
                && let Some(number) = self.woken(&body.turn)
            {
                did.insert(number, "looked, and was silent".to_owned());
            }
        }
        for post in &self.posts {
            let text = post["text"].as_str().unwrap();
            did.insert(number_in(text).unwrap(), format!("\"{}\"", text.replace('\n', " ")));
        }
        for reaction in &self.reactions {
            let at = |key: &str| reaction[key].as_str().unwrap();
            let said =
                self.day.said.iter().find(|said| said.channel == at("channel") && said.ts == at("timestamp"));
            did.insert(said.unwrap().number, format!(":{}:", at("name")));
        }
        did
    }

    fn woken(&self, turn: &event::TurnId) -> Option<usize> {
        self.events.iter().find_map(|event| match &event.fact {
            Fact::TurnOpened(body) if body.turn == *turn => self.numbers.get(&body.woken_by).copied(),
            _ => None,
        })
    }
}
