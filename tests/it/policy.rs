//! Policies as facts: the first office, applying, revoking, asking why, and a host that cannot load the newest set.

use event::{Fact, PluginGranted, PluginRevoked, PolicyApplied, PolicyRevoked, PolicyText, PrincipalId};
use std::path::{Path, PathBuf};
use std::process::Output;
use tests::host::run;
use tests::office::repository;
use tests::slack::message;
use tests::{Kit, Office};

/// An office whose model fetches the one granted page, says so, and nothing else.
async fn fetching() -> Kit {
    let mut kit = Kit::new().await;
    kit.script = format!(
        "[[rule]]\nwhen = []\n[[rule.step]]\ncall = {{ tool = \"web.fetch\", input = {{ url = \"{}/\" }} }}\n\
         [[rule.step]]\nfinish = {{ outcome = \"answered\", text = \"done\" }}\n",
        kit.site.origin
    );
    kit
}

/// A copy of the shipped policies that can be changed.
fn own_policies(kit: &mut Kit) -> PathBuf {
    let folder = kit.folder().join("policies");
    copy(&repository().join("policies"), &folder);
    kit.policies = folder.clone();
    folder
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { std::fs::copy(&path, &target).map(drop).unwrap() }
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn done(config: &Path, arguments: &[&str]) -> String {
    let output = run(config, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    said(&output)
}

fn refused(config: &Path, arguments: &[&str]) -> String {
    let output = run(config, arguments);
    assert!(!output.status.success(), "{arguments:?}: {}", said(&output));
    said(&output)
}

/// Asks the office for the page of its site, and waits until that turn has ended.
async fn asked(office: &Office, kit: &Kit, n: usize) -> Vec<event::Event> {
    let text = format!("<@U0BOT> what does {}/ say?", kit.site.origin);
    office
        .deliver(&message(&format!("Ev{n}"), "C01GEN", "U01ALICE", &format!("170000000{n}.000100"), &text))
        .await;
    office.until_turns_ended(n).await
}

fn denials(events: &[event::Event]) -> Vec<String> {
    let denied = events.iter().filter_map(|event| match &event.fact {
        Fact::CallDenied(denied) => Some(denied.reason.text().to_owned()),
        _ => None,
    });
    denied.collect()
}

fn last_call(events: &[event::Event], tool: &str) -> event::Event {
    let call = events.iter().rev().find(|event| match &event.fact {
        Fact::CallAdmitted(body) => body.tool == tool,
        Fact::CallDenied(body) => body.tool == tool,
        _ => false,
    });
    call.unwrap_or_else(|| panic!("no call of `{tool}`")).clone()
}

async fn in_force(office: &Office) -> PolicyApplied {
    let row = office.built.record.row("setting", fold::setting::POLICY).await.unwrap();
    fold::decode(row.as_ref()).unwrap()
}

/// States `fact` as the host, as another host on the same record would.
async fn state(office: &Office, category: &str, name: &str, fact: impl Into<Fact>) {
    let event = event::Proposed {
        id: app::seed::fresh_event_id().unwrap(),
        actor: app::seed::host(),
        cause: None,
        label: event::Label::host(),
        fact: fact.into(),
    };
    let stream = event::StreamName::new(category, name);
    office.built.record.append(stream, event::Expected::Any, vec![event]).await.unwrap();
}

const NO_FETCH: &str = "@id(\"no-fetch\") @reason(\"not today\") forbid (principal in Role::\"assistant\", action == Action::\"web.fetch\", resource) when { context.granted };\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_start_applies_the_folder_and_a_later_one_only_says_that_it_differs() {
    let mut kit = fetching().await;
    let folder = own_policies(&mut kit);
    let office = kit.open().await;
    let first = in_force(&office).await;
    assert!(first.files.iter().any(|file| file.name.starts_with("cases/DENY/")), "cases travel with the set");
    office.stop().await;
    std::fs::write(folder.join("org-more.cedar"), NO_FETCH).unwrap();
    let office = kit.open().await;
    assert_eq!(in_force(&office).await.digest, first.digest, "the record's set stands");
    assert_eq!(denials(&asked(&office, &kit, 1).await), [] as [&str; 0]);
    office.stop().await;
    let config = kit.write();
    assert!(done(&config, &["doctor"]).contains("chancery policy apply"));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(done(&config, &["policy", "list"]).contains("in force"));
    done(&config, &["policy", "export", "--to", folder.to_str().unwrap()]);
    assert!(
        done(&config, &["policy", "test"]).contains(first.digest.as_str()),
        "what is exported is the same set"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_applied_set_decides_at_once_and_an_older_decision_is_told_by_the_set_of_then() {
    let mut kit = fetching().await;
    let folder = own_policies(&mut kit);
    let config = kit.write();
    let office = kit.open().await;
    let first = in_force(&office).await.digest;
    assert_eq!(denials(&asked(&office, &kit, 1).await), [] as [&str; 0]);
    let admitted = last_call(&office.events().await, "web.fetch");
    std::fs::write(folder.join("org-more.cedar"), NO_FETCH).unwrap();
    let case =
        std::fs::read_to_string(folder.join("cases/ALLOW/assistant-fetches-a-granted-origin.json")).unwrap();
    for name in ["assistant-fetches-a-granted-origin", "assistant-fetches-after-untrusted-reading"] {
        std::fs::remove_file(folder.join(format!("cases/ALLOW/{name}.json"))).unwrap();
    }
    let why = refused(
        &config,
        &["policy", "apply", "--reason", "a case is missing its policy", "--proposal", "000000"],
    );
    assert!(why.contains("no proposal"), "{why}");
    let case = case.replace("\"assistant-fetches\"", "\"no-fetch\"");
    std::fs::write(folder.join("cases/DENY/org-nobody-fetches.json"), case).unwrap();
    done(&config, &["policy", "apply", "--corrective", "--reason", "no fetching today"]);
    let events = asked(&office, &kit, 2).await;
    assert!(
        denials(&events).iter().any(|reason| reason.contains("`no-fetch` forbids it (not today)")),
        "{:?}",
        denials(&events)
    );
    // From the record alone: the plugins of the configuration are gone.
    office.stop().await;
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace(".wasm\"", ".gone\"")).unwrap();
    let why = done(&config, &["policy", "why", admitted.id.as_str()]);
    for wanted in [
        "admitted; permitted by assistant-fetches",
        first.short(),
        "decision   allow",
        "permit     `assistant-fetches` matched (seat.cedar:",
        "Origin::\"http://127.0.0.1:",
        "today",
        "and then it was otherwise",
        "not today",
    ] {
        assert!(why.contains(wanted), "`{wanted}` is not in\n{why}");
    }
    let denied = last_call(&events, "web.fetch");
    let why = done(&config, &["policy", "why", &denied.stream.to_string()]);
    assert!(why.contains("decision   deny") && why.contains("forbid     `no-fetch` matched"), "{why}");
    assert!(why.contains("the same set is in force"), "{why}");
    let supposed = ["policy", "why", "--seat", "seat_front-desk", "--tool", "slack.post", "--input"];
    let why = done(&config, &[&supposed[..], &["{\"channel\": \"C01\", \"text\": \"hi\"}"]].concat());
    assert!(
        why.contains("decision   allow") && why.contains("Destination::\"C01\" in Plugin::\"slack\""),
        "{why}"
    );
    let listed = done(&config, &["policy", "list"]);
    assert!(listed.contains("as a correction") && listed.contains("seat_owner"), "{listed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_that_allows_more_is_no_correction_and_diff_says_so_with_its_exit_code() {
    let mut kit = fetching().await;
    let folder = own_policies(&mut kit);
    let config = kit.write();
    kit.open().await.stop().await;
    let same = run(&config, &["policy", "diff"]);
    assert_eq!(same.status.code(), Some(0), "{}", said(&same));
    let more = "@id(\"guest-posts\") permit (principal in Role::\"guest\", action == Action::\"slack.post\", resource);\n";
    std::fs::write(folder.join("more.cedar"), more).unwrap();
    let differs = run(&config, &["policy", "diff"]);
    assert_eq!(differs.status.code(), Some(3), "{}", said(&differs));
    assert!(said(&differs).contains("added     permit `guest-posts` (more.cedar:1)"), "{}", said(&differs));
    assert!(
        said(&differs).contains("now ALLOWED  seat_sample (role guest) calls slack.post"),
        "{}",
        said(&differs)
    );
    let why = refused(&config, &["policy", "apply", "--corrective", "--reason", "r"]);
    assert!(why.contains("the permit `guest-posts` is new"), "{why}");
    // What was proposed is applied only while its base is in force.
    let proposed = done(&config, &["policy", "propose", "--reason", "guests may post"]);
    let digest = proposed.rsplit(' ').next().unwrap().trim().to_owned();
    std::fs::rename(folder.join("more.cedar"), folder.join("other.cedar")).unwrap();
    done(&config, &["policy", "apply", "--reason", "first"]);
    let why = refused(&config, &["policy", "apply", "--proposal", &digest]);
    assert!(why.contains("meanwhile"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_whose_cases_fail_is_not_applied_and_the_old_one_stands() {
    let mut kit = fetching().await;
    let folder = own_policies(&mut kit);
    let config = kit.write();
    let office = kit.open().await;
    let first = in_force(&office).await.digest;
    std::fs::write(folder.join("more.cedar"), NO_FETCH).unwrap();
    let why = refused(&config, &["policy", "apply", "--reason", "r"]);
    assert!(why.contains("cases/ALLOW/assistant-fetches"), "{why}");
    std::fs::write(folder.join("org-more.cedar"), NO_FETCH.replace("forbid", "permit")).unwrap();
    assert!(refused(&config, &["policy", "apply", "--reason", "r"]).contains("org-more.cedar:1:1"));
    assert_eq!(in_force(&office).await.digest, first);
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seat_that_is_not_the_owners_changes_the_organisations_own_files_alone() {
    let mut kit = fetching().await;
    let folder = own_policies(&mut kit);
    kit.more = "[[seat]]\nname = \"seat_policy\"\nrole = \"policy\"\ngrants = [\"record:policy.applied\", \"record:policy.proposed\"]\n".to_owned();
    let config = kit.write();
    kit.open().await.stop().await;
    let owner = app::Config::read(&config, []).unwrap().owner().unwrap();
    done(&config, &["seat", "hold", "seat_policy", owner.as_str()]);
    let quiet = "@id(\"quiet\") forbid (principal, action == Action::\"slack.react\", resource) when { context.approved };\n";
    std::fs::write(folder.join("org-quiet.cedar"), quiet).unwrap();
    done(&config, &["policy", "apply", "--as", "seat_policy", "--reason", "quiet"]);
    std::fs::write(
        folder.join("loud.cedar"),
        "@id(\"loud\") permit (principal in Role::\"loud\", action, resource);\n",
    )
    .unwrap();
    let why = refused(&config, &["policy", "apply", "--as", "seat_policy", "--reason", "loud"]);
    assert!(why.contains("it changes loud.cedar"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_permit_is_gone_at_the_next_decision_and_stays_gone() {
    let mut kit = fetching().await;
    let folder = own_policies(&mut kit);
    let config = kit.write();
    let office = kit.open().await;
    assert_eq!(denials(&asked(&office, &kit, 1).await), [] as [&str; 0]);
    assert!(
        refused(&config, &["policy", "revoke", "granted-origins-only", "--reason", "r"]).contains("forbids")
    );
    assert!(refused(&config, &["policy", "revoke", "no-such", "--reason", "r"]).contains("no policy"));
    done(&config, &["policy", "revoke", "assistant-fetches", "--reason", "it was abused"]);
    let denied = denials(&asked(&office, &kit, 2).await);
    assert!(
        denied.iter().any(|reason| reason.contains("no policy permits it for role `assistant`")),
        "{denied:?}"
    );
    // Another set that still has it, applied later.
    std::fs::write(folder.join("org-comment.cedar"), "// nothing\n").unwrap();
    let applied = done(&config, &["policy", "apply", "--reason", "a comment"]);
    assert!(applied.contains("`assistant-fetches` was revoked and is not evaluated"), "{applied}");
    assert!(!denials(&asked(&office, &kit, 3).await)[denied.len()..].is_empty());
    assert!(
        refused(&config, &["policy", "revoke", "assistant-fetches", "--reason", "r"]).contains("already")
    );
    office.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_cannot_load_the_newest_set_keeps_the_last_one_without_what_was_revoked() {
    let kit = fetching().await;
    let office = kit.open().await;
    let first = in_force(&office).await;
    // Another host, with other tools, applied a set that names a tool this one has not.
    let mut files = first.files.clone();
    let text = "@id(\"mails\") permit (principal, action == Action::\"mail.send\", resource);\n".to_owned();
    files.push(PolicyText { name: "mail.cedar".to_owned(), text });
    let digest = gate::policy::digest(&files);
    let base = Some(first.digest.clone());
    state(
        &office,
        "policy",
        "office",
        PolicyApplied { digest, files, base, reason: "mail".to_owned(), corrective: false, by: None },
    )
    .await;
    let events = asked(&office, &kit, 1).await;
    assert_eq!(denials(&events), [] as [&str; 0], "the last set that loaded decides");
    match last_call(&events, "web.fetch").fact {
        Fact::CallAdmitted(body) => assert_eq!(body.policy_set, first.digest, "and decisions name it"),
        other => panic!("{other:?}"),
    }
    let trouble = office.built.gate.policy_trouble().unwrap();
    assert!(trouble.contains("does not load on this host") && trouble.contains("mail.send"), "{trouble}");
    let revoked = PolicyRevoked { policy: "assistant-fetches".to_owned(), reason: "abused".to_owned() };
    state(&office, "policy", "office", revoked).await;
    assert_eq!(denials(&asked(&office, &kit, 2).await).len(), 1, "what is revoked is gone there too");
    office.stop().await;
    let why = refused(&kit.write(), &["serve"]);
    assert!(why.contains("mail.send"), "a start has no last set: {why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_grant_ends_at_the_next_call_and_a_start_does_not_give_it_again() {
    let kit = fetching().await;
    let config = kit.write();
    let office = kit.open().await;
    assert_eq!(denials(&asked(&office, &kit, 1).await), [] as [&str; 0]);
    let told = done(&config, &["plugin", "revoke", "web", "--reason", "it leaked"]);
    assert!(told.contains("plugin.revoked"), "{told}");
    let denied = denials(&asked(&office, &kit, 2).await);
    assert!(
        denied[0].contains("its grant was revoked: it leaked")
            && denied[0].contains("chancery plugin grant web"),
        "{denied:?}"
    );
    office.stop().await;
    let office = kit.open().await;
    let before = denied.len();
    assert!(
        denials(&asked(&office, &kit, 3).await).len() > before,
        "the configuration did not bring it back"
    );
    done(&config, &["plugin", "grant", "web", "--reason", "mended"]);
    let before = denials(&office.events().await).len();
    assert_eq!(denials(&asked(&office, &kit, 4).await).len(), before);
    office.stop().await;
    let office = kit.open().await;
    let granted = office.events().await.into_iter().filter(|event| match &event.fact {
        Fact::PluginGranted(PluginGranted { plugin, .. })
        | Fact::PluginRevoked(PluginRevoked { plugin, .. }) => plugin == "web",
        _ => false,
    });
    assert_eq!(granted.count(), 3, "granted, revoked, granted anew, and nothing more at the next start");
    assert!(office.events().await.iter().any(|event| event.actor.principal != PrincipalId::host()));
    office.stop().await;
}
