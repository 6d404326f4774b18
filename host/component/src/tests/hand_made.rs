//! Components written by hand, to say what no compiler would: wrong lengths, wrong pointers, a start that traps.

use super::kit::{Kit, code_folder, failure, kit, output, small};
use crate::{Compiler, Engine, EngineParts, LoadError, Plugins, embed};
use gate::FailureKind;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, UnresolvedPackageGroup};

const LIAR: &str = "name = \"liar\"\nversion = \"0.1.0\"\nworld = \"chancery:tool@0.1.0\"\ndescription = \"d\"\n\
                    [[tool]]\nname = \"liar.lie\"\neffect = \"read\"\n";
const PLAIN: &str = "name = \"plain\"\nversion = \"0.1.0\"\nworld = \"plain\"\ndescription = \"d\"\n\
                     [[tool]]\nname = \"plain.run\"\neffect = \"read\"\n";

/// The interfaces of this repository.
fn ours() -> Resolve {
    let mut resolve = Resolve::default();
    for folder in ["types", "host", "tool"] {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit").join(folder);
        resolve.push_dir(wit).unwrap();
    }
    resolve
}

/// A component of `text`, a core module, for the one world of that name.
fn component(resolve: Resolve, world: &str, text: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).unwrap();
    let world = resolve.worlds.iter().find(|(_, one)| one.name == world).unwrap().0;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8, false).unwrap();
    ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
}

/// A plugin in a folder of its own.
fn plugin(component: Vec<u8>, manifest: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hand-made.wasm");
    std::fs::write(&path, embed(&component, manifest).unwrap()).unwrap();
    (folder, path)
}

/// A tool that defines itself honestly and answers a call with `answer`, the body of a function that gives a pointer
/// to a result. `more` stands in the module.
fn liar(realloc: &str, definitions: &str, answer: &str, more: &str) -> Vec<u8> {
    component(ours(), "tool", &liar_text(realloc, definitions, answer, more))
}

fn liar_text(realloc: &str, definitions: &str, answer: &str, more: &str) -> String {
    format!(
        r#"(module
            (memory (export "memory") 2)
            (global $heap (mut i32) (i32.const 8192))
            (data (i32.const 64) "liar.lie")
            (data (i32.const 80) "d")
            (data (i32.const 96) "{{\"type\":\"object\"}}")
            (data (i32.const 256) "\ff\fe")
            (func $next (param $size i32) (result i32)
                (global.get $heap)
                (global.set $heap (i32.and (i32.add (i32.add (global.get $heap) (local.get $size)) (i32.const 7)) (i32.const -8))))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {realloc})
            (func (export "chancery:tool/tools@0.1.0#definitions") (result i32)
                (i32.store (i32.const 144) (i32.const 64)) (i32.store (i32.const 148) (i32.const 8))
                (i32.store (i32.const 152) (i32.const 80)) (i32.store (i32.const 156) (i32.const 1))
                (i32.store (i32.const 160) (i32.const 96)) (i32.store (i32.const 164) (i32.const 17))
                (i32.store (i32.const 168) (i32.const 96)) (i32.store (i32.const 172) (i32.const 17))
                {definitions}
                (i32.const 128))
            (func (export "chancery:tool/tools@0.1.0#call") (param i32 i32 i32 i32 i32 i32) (result i32)
                {answer})
            {more})"#
    )
}

const HONEST_REALLOC: &str = "(call $next (local.get 3))";
/// One definition, at 144.
const HONEST: &str = "(i32.store (i32.const 128) (i32.const 144)) (i32.store (i32.const 132) (i32.const 1))";

/// An answer that is a text at `pointer` of `length` bytes.
fn text_at(pointer: &str, length: &str) -> String {
    format!(
        "(i32.store8 (i32.const 512) (i32.const 0)) (i32.store (i32.const 520) (i32.const {pointer}))
         (i32.store (i32.const 524) (i32.const {length})) (i32.const 512)"
    )
}

async fn loaded(component: Vec<u8>, manifest: &str) -> (tempfile::TempDir, Kit) {
    let (folder, path) = plugin(component, manifest);
    let kit = kit(small(), &[path], &[], &[]).await;
    (folder, kit)
}

async fn refused(component: Vec<u8>, manifest: &str) -> LoadError {
    let (_folder, path) = plugin(component, manifest);
    let engine = Engine::new(EngineParts {
        pool: small(),
        code_folder: Some(code_folder()),
        compiler: Compiler::Here,
    })
    .unwrap();
    Plugins::load(&engine, &[path], &BTreeMap::new()).await.err().unwrap()
}

/// A tool that uses a handle of the office which it made up.
fn forger(function: &str, answer: &str) -> Vec<u8> {
    let mut resolve = ours();
    let world = "package chancery:forged@0.1.0;
        world forger { include chancery:tool/tool@0.1.0; import chancery:host/office@0.1.0; }";
    resolve.push_str("forger.wit", world).unwrap();
    let import =
        format!("(module (import \"chancery:host/office@0.1.0\" \"{function}\" (func $use (param i32 i32)))");
    let text = liar_text(HONEST_REALLOC, HONEST, answer, "").replacen("(module", &import, 1);
    component(resolve, "forger", &text)
}

#[tokio::test]
async fn a_handle_that_a_guest_makes_up_ends_the_guest() {
    for function in ["[method]purse.budgets", "[method]seat.all", "[method]agenda.waiting"] {
        for index in [0, 1, 7, -1] {
            let answer = format!("(call $use (i32.const {index}) (i32.const 600)) {}", text_at("96", "17"));
            let (_folder, kit) = loaded(forger(function, &answer), LIAR).await;
            let failure = failure(kit.call("liar.lie", json!({})).await);
            assert_eq!(failure.kind, FailureKind::Guest, "{}", failure.message);
            assert!(failure.message.contains("handle"), "{function} {index}: {}", failure.message);
        }
    }
}

#[tokio::test]
async fn an_honest_answer_by_hand_is_an_answer() {
    let (_folder, kit) = loaded(liar(HONEST_REALLOC, HONEST, &text_at("96", "17"), ""), LIAR).await;
    assert_eq!(output(kit.call("liar.lie", json!({})).await), json!({"type": "object"}));
}

#[tokio::test]
async fn a_lie_about_a_length_or_a_place_ends_the_guest_and_reads_nothing() {
    for (what, answer, words) in [
        ("a text longer than memory", text_at("0", "0x7fffffff"), "out of bounds"),
        ("a text of 100 MiB that is not there", text_at("96", "104857600"), "out of bounds"),
        ("a text that runs around the end", text_at("0xfffffff0", "32"), "out of bounds"),
        ("a text that is no text", text_at("256", "2"), "utf-8"),
        ("an answer between two places", "(i32.const 3)".to_owned(), "aligned"),
        ("an answer beyond memory", "(i32.const 0xfffffff8)".to_owned(), "out of bounds"),
        (
            "an answer that is neither",
            "(i32.store8 (i32.const 512) (i32.const 7)) (i32.const 512)".to_owned(),
            "discriminant",
        ),
    ] {
        let (_folder, kit) = loaded(liar(HONEST_REALLOC, HONEST, &answer, ""), LIAR).await;
        let failure = failure(kit.call("liar.lie", json!({})).await);
        assert_eq!(failure.kind, FailureKind::Guest, "{what}");
        assert!(failure.message.to_lowercase().contains(words), "{what}: {}", failure.message);
    }
}

#[tokio::test]
async fn a_lie_about_where_arguments_go_ends_the_guest() {
    for (realloc, words) in [
        ("(i32.const 0xfffffff0)", "beyond end of memory"),
        ("(i32.const -1)", "beyond end of memory"),
        ("(unreachable)", "trapped: "),
    ] {
        let (_folder, kit) = loaded(liar(realloc, HONEST, &text_at("96", "17"), ""), LIAR).await;
        let failure = failure(kit.call("liar.lie", json!({"text": "long enough to need a place"})).await);
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_lie_about_how_much_is_defined_does_not_load() {
    for (pointer, count) in [("144", "0x0fffffff"), ("144", "-1"), ("0xfffffff0", "1"), ("144", "4000")] {
        let lie = format!(
            "(i32.store (i32.const 128) (i32.const {pointer})) (i32.store (i32.const 132) (i32.const {count}))"
        );
        let error = refused(liar(HONEST_REALLOC, &lie, &text_at("96", "17"), ""), LIAR).await;
        assert!(matches!(error, LoadError::Definitions { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_start_that_traps_or_never_ends_is_a_plugin_that_does_not_load() {
    for (start, words) in [
        ("(unreachable)", "trapped: "),
        ("(loop $on (br $on))", "running for 300 ms"),
        ("(call $start)", "too deeply"),
    ] {
        let more = format!("(func $start {start}) (start $start)");
        let error = refused(liar(HONEST_REALLOC, HONEST, &text_at("96", "17"), &more), LIAR).await;
        assert!(
            matches!(error, LoadError::Definitions { .. }) && error.to_string().contains(words),
            "{error}"
        );
    }
}

/// A component of `wit`, a package with one world `w`, of this core module.
fn plain(wit: &str, text: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_group(UnresolvedPackageGroup::parse("w.wit", wit).unwrap()).unwrap();
    component(resolve, "w", text)
}

#[tokio::test]
async fn a_start_that_traps_under_a_plain_function_fails_its_call_alone() {
    let wit = "package a:b; world w { export run: func() -> u32; }";
    let text = "(module (func $start unreachable) (start $start) (func (export \"run\") (result i32) (i32.const 7)))";
    let (_folder, kit) = loaded(plain(wit, text), PLAIN).await;
    assert!(failure(kit.call("plain.run", json!({})).await).message.contains("trapped: "));
    let text = "(module (func (export \"run\") (result i32) (i32.const 7)))";
    let (_folder, kit) = loaded(plain(wit, text), PLAIN).await;
    assert_eq!(output(kit.call("plain.run", json!({})).await), json!(7));
}

#[tokio::test]
async fn a_function_that_no_json_stands_for_does_not_load() {
    let wit = "package a:b; interface i { resource pen; run: func() -> pen; } world w { export i; }";
    let text = "(module (func (export \"a:b/i#run\") (result i32) (i32.const 7)))";
    let said = refused(plain(wit, text), PLAIN).await.to_string();
    assert!(
        said.contains("the function `a:b/i#run` cannot be the tool `plain.run`: it is a resource"),
        "{said}"
    );
}

#[tokio::test]
async fn types_that_unfold_without_end_do_not_load() {
    // Each record has two of the next: twelve lines that unfold to four thousand.
    let mut records = "record r12 { a: u8 } ".to_owned();
    for n in (0..12).rev() {
        records.push_str(&format!("record r{n} {{ a: r{0}, b: r{0} }} ", n + 1));
    }
    let wit = format!("package a:b; interface i {{ {records} run: func() -> r0; }} world w {{ export i; }}");
    let text =
        "(module (memory (export \"memory\") 1) (func (export \"a:b/i#run\") (result i32) (i32.const 8)))";
    let said = refused(plain(&wit, text), PLAIN).await.to_string();
    assert!(said.contains("unfold to more than 1000"), "{said}");
}
