//! Components made so that compiling them takes hours or all memory: each is refused within bounds, and the office that
//! runs beside goes on.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tests::host::run;
use tests::office::deliver;
use tests::slack::message;
use tests::{Host, Kit};

/// How many loops stand in one another, and how many values each of them carries round: what the compiler keeps is their
/// product.
const LOOPS: usize = 1_500;
const VALUES: usize = 3_000;

/// A component of 100 kB whose one function no compiler of this kind gets through.
fn slow() -> Vec<u8> {
    let mut text = String::from("(component (core module (func (export \"f\")");
    text.push_str(&" (local i32)".repeat(VALUES));
    text.push_str(&" loop".repeat(LOOPS));
    for n in 0..VALUES {
        write!(text, " local.get {n} local.get {} i32.add local.set {n}", (n * 7 + 1) % VALUES).unwrap();
    }
    for n in 0..LOOPS {
        write!(text, " local.get {n} br_if 0 end").unwrap();
    }
    text.push_str(")))");
    let manifest = "name = \"slow\"\nversion = \"0.1.0\"\nworld = \"plain\"\ndescription = \"Takes long.\"\n[[tool]]\nname = \"slow.f\"\neffect = \"read\"\ndescription = \"Nothing.\"\n";
    component::embed(&wat::parse_str(text).unwrap(), manifest).unwrap()
}

/// Puts the bounds into a configuration.
fn bounded(kit: &mut Kit, ms: u64, mib: u64) -> PathBuf {
    kit.more = format!("[plugins]\ncompile_ms = {ms}\ncompile_mib = {mib}\n");
    kit.write()
}

fn refused(config: &Path, arguments: &[&str]) -> (String, Duration) {
    let began = Instant::now();
    let output = run(config, arguments);
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{said}");
    (said, began.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_takes_too_much_to_compile_is_refused_and_the_office_goes_on() {
    let mut kit = Kit::new().await;
    let file = kit.folder().join("slow.wasm");
    std::fs::write(&file, slow()).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let config = bounded(&mut kit, 3_000, 4_096);
    let host = Host::serve(&config).await;
    // Too long: it is ended at the bound, and not when it would be done.
    let (said, took) = refused(&config, &["plugin", "install", &file]);
    assert!(said.contains("compiling the plugin `slow` takes more than 3 s or 4096 MiB"), "{said}");
    assert!(took >= Duration::from_secs(3) && took < Duration::from_secs(60), "{took:?}");
    // Too large: it ends at once when it asks for more.
    let config = bounded(&mut kit, 600_000, 100);
    let (said, took) = refused(&config, &["plugin", "install", &file]);
    assert!(said.contains("takes more than 600 s or 100 MiB"), "{said}");
    assert!(took < Duration::from_secs(120), "{took:?}");
    let (said, _) = refused(&config, &["plugin", "inspect", &file]);
    assert!(said.contains("It would not load here") && said.contains("100 MiB"), "{said}");
    // The office never heard of it.
    let ask = message("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello");
    assert_eq!(deliver(&host.url, &ask).await, 200);
    let answered = async {
        while kit.slack.posts().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), answered).await.unwrap();
    let listed = run(&config, &["plugin", "list"]);
    assert!(!String::from_utf8_lossy(&listed.stdout).contains("slow"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configured_component_that_takes_too_much_to_compile_stops_the_start_with_one_line() {
    let mut kit = Kit::new().await;
    std::fs::write(kit.folder().join("slow.wasm"), slow()).unwrap();
    bounded(&mut kit, 600_000, 100);
    kit.more += "[[plugin]]\nname = \"slow\"\nfile = \"slow.wasm\"\n";
    let config = kit.write();
    let (said, _) = refused(&config, &["serve"]);
    let last = said.lines().rfind(|line| line.starts_with("chancery: ")).unwrap_or_default();
    assert!(last.contains("compiling the plugin `slow` takes more than"), "{said}");
}

#[test]
fn what_compiles_by_itself_compiles_what_fits_and_says_why_something_does_not() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let compile = |bytes: &[u8]| {
        let mut child = Command::new(tests::host::binary())
            .args([component::COMPILE, "--memory-bytes", "500000000", "--cpu-s", "60"])
            .env_clear()
            .env(component::COMPILE_ENVIRONMENT.0, component::COMPILE_ENVIRONMENT.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        child.wait_with_output().unwrap()
    };
    let good = compile(&wat::parse_str("(component)").unwrap());
    assert!(good.status.success() && good.stdout.starts_with(b"\x7fELF"), "{good:?}");
    let bad = compile(b"\0asm nonsense");
    assert_eq!(bad.status.code(), Some(3));
    assert!(bad.stdout.is_empty() && !bad.stderr.is_empty());
}
