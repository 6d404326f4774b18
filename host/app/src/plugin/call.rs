//! `chancery plugin call`: a tool tried by hand.
//!
//! Always holds: the call passes the gate in a seat that the owner holds, with that seat's grants, and leaves the same
//! story on the record as any other; that a person made it by hand stands before it.

use crate::config::Config;
use crate::owner::Acting;
use crate::policy::sets;
use crate::seat::ActArgs;
use crate::wire;
use anyhow::{Context, Result, bail};
use event::{CallTried, Fact, StreamName};
use gate::{Call, Output, Passed, Payload};
use serde_json::Value;
use std::process::ExitCode;

/// What such a call is, among the duties that are no step of a turn.
const KIND: &str = "tried";

/// Calls `tool` and prints what came of it: the output alone on standard output.
///
/// # Errors
/// When the arguments are no JSON object, or the record cannot be used. A no is printed, and the exit code is 1.
pub async fn call(config: &Config, tool: &str, args: &str, act: ActArgs) -> Result<ExitCode> {
    let input: Value = serde_json::from_str(args).context("--args is not JSON")?;
    if !input.is_object() {
        bail!("--args is not a JSON object, such as '{{\"name\": \"Ada\"}}'");
    }
    let ports = wire::Ports::system();
    let acting = Acting::open(config, act.as_seat).await?;
    let installed = wire::install(config).await?;
    if sets::in_force(&acting.record).await?.is_none() {
        // Nobody served this office yet: what it decides by is put on its record now.
        wire::put_in_force(config, &acting.record, &installed).await?;
    }
    let (gate, _) = wire::gate(config, &acting.record, installed, ports).await?;
    let seat = acting.actor.seat.clone().context("nobody acts in no seat")?;
    let tried = CallTried { by: acting.actor.principal.clone(), seat: seat.clone(), tool: tool.to_owned() };
    let stream = StreamName::new("seat", &seat);
    let stated = acting.state(Vec::new(), move |_, _| Ok(vec![(stream, Fact::from(tried))])).await?;
    let cause = stated.first().context("the record took nothing")?.id.clone();
    let asker = Some(acting.actor.principal.clone());
    let call = Call { asker, ..Call::duty(seat, (&cause, KIND, 1), tool, Payload::Tool(input)) };
    let passed = gate.pass(call, None);
    Ok(told(passed.await?))
}

fn told(passed: Passed) -> ExitCode {
    let said = match passed {
        Passed::Done { output: Output::Tool(output), .. } => {
            let text = serde_json::to_string_pretty(&output).unwrap_or_default();
            // A pretty-printed JSON text has line ends of its own making only.
            text.lines().for_each(|line| println!("{}", crate::show::printable_json(line)));
            return ExitCode::SUCCESS;
        }
        Passed::Done { .. } => "it is a model, and models are asked in turns".to_owned(),
        Passed::Failed { failure, .. } => format!("failed: {}", failure.message),
        Passed::Denied(denial) => format!("denied: {}", denial.reason),
        Passed::Refused(refusal) => format!("refused: {}", refusal.reason),
        Passed::Unknown { reason } => format!("its outcome is not known: {reason}"),
        Passed::Waits { approval, expires_at } => {
            format!("it waits for a yes until {expires_at}: chancery approval show {approval}")
        }
    };
    eprintln!("{}", crate::show::one_line(&said));
    ExitCode::FAILURE
}
