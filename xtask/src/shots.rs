//! `cargo xtask shots`: pictures of what people see in Slack, to be looked at.
//!
//! A whole office plays scenes to the other side of Slack in the tests (`tests/it/shots.rs`), which keeps the blocks that
//! arrived; a library of somebody else's draws them (`tests/shots`), and Chromium makes the pictures, light and dark.
//! Slack's own client is not to be had, so a picture shows what stands where and how it reads, not Slack's pixels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::apt;
use crate::paths::Paths;
use crate::prepare;
use crate::progress::stage;
use crate::stop::Stop;

/// The test that lays the scenes down.
const TEST: &str = "shots::what_people_see_is_laid_down_as_scenes";
/// What Chromium is called, the likelier first.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
/// How wide a picture is, in pixels: a channel beside its sidebar.
const WIDTH_PX: u32 = 720;
/// How high a picture is where its page does not say, in pixels.
const HEIGHT_PX_DEFAULT: u32 = 900;
/// What says how high a page is.
const HEIGHT: &str = "data-height=\"";

/// Make pictures of threads, cards, Homes and forms as the office posts them, and say where they are.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only the scenes whose name begins so, such as `home`.
    #[arg(long, default_value = "")]
    only: String,
}

/// Makes them.
///
/// # Errors
/// When something does not build, the scenes are not played, or what draws them cannot be had.
pub fn run(options: &Options) -> Result<(), Stop> {
    let paths = Paths::find()?;
    let browser = stage("browser", browser)?;
    stage("guests", prepare::guests)?;
    let folder = paths.guests().with_file_name("shots");
    fs::create_dir_all(&folder).map_err(|e| Stop::because(folder.display(), e))?;
    stage("scenes", || scenes(&paths))?;
    stage("library", || library(&paths, &folder))?;
    stage("pages", || pages(&paths, &folder))?;
    let made = stage("pictures", || pictures(&folder, &browser, &options.only))?;
    for picture in &made {
        println!("{}", picture.display());
    }
    if made.is_empty() { Err(Stop::new("no scene begins so")) } else { Ok(()) }
}

/// A Chromium that starts; on Debian it is installed where it is missing.
fn browser() -> Result<String, Stop> {
    let starts = |name: &&&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if let Some(name) = BROWSERS.iter().find(starts) {
        return Ok((*name).to_owned());
    }
    let tried = if apt::is_here() { apt::install(&["chromium", "fonts-lato"]) } else { Ok(()) };
    match BROWSERS.iter().find(starts) {
        Some(name) => Ok((*name).to_owned()),
        None => Err(Stop::new(format!(
            "there is no Chromium: install it (Debian: sudo apt-get install chromium; others: \
             https://www.chromium.org/getting-involved/download-chromium/) so that `chromium` starts{}",
            tried.err().map(|why| format!("; {why}")).unwrap_or_default()
        ))),
    }
}

fn scenes(paths: &Paths) -> Result<(), Stop> {
    let mut cargo = prepare::cargo(paths);
    cargo.args(["test", "--quiet", "--package", "tests", "--test", "it", "--", "--exact", TEST]);
    let status = cargo.status().map_err(|e| Stop::because("cargo did not start", e))?;
    if status.success() { Ok(()) } else { Err(Stop::new("the scenes were not played: see above")) }
}

/// Installs what draws blocks into `folder`, unless it is there already.
fn library(paths: &Paths, folder: &Path) -> Result<(), Stop> {
    let pinned = paths.root.join("tests/shots");
    let wanted = fs::read(pinned.join("package-lock.json")).map_err(|e| Stop::because("tests/shots", e))?;
    if fs::read(folder.join("installed.json")).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    for name in ["package.json", "package-lock.json"] {
        fs::copy(pinned.join(name), folder.join(name)).map_err(|e| Stop::because(name, e))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"])
        .current_dir(folder);
    if !npm.status().is_ok_and(|status| status.success()) {
        return Err(Stop::new(
            "what draws blocks needs Node.js 18 or newer with npm (Debian: sudo apt-get install nodejs npm), and a \
             package registry",
        ));
    }
    fs::write(folder.join("installed.json"), wanted).map_err(|e| Stop::because(folder.display(), e))
}

fn pages(paths: &Paths, folder: &Path) -> Result<(), Stop> {
    let mut node = Command::new("node");
    node.arg(paths.root.join("tests/shots/render.mjs")).args(["scenes.json", "."]).current_dir(folder);
    let status = node.status().map_err(|e| Stop::because("node did not start", e))?;
    if status.success() { Ok(()) } else { Err(Stop::new("the scenes were not drawn: see above")) }
}

fn pictures(folder: &Path, browser: &str, only: &str) -> Result<Vec<PathBuf>, Stop> {
    let entries = fs::read_dir(folder).map_err(|e| Stop::because(folder.display(), e))?;
    let mut pages: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    pages.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".html") && name.starts_with(only)
    });
    pages.sort();
    pages.into_iter().map(|page| picture(&page, browser)).collect()
}

/// One page as a picture, as high as it is.
fn picture(page: &Path, browser: &str) -> Result<PathBuf, Stop> {
    let address = format!("file://{}", page.display());
    let chromium = |arguments: &[String]| {
        let mut command = Command::new(browser);
        // A page of our own, without a network: the sandbox is not for root, who builds in containers.
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
        command.args(arguments).arg(&address).stderr(Stdio::null()).output()
    };
    let height = |dom: &str| dom.split_once(HEIGHT)?.1.split_once('"')?.0.parse::<u32>().ok();
    let window = |height: u32| format!("--window-size={WIDTH_PX},{height}");
    let drawn = chromium(&["--dump-dom".to_owned(), window(HEIGHT_PX_DEFAULT)])
        .map_err(|e| Stop::because(browser, e))?;
    let height = height(&String::from_utf8_lossy(&drawn.stdout)).unwrap_or(HEIGHT_PX_DEFAULT);
    let made = page.with_extension("png");
    chromium(&[format!("--screenshot={}", made.display()), window(height)])
        .map_err(|e| Stop::because(browser, e))?;
    if made.is_file() { Ok(made) } else { Err(Stop::new(format!("{browser} made no picture of {address}"))) }
}
