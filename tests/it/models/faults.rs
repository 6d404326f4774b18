//! Every way to go wrong: a typed outcome, one request, one end of the hold, and never a charge that nobody named.

use super::*;

/// What a fault costs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Costs {
    /// Nothing: the provider declined before it did anything.
    Nothing,
    /// What was used: the provider said so, though its answer cannot be used.
    Used,
    /// Nobody knows: the whole hold.
    Unknown,
}

struct Fault {
    name: &'static str,
    plays: Vec<Play>,
    kind: FailureKind,
    retry_after_ms: Option<u64>,
    costs: Costs,
}

fn fault(name: &'static str, plays: Vec<Play>, kind: FailureKind, costs: Costs) -> Fault {
    Fault { name, plays, kind, retry_after_ms: None, costs }
}

fn told(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "code": kind, "message": message}}).to_string()
}

/// The first half of an answer's events.
fn half(mut plays: Vec<Play>) -> Vec<Play> {
    plays.truncate(plays.len() / 2);
    plays
}

/// Those that are the same whatever API is spoken.
fn common(api: Api) -> Vec<Fault> {
    use Costs::{Nothing, Unknown, Used};
    use FailureKind::{Malformed, NotAllowed, ProviderRefused, RateLimited, TooLong, Unavailable};
    let status =
        |name, status, kind, costs| fault(name, vec![error(status, &[], &told("x", "no"))], kind, costs);
    let long = "prompt is too long: 1200000 tokens > 1000000 maximum context length";
    let slow = Fault {
        retry_after_ms: Some(7_000),
        ..fault(
            "too soon",
            vec![error(429, &[("retry-after", "7")], &told("rate_limit", "slow down"))],
            RateLimited,
            Nothing,
        )
    };
    let whole_answer = api.answer("Hello there, this is it.", None);
    let garbage = |bytes: &[u8]| vec![stream_head(), Play::Bytes(bytes.to_vec())];
    let mut silent = half(whole_answer.clone());
    silent.push(Play::Silence);
    vec![
        slow,
        status("a wrong request", 400, Malformed, Nothing),
        fault("too long", vec![error(400, &[], &told("x", long))], TooLong, Nothing),
        status("a wrong key", 401, NotAllowed, Nothing),
        status("no such model", 404, ProviderRefused, Nothing),
        status("too large", 413, TooLong, Nothing),
        status("overloaded", 529, RateLimited, Nothing),
        status("broken", 500, Unavailable, Unknown),
        status("a bad way", 502, Unavailable, Unknown),
        status("elsewhere", 302, Malformed, Unknown),
        fault("an error of no form", vec![whole(500, &[], "text/html", "<h1>oh</h1>")], Unavailable, Unknown),
        fault("no first byte", vec![Play::Silence], Unavailable, Unknown),
        fault("hung up at once", Vec::new(), Unavailable, Unknown),
        fault("silence in the middle", silent, Unavailable, Unknown),
        fault("cut in the middle", half(whole_answer), Unavailable, Unknown),
        fault("a stream of nothing", vec![stream_head()], Unavailable, Unknown),
        fault("events that are not JSON", garbage(b"data: {\"type\": \n\n"), Malformed, Unknown),
        fault("bytes that are no text", garbage(b"data: \xff\xfe\n\n"), Malformed, Unknown),
        fault("a page", vec![whole(200, &[], "text/html", "<h1>Welcome</h1>")], Malformed, Unknown),
        fault(
            "arguments that are not JSON",
            api.answer("", Some(("c", "web_fetch", "{\"url\": https"))),
            Unavailable,
            Used,
        ),
        fault(
            "arguments that are no object",
            api.answer("", Some(("c", "web_fetch", "[1]"))),
            Unavailable,
            Used,
        ),
    ]
}

fn of_messages() -> Vec<Fault> {
    use Costs::Unknown;
    use FailureKind::{Malformed, RateLimited, Unavailable};
    let answer = || messages(&[json!({"text": "Hello there."})], "end_turn");
    let twice = |at: usize| {
        let mut plays = answer();
        plays.insert(at, plays[at].clone());
        plays
    };
    let without = |at: usize| {
        let mut plays = answer();
        plays.remove(at);
        plays
    };
    let mut overloaded = half(answer());
    overloaded.push(event(
        &json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
    ));
    // 0 head, 1 message_start, 2 block start, 3 and 4 deltas, 5 block stop, 6 message_delta, 7 message_stop.
    vec![
        fault("begins twice", twice(1), Malformed, Unknown),
        fault("a block begins twice", twice(2), Malformed, Unknown),
        fault("a block ends twice", twice(5), Malformed, Unknown),
        fault("ends twice", twice(7), Malformed, Unknown),
        fault("no beginning", without(1), Malformed, Unknown),
        fault("a block without a beginning", without(2), Malformed, Unknown),
        fault("a block without an end", without(5), Malformed, Unknown),
        fault("no reason to stop", without(6), Malformed, Unknown),
        fault("no end", without(7), Unavailable, Unknown),
        fault("overloaded in the middle", overloaded, RateLimited, Unknown),
    ]
}

fn of_chat() -> Vec<Fault> {
    use Costs::{Nothing, Unknown};
    use FailureKind::{Malformed, ProviderRefused, Unavailable};
    let quota = told("insufficient_quota", "You exceeded your current quota");
    let choice = json!({"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": null}]});
    vec![
        fault("out of money", vec![error(429, &[], &quota)], ProviderRefused, Nothing),
        fault("two answers", vec![stream_head(), data(&choice.to_string())], Malformed, Unknown),
        fault(
            "an error in the middle",
            vec![stream_head(), data(r#"{"error":{"message":"oh","code":500}}"#)],
            Unavailable,
            Unknown,
        ),
    ]
}

fn of_responses() -> Vec<Fault> {
    use FailureKind::{Malformed, RateLimited, Unavailable};
    let failed = |code: &str| responses(&[], "failed", &json!({"error": {"code": code, "message": "no"}}));
    let mut queued = responses(&[], "completed", &json!({"status": "queued"}));
    queued.truncate(9);
    vec![
        fault("failed", failed("server_error"), Unavailable, Costs::Used),
        fault("too soon, in the middle", failed("rate_limit_exceeded"), RateLimited, Costs::Used),
        fault("of no status", queued, Malformed, Costs::Unknown),
    ]
}

#[tokio::test]
async fn every_fault_has_a_kind_and_is_paid_for_as_it_should_be() {
    for api in APIS {
        let provider = Provider::serve().await;
        let office = kit(api, &provider, ", first_byte_ms = 300, silence_ms = 300").await.open().await;
        let own = match api {
            Api::Messages => of_messages(),
            Api::Chat => of_chat(),
            Api::Responses => of_responses(),
        };
        for (n, fault) in common(api).into_iter().chain(own).enumerate() {
            provider.plays(fault.plays);
            let step = u32::try_from(n + 1).unwrap();
            let passed =
                office.built.gate.pass(call(&office, asked(api, "hi"), step).await, None).await.unwrap();
            let name = format!("{api:?}: {}", fault.name);
            let Passed::Failed { failure, .. } = passed else { panic!("{name}: {passed:?}") };
            assert_eq!(failure.kind, fault.kind, "{name}: {}", failure.message);
            assert_eq!(failure.retry_after_ms, fault.retry_after_ms, "{name}");
            assert_eq!(provider.requests().len(), n + 1, "{name}: a plugin tries once");
            let (word, amount) = hold(&office).await;
            match fault.costs {
                Costs::Nothing => assert_eq!(word, "released", "{name}"),
                Costs::Used => assert_eq!((word, amount), ("settled", price(api)), "{name}"),
                Costs::Unknown => assert!(word == "unknown" && amount > price(api), "{name}: {word}"),
            }
        }
        office.stop().await;
    }
}

#[tokio::test]
async fn pieces_that_come_twice_are_shown_twice_at_most_and_never_counted_twice() {
    // Numbered events say which they are; of the others the end alone counts.
    let provider = Provider::serve().await;
    let office = kit(Api::Responses, &provider, "").await.open().await;
    let twice = |plays: Vec<Play>| {
        let (head, rest) = plays.split_first().unwrap();
        std::iter::once(head.clone())
            .chain(rest.iter().flat_map(|play| [play.clone(), play.clone()]))
            .collect()
    };
    provider.plays(twice(Api::Responses.answer("Hello there.", None)));
    let passed =
        office.built.gate.pass(call(&office, asked(Api::Responses, "hi"), 1).await, None).await.unwrap();
    let Passed::Done { output: Output::Model(response), .. } = passed else { panic!("{passed:?}") };
    assert_eq!(response.parts, [Part::Text("Hello there.".into())]);
    assert_eq!(hold(&office).await, ("settled", price(Api::Responses)));
    office.stop().await;
}

#[tokio::test]
async fn an_answer_that_does_not_say_what_was_used_counts_in_full() {
    let provider = Provider::serve().await;
    let office = kit(Api::Chat, &provider, "").await.open().await;
    let mut plays = Api::Chat.answer("Hello.", None);
    plays.remove(plays.len() - 2);
    provider.plays(plays);
    let passed = office.built.gate.pass(call(&office, asked(Api::Chat, "hi"), 1).await, None).await.unwrap();
    assert!(matches!(passed, Passed::Done { .. }), "{passed:?}");
    assert_eq!(hold(&office).await.0, "unknown");
    office.stop().await;
}

#[tokio::test]
async fn the_host_tries_again_as_its_provider_asks_and_each_try_is_paid_for_once() {
    let provider = Provider::serve().await;
    let api = Api::Messages;
    let kit = kit(api, &provider, "").await;
    let office = kit.open().await;
    provider.plays(vec![error(529, &[("retry-after", "1")], &told("overloaded_error", "Overloaded"))]);
    let finish = json!({"outcome": "answered", "text": "Here I am.", "sources": []}).to_string();
    provider.plays(api.answer("", Some(("call_1", "finish", &finish))));
    office.deliver(&app_mention("Ev1", "C01GEN", "U01ALICE", "1700000000.000100", "<@U0BOT> hello?")).await;
    let events = office.until_turns_ended(1).await;
    let of = |kind: &str| events.iter().filter(|event| event.fact.kind() == kind).count();
    assert_eq!((of("hold.taken"), of("hold.released"), of("hold.settled")), (2, 1, 1));
    assert_eq!(kit.slack.posts()[0]["text"], "Here I am.");
    office.stop().await;
}
