//! Keys on a disk and in memory, what they seal, and what is left when one is gone.

use super::{About, KeyId, Keyring, KeyringError, Missing, Opened, key_ids};
use event::PrincipalId;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use tempfile::TempDir;

fn person(name: &str) -> PrincipalId {
    PrincipalId::parse(&format!("person_{name}")).unwrap()
}

fn persons(names: &[&str]) -> BTreeSet<PrincipalId> {
    names.iter().map(|name| person(name)).collect()
}

const HERE: About<'static> =
    About { stream: "message-1", event: "evt_1", kind: "message.received", field: "text" };

fn seal(ring: &Keyring, of: &[&str], plain: &[u8]) -> String {
    ring.keys().seal(&persons(of), &HERE, plain, Missing::Make).unwrap()
}

fn open(ring: &Keyring, of: &[&str], sealed: &str) -> Opened {
    ring.keys().open(&persons(of), &HERE, sealed).unwrap()
}

fn plain(text: &[u8]) -> Opened {
    Opened::Plain(text.to_vec().into())
}

fn id(ring: &Keyring, name: &str) -> KeyId {
    ring.key_id(&person(name)).unwrap().unwrap()
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("person_{name}.key"))
}

/// A folder that nobody else may read.
fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

fn each(test: impl Fn(&Keyring)) {
    let folder = tempfile::tempdir().unwrap();
    test(&Keyring::open(&folder.path().join("keys")).unwrap());
    test(&Keyring::in_memory(1));
}

#[test]
fn what_is_sealed_opens_where_it_was_sealed_and_nowhere_else() {
    each(|ring| {
        let sealed = seal(ring, &["a"], b"hello");
        assert_eq!(open(ring, &["a"], &sealed), plain(b"hello"));
        for elsewhere in [
            About { stream: "message-2", ..HERE },
            About { event: "evt_2", ..HERE },
            About { kind: "turn.ended", ..HERE },
            About { field: "summary", ..HERE },
        ] {
            let opened = ring.keys().open(&persons(&["a"]), &elsewhere, &sealed);
            assert!(matches!(opened, Err(KeyringError::Changed)), "{elsewhere:?}");
        }
    });
}

#[test]
fn the_same_words_are_sealed_to_the_same_bytes_and_others_to_others() {
    each(|ring| {
        assert_eq!(seal(ring, &["a"], b"hello"), seal(ring, &["a"], b"hello"));
        assert_ne!(seal(ring, &["a"], b"hello"), seal(ring, &["a"], b"hullo"));
        assert_ne!(seal(ring, &["a"], b"hello"), seal(ring, &["b"], b"hello"));
        let elsewhere = About { event: "evt_2", ..HERE };
        let there = ring.keys().seal(&persons(&["a"]), &elsewhere, b"hello", Missing::Make).unwrap();
        assert_ne!(seal(ring, &["a"], b"hello"), there);
    });
}

#[test]
fn losing_any_one_key_closes_what_is_sealed_under_several() {
    for gone in ["a", "b", "c"] {
        each(|ring| {
            let all = ["a", "b", "c"];
            let (shared, alone) = (seal(ring, &all, b"shared"), seal(ring, &["c"], b"alone"));
            assert_eq!(open(ring, &all, &shared), plain(b"shared"));
            assert!(ring.destroy(&person(gone), &id(ring, gone)).unwrap());
            assert_eq!(open(ring, &all, &shared), Opened::Erased);
            let still = if gone == "c" { Opened::Erased } else { plain(b"alone") };
            assert_eq!(open(ring, &["c"], &alone), still);
        });
    }
}

#[test]
fn a_person_who_speaks_again_begins_anew_and_keeps_the_new_key() {
    each(|ring| {
        let before = seal(ring, &["a"], b"before");
        let old = id(ring, "a");
        assert!(ring.destroy(&person("a"), &old).unwrap());
        assert!(!ring.destroy(&person("a"), &old).unwrap());
        let refused = ring.keys().seal(&persons(&["a"]), &HERE, b"derived", Missing::Refuse);
        assert!(matches!(refused, Err(KeyringError::Erased { .. })));
        let after = seal(ring, &["a"], b"after");
        assert_ne!(id(ring, "a"), old);
        // Whoever ends an old erasure a second time destroys nothing of it.
        assert!(!ring.destroy(&person("a"), &old).unwrap());
        assert_eq!(open(ring, &["a"], &after), plain(b"after"));
        assert_eq!(open(ring, &["a"], &before), Opened::Erased);
    });
}

#[test]
fn a_sealed_value_says_under_which_keys_and_nothing_else() {
    each(|ring| {
        for of in [&["a"][..], &["a", "b"], &["a", "b", "c"], &["a", "b", "c", "d"]] {
            let sealed = seal(ring, of, b"");
            let ids: Vec<_> = of.iter().map(|name| id(ring, name)).collect();
            assert_eq!(key_ids(&sealed, of.len()), Some(ids));
        }
        assert_eq!(key_ids("", 1), None);
        assert_eq!(key_ids("AAAA", 1), None);
    });
}

#[test]
fn a_key_is_a_file_that_only_its_owner_reads_and_two_hosts_share() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let (one, other) = (Keyring::open(&keys).unwrap(), Keyring::open(&keys).unwrap());
    let sealed = seal(&one, &["a"], b"hello");
    assert_eq!(fs::metadata(file(&keys, "a")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(open(&other, &["a"], &sealed), plain(b"hello"));
    assert_eq!(other.subjects().unwrap(), [(person("a"), id(&one, "a"))]);
    // The other host destroys it: this one has kept nothing.
    other.destroy(&person("a"), &id(&one, "a")).unwrap();
    assert_eq!(open(&one, &["a"], &sealed), Opened::Erased);
    assert!(fs::read_dir(&keys).unwrap().all(|entry| entry.unwrap().file_name() == ".lock"));
}

#[test]
fn many_hosts_that_race_for_one_person_agree_on_one_key() {
    let folder = folder();
    let barrier = Arc::new(Barrier::new(8));
    let sealed: BTreeSet<String> = (0..8)
        .map(|_| {
            let (path, barrier) = (folder.path().to_owned(), Arc::clone(&barrier));
            std::thread::spawn(move || {
                let ring = Keyring::open(&path).unwrap();
                barrier.wait();
                seal(&ring, &["a"], b"hello")
            })
        })
        .collect::<Vec<_>>()
        .into_iter()
        .map(|host| host.join().unwrap())
        .collect();
    assert_eq!(sealed.len(), 1);
}

#[test]
fn a_host_that_stops_in_the_middle_leaves_nothing_that_is_taken_for_a_key() {
    let folder = folder();
    let ring = Keyring::open(folder.path()).unwrap();
    let sealed = seal(&ring, &["a"], b"hello");
    let old = id(&ring, "a");
    // Overwritten and not yet unlinked.
    let bytes = fs::metadata(file(folder.path(), "a")).unwrap().len();
    fs::write(file(folder.path(), "a"), vec![0; usize::try_from(bytes).unwrap()]).unwrap();
    assert_eq!(open(&ring, &["a"], &sealed), Opened::Erased);
    assert_eq!(ring.subjects().unwrap(), []);
    assert!(!ring.destroy(&person("a"), &old).unwrap());
    assert!(!file(folder.path(), "a").exists());
    // Linked to its name, and the first name not yet taken away: the key is in use.
    let again = seal(&ring, &["a"], b"again");
    fs::hard_link(file(folder.path(), "a"), folder.path().join(".new-0")).unwrap();
    fs::write(folder.path().join(".new-1"), "half a key").unwrap();
    let ring = Keyring::open(folder.path()).unwrap();
    seal(&ring, &["b"], b"another");
    assert_eq!(open(&ring, &["a"], &again), plain(b"again"));
    assert!(!folder.path().join(".new-0").exists() && !folder.path().join(".new-1").exists());
}

#[test]
fn a_file_that_is_no_key_or_another_persons_is_named_and_not_replaced() {
    let folder = folder();
    let ring = Keyring::open(folder.path()).unwrap();
    let sealed = seal(&ring, &["a"], b"hello");
    seal(&ring, &["b"], b"hello");
    for wrong in [fs::read(file(folder.path(), "b")).unwrap(), b"chancery-key 1\n".to_vec(), Vec::new()] {
        fs::write(file(folder.path(), "a"), wrong).unwrap();
        let damaged = |told: Result<(), KeyringError>| {
            assert!(told.unwrap_err().to_string().contains("person_a.key"));
        };
        damaged(ring.keys().open(&persons(&["a"]), &HERE, &sealed).map(drop));
        damaged(ring.keys().seal(&persons(&["a"]), &HERE, b"x", Missing::Make).map(drop));
    }
}

#[test]
fn a_folder_that_everyone_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let told = Keyring::open(folder.path()).unwrap_err();
    assert!(told.to_string().contains("chmod o-rwx"), "{told}");
}

#[test]
fn nothing_prints_a_key() {
    let folder = folder();
    let ring = Keyring::open(folder.path()).unwrap();
    let mut keys = ring.keys();
    keys.seal(&persons(&["a"]), &HERE, b"hello", Missing::Make).unwrap();
    let text = fs::read_to_string(file(folder.path(), "a")).unwrap();
    let key = text.lines().nth(3).unwrap();
    assert_eq!(key.len(), 64);
    assert!(!format!("{ring:?} {keys:?}").contains(key));
}

proptest! {
    #[test]
    fn anything_comes_back_and_any_changed_byte_is_noticed(
        text in prop::collection::vec(any::<u8>(), 0..200), of in 1_usize..4, at in any::<prop::sample::Index>()
    ) {
        let ring = Keyring::in_memory(7);
        let of = &["a", "b", "c"][..of];
        let sealed = seal(&ring, of, &text);
        prop_assert_eq!(open(&ring, of, &sealed), plain(&text));
        prop_assert!(!sealed.contains("person"));
        let mut changed = sealed.clone().into_bytes();
        let at = at.index(changed.len());
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        // Changed ids name other keys, which are no more; all else is vouched for.
        let opened = ring.keys().open(&persons(of), &HERE, &changed);
        prop_assert!(!matches!(opened, Ok(Opened::Plain(_))), "{opened:?}");
    }

    #[test]
    fn no_text_panics_or_opens(text in ".*", of in 1_usize..4) {
        let ring = Keyring::in_memory(7);
        let of = persons(&["a", "b", "c"][..of]);
        ring.keys().seal(&of, &HERE, b"x", Missing::Make).unwrap();
        prop_assert!(!matches!(ring.keys().open(&of, &HERE, &text), Ok(Opened::Plain(_))));
    }
}
