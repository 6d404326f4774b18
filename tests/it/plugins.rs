//! Plugins that are installed by command: what is granted, what waits, what goes back, what never comes back.

use event::{Event, Fact};
use std::path::{Path, PathBuf};
use std::process::Output;
use tests::host::run;
use tests::{Kit, variant};

/// The manifest of the guest that these tests install, in a version of its own, asking for `routes`.
fn asking(version: &str, routes: &str) -> String {
    let manifest = variant::manifest("hostile").replace("0.1.0\"\nworld", &format!("{version}\"\nworld"));
    let (before, _) = manifest.split_once("[[route]]").unwrap();
    format!("{before}{routes}")
}

fn route(methods: &str, origin: &str) -> String {
    format!("[[route]]\nmethods = [{methods}]\norigin = \"{origin}\"\npath_prefix = \"/\"\n")
}

struct Desk {
    kit: Kit,
    config: PathBuf,
}

impl Desk {
    async fn new() -> Self {
        let kit = Kit::new().await;
        let config = kit.write();
        Self { kit, config }
    }

    /// Writes a version of the guest.
    fn version(&self, version: &str, routes: &str) -> String {
        let path = self.kit.folder().join(format!("hostile-{version}.wasm"));
        variant::write(&path, "hostile", &asking(version, routes)).display().to_string()
    }

    fn plugin(&self, arguments: &[&str]) -> (bool, String) {
        let mut all = vec!["plugin"];
        all.extend(arguments);
        said(run(&self.config, &all))
    }

    fn does(&self, arguments: &[&str]) -> String {
        let (well, said) = self.plugin(arguments);
        assert!(well, "{arguments:?}: {said}");
        said
    }

    fn refuses(&self, arguments: &[&str]) -> String {
        let (well, said) = self.plugin(arguments);
        assert!(!well, "{arguments:?}: {said}");
        said
    }

    async fn events(&self) -> Vec<Event> {
        let record =
            record::Record::open_sqlite_read_only(&self.kit.folder().join("office.sqlite")).await.unwrap();
        record.read_all(event::GlobalPosition(0), 1_000).await.unwrap()
    }

    async fn kinds(&self) -> Vec<&'static str> {
        let events = self.events().await;
        let of_plugins = |kind: &&str| kind.starts_with("plugin.") || kind.starts_with("component.");
        // Those of the configuration are put on the record beside it.
        let its = events.iter().filter(|event| event.fact.body().to_string().contains("\"hostile\""));
        its.map(|event| event.fact.kind()).filter(of_plugins).collect()
    }

    fn lock(&self) -> String {
        std::fs::read_to_string(self.kit.folder().join("chancery.lock")).unwrap_or_default()
    }
}

fn said(output: Output) -> (bool, String) {
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}

const ECHO: [&str; 4] = ["call", "hostile.echo", "--args", "{\"text\": \"hello\"}"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_installed_granted_called_and_removed() {
    let desk = Desk::new().await;
    let file = desk.version("0.1.0", &route("\"GET\"", "https://a.example"));
    let said = desk.does(&["install", &file]);
    assert!(said.contains("asks     GET https://a.example/"), "{said}");
    assert!(said.contains("it reaches nothing yet: chancery plugin grant hostile"), "{said}");
    // It can be called, and reaches nothing.
    let said = desk.does(&ECHO);
    assert!(said.contains("\"text\": \"hello\""), "{said}");
    let said = desk.refuses(&["call", "hostile.fetch", "--args", "{\"url\": \"https://a.example/\"}"]);
    assert!(said.contains("denied: "), "{said}");
    let said = desk.does(&["grant", "hostile", "--reason", "it was read"]);
    assert!(said.contains("hostile may reach GET https://a.example/"), "{said}");
    assert!(desk.lock().contains("origin = \"https://a.example\""), "{}", desk.lock());
    let said = desk.does(&["list"]);
    assert!(
        said.contains(&format!("  from   {file}")) && said.contains("route  GET https://a.example/"),
        "{said}"
    );
    assert!(desk.does(&["verify"]).contains("ok   hostile 0.1.0"));
    let said = desk.does(&["remove", "hostile", "--reason", "no use"]);
    assert!(said.contains("hostile is no longer there: no use"), "{said}");
    let said = desk.refuses(&ECHO);
    assert!(said.contains("hostile.echo") && said.contains("denied"), "{said}");
    assert!(!desk.lock().contains("hostile"), "{}", desk.lock());
    let kinds = ["plugin.installed", "plugin.granted", "plugin.removed"];
    assert_eq!(desk.kinds().await, kinds);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_by_hand_is_on_the_record_in_the_seat_of_whoever_made_it() {
    let desk = Desk::new().await;
    desk.does(&["install", &desk.version("0.1.0", "")]);
    desk.does(&ECHO);
    let events = desk.events().await;
    let at = events.iter().position(|event| matches!(&event.fact, Fact::CallTried(_))).unwrap();
    let Fact::CallTried(tried) = &events[at].fact else { panic!("no trial") };
    assert_eq!((tried.by.as_str(), tried.seat.as_str()), ("person_operator", "seat_owner"));
    let Fact::CallAdmitted(admitted) = &events[at + 1].fact else { panic!("{:?}", events[at + 1].fact) };
    assert_eq!(admitted.policies, ["owner-tries"]);
    // A seat that somebody else holds is not the owner's to act in.
    let said = desk.refuses(&["call", "hostile.echo", "--as", "seat_front-desk"]);
    assert!(said.contains("does not hold `seat_front-desk`"), "{said}");
    assert!(desk.refuses(&["call", "hostile.echo", "--args", "[]"]).contains("not a JSON object"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_granted_that_was_not_asked_for() {
    let desk = Desk::new().await;
    desk.does(&["install", &desk.version("0.1.0", &route("\"GET\"", "*"))]);
    let grant = |route: &str| desk.plugin(&["grant", "hostile", "--reason", "r", "--route", route]);
    let (well, said) = grant("POST https://a.example/");
    assert!(!well && said.contains("does not ask for POST https://a.example/"), "{said}");
    let (well, said) = grant("GET https://a.example/ some.key");
    assert!(!well && said.contains("credential `some.key`"), "{said}");
    let (well, said) = grant("GET https://a.example/docs");
    assert!(well && said.contains("hostile may reach GET https://a.example/docs"), "{said}");
    // What names no origin is not granted by saying yes to all of it.
    let said = desk.does(&["grant", "hostile", "--reason", "r"]);
    assert!(said.contains("name each with --route") && said.contains("https://a.example/docs"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_asks_for_more_waits_until_it_is_granted_and_one_that_does_not_takes_over() {
    let desk = Desk::new().await;
    let asks = route("\"GET\"", "https://a.example");
    desk.does(&["install", &desk.version("0.1.0", &asks), "--grant"]);
    let said = desk.does(&["update", "hostile", &desk.version("0.1.1", &asks)]);
    assert!(said.contains("hostile 0.1.1") && said.contains("may reach GET https://a.example/"), "{said}");
    let more = format!("{asks}{}", route("\"GET\", \"POST\"", "https://b.example"));
    let said = desk.does(&["update", "hostile", &desk.version("0.2.0", &more)]);
    assert!(said.contains("waits: it asks for GET/POST https://b.example/"), "{said}");
    let said = desk.does(&["list"]);
    assert!(said.contains("hostile 0.1.1 ") && said.contains("  waits  0.2.0 "), "{said}");
    assert!(desk.lock().contains("version = \"0.1.1\""), "{}", desk.lock());
    let said = desk.does(&["grant", "hostile", "--reason", "the new one was read"]);
    assert!(said.contains("hostile 0.2.0") && said.contains("https://b.example"), "{said}");
    assert!(!desk.does(&["list"]).contains("waits"));
    let kinds = desk.kinds().await;
    let wanted = ["installed", "granted", "installed", "granted", "proposed", "installed", "granted"];
    assert_eq!(kinds, wanted.map(|word| format!("plugin.{word}")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_wants_a_folder_or_another_document_waits_too() {
    let desk = Desk::new().await;
    let with = |version: &str, documents: &[&str], folders: &str| {
        let listed: Vec<String> =
            documents.iter().map(|text| format!("\"{}\"", event::Digest::of(text.as_bytes()))).collect();
        let reads = format!("graphql_reads = [{}]\nworld", listed.join(", "));
        let manifest = asking(version, folders).replace("\nworld", &format!("\n{reads}"));
        let path = desk.kit.folder().join(format!("hostile-{version}.wasm"));
        variant::write(&path, "hostile", &manifest).display().to_string()
    };
    let read = "[[directory]]\nat = \"/notes\"\n";
    desk.does(&["install", &with("0.1.0", &["query"], read), "--grant"]);
    assert!(desk.does(&["update", "hostile", &with("0.1.1", &["query"], read)]).contains("hostile 0.1.1"));
    for (version, documents, folders, words) in [
        (
            "0.2.0",
            &["query"][..],
            "[[directory]]\nat = \"/notes\"\nwrite = true\n",
            "read and write the folder `/notes`",
        ),
        ("0.2.1", &["query"], "[[directory]]\nat = \"/mail\"\n", "read the folder `/mail`"),
        ("0.2.2", &["query", "mutation"], read, "send the document of GraphQL"),
        ("0.2.3", &[], read, "any document of GraphQL"),
    ] {
        let file = with(version, documents, folders);
        let said = desk.does(&["inspect", &file]);
        assert!(said.contains("would wait to be granted") && said.contains(words), "{said}");
        let said = desk.does(&["update", "hostile", &file]);
        assert!(said.contains("waits: ") && said.contains(words) && said.contains("0.1.1 goes on"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn going_back_brings_the_version_before_with_what_it_was_granted() {
    let desk = Desk::new().await;
    let asks = route("\"GET\"", "https://a.example");
    desk.does(&["install", &desk.version("0.1.0", &asks), "--grant"]);
    assert!(desk.refuses(&["rollback", "hostile"]).contains("no version of `hostile` before"));
    desk.does(&["update", "hostile", &desk.version("0.1.1", "")]);
    let said = desk.does(&["rollback", "hostile"]);
    assert!(said.contains("hostile 0.1.0") && said.contains("may reach GET https://a.example/"), "{said}");
    // One whose grant was taken back comes back without it.
    desk.does(&["revoke", "hostile", "--reason", "r"]);
    desk.does(&["update", "hostile", &desk.version("0.1.1", "")]);
    let said = desk.does(&["rollback", "hostile"]);
    assert!(said.contains("hostile 0.1.0") && said.contains("it reaches nothing yet"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_was_revoked_never_comes_back() {
    let desk = Desk::new().await;
    let (first, second) = (desk.version("0.1.0", ""), desk.version("0.1.1", ""));
    desk.does(&["install", &first, "--grant"]);
    desk.does(&["revoke", "hostile", "--for-good", "--reason", "it lied"]);
    assert!(desk.refuses(&ECHO).contains("denied"));
    assert!(desk.refuses(&["grant", "hostile", "--reason", "r"]).contains("never comes back"));
    desk.does(&["update", "hostile", &second]);
    desk.does(&ECHO);
    for again in [&["update", "hostile", &first][..], &["rollback", "hostile"]] {
        let said = desk.refuses(again);
        assert!(
            said.contains("never comes back") || said.contains("no version of `hostile` before"),
            "{said}"
        );
    }
    desk.does(&["remove", "hostile", "--reason", "r"]);
    let said = desk.refuses(&["install", &first]);
    assert!(said.contains("was revoked and never comes back") && said.contains("it lied"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_whose_tools_policies_name_is_not_removed_and_leaves_a_name_when_it_is_revoked() {
    let mut desk = Desk::new().await;
    let policies = desk.kit.folder().join("policies");
    copy(&desk.kit.policies, &policies);
    desk.kit.policies = policies.clone();
    desk.config = desk.kit.write();
    desk.does(&["install", &desk.version("0.1.0", "")]);
    // The first call puts on the record what the office decides by.
    desk.does(&ECHO);
    let policy = "@id(\"assistant-echoes\")\npermit (principal in Role::\"assistant\", action == Action::\"hostile.echo\", \
                  resource);\n";
    std::fs::write(policies.join("more.cedar"), policy).unwrap();
    let (well, text) = said(run(&desk.config, &["policy", "apply", "--reason", "it may echo"]));
    assert!(well, "{text}");
    let said = desk.refuses(&["remove", "hostile", "--reason", "r"]);
    assert!(
        said.contains("policies name tools of `hostile`") && said.contains("`assistant-echoes`"),
        "{said}"
    );
    // What was revoked is gone at once, and the set that names it still decides.
    desk.does(&["revoke", "hostile", "--for-good", "--reason", "it lied"]);
    let refused = desk.refuses(&ECHO);
    assert!(refused.contains("denied") && !refused.contains("does not load"), "{refused}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let beside = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &beside);
        } else {
            std::fs::copy(&path, &beside).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_of_the_configuration_is_changed_there_and_not_by_command() {
    let desk = Desk::new().await;
    for command in [
        &["update", "web"][..],
        &["rollback", "web"],
        &["remove", "web", "--reason", "r"],
        &["grant", "web", "--reason", "r", "--route", "GET https://a.example"],
    ] {
        let said = desk.refuses(command);
        assert!(said.contains("`web` is a plugin of the configuration"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_file_is_held_to_the_record_and_installs_the_same_elsewhere() {
    let desk = Desk::new().await;
    let file = desk.version("0.1.0", &route("\"GET\"", "https://a.example"));
    desk.does(&["install", &file, "--grant"]);
    assert!(desk.does(&["verify"]).contains("ok   the lock file says what the record says"));
    let lock = desk.lock();
    std::fs::write(desk.kit.folder().join("chancery.lock"), lock.replace("a.example\"", "b.example\""))
        .unwrap();
    let said = desk.refuses(&["verify"]);
    assert!(said.contains("NOT  the lock file  `hostile` was granted other things"), "{said}");

    let other = Desk::new().await;
    std::fs::write(other.kit.folder().join("chancery.lock"), &lock).unwrap();
    let said = other.does(&["install", "--locked"]);
    assert!(said.contains("may reach GET https://a.example/"), "{said}");
    assert_eq!(other.lock(), lock);
    // The source became another file: what is locked is not what is there.
    let third = Desk::new().await;
    std::fs::write(third.kit.folder().join("chancery.lock"), &lock).unwrap();
    variant::write(Path::new(&file), "hostile", &asking("0.1.0", ""));
    let said = third.refuses(&["install", "--locked"]);
    assert!(said.contains("another file than it should be"), "{said}");
    assert_eq!(third.kinds().await, Vec::<&str>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_was_changed_on_disk_does_not_run() {
    let desk = Desk::new().await;
    desk.does(&["install", &desk.version("0.1.0", "")]);
    let folder = desk.kit.folder().join("office.plugins");
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let said = desk.refuses(&["verify"]);
    assert!(said.contains("NOT  hostile 0.1.0") && said.contains("it was changed"), "{said}");
    assert!(desk.refuses(&ECHO).contains("it was changed"));
}
