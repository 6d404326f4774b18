//! What each command does.

use crate::cli::{Cli, Command, RecordCommand};
use crate::config::Config;
use crate::wire::{Office, Ports, signing_keys};
use crate::{
    account, approval, doctor, effect, journal, look, plugin, policy, purse, refusal, request, seat, serve,
    slack, speak, subject, turn, workspaces,
};
use anyhow::{Context, Result};
use event::PrincipalId;
use front::{Front, Look, Session, chat, router};
use gate::Answer;
use record::Status;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Runs one command.
///
/// # Errors
/// What `main` prints on one line.
pub async fn run(cli: Cli) -> Result<ExitCode> {
    let path = &cli.config;
    match cli.command {
        Command::Serve { drill } => serve_office(path, drill).await,
        Command::Chat { session, drill } => chat_office(path, session, drill).await,
        Command::Record(RecordCommand::Show(args)) => look::record_show(&read(path)?, &args).await,
        Command::Record(RecordCommand::Verify { journal: Some(folder), .. }) => {
            journal::verify(&read(path)?, &folder).await
        }
        Command::Record(RecordCommand::Verify { head, journal: None }) => {
            look::record_verify(&read(path)?, head.as_deref()).await
        }
        Command::Record(RecordCommand::Export { to }) => journal::export(&read(path)?, &to).await,
        Command::Record(RecordCommand::Restore { from, to: Some(file) }) => {
            journal::restore_to_file(&from, &file).await
        }
        Command::Record(RecordCommand::Restore { from, to: None }) => {
            journal::restore(&read(path)?, &from).await
        }
        Command::Record(RecordCommand::Rebuild) => journal::rebuild(&read(path)?).await,
        Command::Turn(command) => turn::run(&read(path)?, &command).await,
        Command::Seat(command) => seat::run(&read(path)?, command).await,
        Command::Refusal(command) => refusal::run(&read(path)?, command).await,
        Command::Request(command) => request::run(&read(path)?, command).await,
        Command::Purse(command) => purse::run(&read(path)?, command).await,
        Command::Account(command) => account::run(&read(path)?, command).await,
        Command::Effect(command) => effect::run(&read(path)?, command).await,
        Command::Subject(command) => subject::run(&read(path)?, command).await,
        Command::Approval(command) => approval::run(&read(path)?, command).await,
        Command::Approve(args) => approval::answer(&read(path)?, &args.id, Answer::Yes).await,
        Command::Deny(args) => approval::answer(&read(path)?, &args.id, Answer::No(args.reason)).await,
        Command::Plugin(command) => plugin::run(path, command).await,
        Command::Policy(command) => policy::run(&read(path)?, command).await,
        Command::Converse(command) => speak::run(&read(path)?, command).await,
        Command::Slack(command) => slack::run(&read(path)?, command).await,
        Command::Doctor => examine(path).await,
        // `main` does it before anything else is started.
        Command::Compile { memory_bytes, cpu_s } => {
            let code = component::compile_to_output(memory_bytes, cpu_s);
            Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
        }
    }
}

fn read(path: &Path) -> Result<Config> {
    Config::read(path, std::env::vars())
}

async fn serve_office(path: &Path, drill: bool) -> Result<ExitCode> {
    let mut config = read(path)?;
    config.office.drill |= drill;
    // A missing or empty secret is found before anything is opened.
    let keys = signing_keys(&config)?;
    let listener = TcpListener::bind(config.listen.address).await.with_context(|| {
        format!(
            "cannot listen on {}: another process does, or it is not an address of this machine",
            config.listen.address
        )
    })?;
    let office = Arc::new(Office::build(config, Ports::system()).await?);
    serve::start(&office).await?;
    let journal = journal::open(&office).await?;
    let (stopping, stop) = watch::channel(false);
    let (tell, status) = watch::channel(Status::default());
    let (lines, sockets) = serve::sockets(&office.config);
    let front = Front {
        record: office.record.clone(),
        host: PrincipalId::host(),
        keys,
        installs: workspaces::installs(&office)?,
        clock: office.clock.clone(),
        journal: journal.is_some().then_some(status),
        sockets,
    };
    let linked = account::Linked::of(&office.config, &office.record, office.clock.clone())?;
    let routes = match linked {
        Some(linked) => router(front).merge(front::accounts::router(Arc::new(linked))),
        None => router(front),
    };
    for origin in &office.config.egress.loopback {
        println!("guests may reach {origin} on this machine");
    }
    if office.config.office.drill {
        println!("this is a drill: effects are captured, and nothing is sent");
    }
    if let Some(install) = office.config.slack.as_ref().and_then(|slack| slack.install.as_ref()) {
        println!("installed in a workspace at {}", workspaces::address(install));
    }
    println!("listening on http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    let (ended, end) = watch::channel(false);
    let journaling = async {
        journal::keep(journal, &office, tell, end).await;
        Ok(())
    };
    let mut stopped = stop.clone();
    let listening = async {
        let until = async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        front::listen(listener, routes, until).await.context("the listener stopped")
    };
    let signals = async {
        asked_to_stop().await?;
        tracing::info!("stopping");
        stopping.send_replace(true);
        Ok::<_, anyhow::Error>(())
    };
    let socket = serve::socket(office.clone(), lines, stop.clone());
    let working = async {
        tokio::try_join!(listening, serve::run(office.clone(), stop), socket)?;
        // Nothing is appended from here on: the journal can be brought to the record's end.
        ended.send_replace(true);
        Ok(())
    };
    tokio::try_join!(working, signals, journaling)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns at Ctrl-C or SIGTERM.
async fn asked_to_stop() -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    Ok(())
}

async fn chat_office(path: &Path, session: String, drill: bool) -> Result<ExitCode> {
    let mut config = read(path)?;
    // A chat takes nothing from Slack, and need not know who the office is there.
    config.slack = None;
    let office = Arc::new(Office::build(config, Ports::system()).await?);
    serve::start(&office).await?;
    let person = std::env::var("USER")
        .ok()
        .and_then(|user| PrincipalId::parse(&format!("person_terminal.{user}")).ok());
    // A drill is a conversation of its own: in the session itself, what is said could join a turn that sends.
    let session = if drill { format!("drill-{session}") } else { session };
    let session = Session {
        name: session,
        person: person.map_or_else(|| PrincipalId::parse("person_terminal.somebody"), Ok)?,
        run: office.node.rsplit('-').next().unwrap_or("run").to_owned(),
        host: PrincipalId::host(),
        drill: drill || office.config.office.drill,
        silence_ms_max: front::terminal::SILENCE_MS_MAX,
        answers: Some(Arc::new(crate::cards::Owner::of(office.clone())?)),
    };
    let people = std::io::stdin().is_terminal();
    let shown = Look { prompt: people, dim: std::io::stdout().is_terminal() };
    let (stopping, stop) = watch::channel(false);
    let chatting = chat(
        office.record.clone(),
        office.clock.clone(),
        session,
        shown,
        tokio::io::stdin(),
        tokio::io::stdout(),
    );
    let running = serve::run(office, stop);
    let chatting = async {
        let ended = chatting.await;
        stopping.send_replace(true);
        ended.map_err(anyhow::Error::from)
    };
    tokio::try_join!(chatting, running)?;
    Ok(ExitCode::SUCCESS)
}

async fn examine(path: &Path) -> Result<ExitCode> {
    let findings = doctor::examine(path, std::env::vars()).await;
    Ok(if doctor::told(&findings) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
