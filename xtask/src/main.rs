//! `cargo xtask <task>`: everything a checkout needs that is not a plain `cargo` command.
//!
//! Each task does its own set-up and shows its progress, or stops with a message that says exactly what to
//! install. A task is a module with one entry; this file only chooses.

mod apt;
mod bench;
mod day;
mod demo;
mod guests;
mod paths;
mod prepare;
mod progress;
mod shots;
mod stop;
mod test;
mod toolchain;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The tasks of this repository.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Line {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Bench(bench::Options),
    Day(day::Options),
    Guests(guests::Options),
    Demo(demo::Options),
    Shots(shots::Options),
    Test(test::Options),
}

fn main() -> ExitCode {
    let outcome = match Line::parse().task {
        Task::Bench(options) => bench::run(&options),
        Task::Day(options) => day::run(&options),
        Task::Guests(options) => guests::run(&options),
        Task::Demo(options) => demo::run(&options),
        Task::Shots(options) => shots::run(&options),
        Task::Test(options) => test::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            eprintln!("{stop}");
            ExitCode::from(stop.status)
        }
    }
}
