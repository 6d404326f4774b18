//! The cases of the design, and the law: figures move the choice one way only.

use super::{Case, Found, Word, before, evaluate, outcome};
use event::{Choice, Class, Mode, Scores, Signs, Spent};
use proptest::prelude::*;

const NOBODY_SPOKE: Spent = Spent {
    all: 0,
    summons: 0,
    general: 0,
    low: 0,
    investigations: 0,
    investigating: 0,
    acks: 0,
    since_spoken_ms: None,
    since_person_ms: None,
};

fn case<'a>(class: Class, mode: Mode, signs: &'a Signs, spent: &'a Spent) -> Case<'a> {
    Case { class, mode, signs, spent, hops_max: 2 }
}

fn scores(u: u8, k: u8, g: u8, n: u8, i: u8, v: u8, r: u8) -> Scores {
    Scores {
        usefulness: u,
        confidence: k,
        urgency: g,
        noise: n,
        interruption_cost: i,
        investigation_value: v,
        reaction_fit: r,
    }
}

fn passive(mode: Mode, scores: Scores) -> Choice {
    evaluate(&case(Class::Passive, mode, &Signs::default(), &NOBODY_SPOKE), &scores).choice
}

fn explicit(scores: Scores) -> Found {
    evaluate(&case(Class::Explicit, Mode::Quiet, &Signs::default(), &NOBODY_SPOKE), &scores)
}

#[test]
fn useful_and_unsure_is_looked_into() {
    assert_eq!(passive(Mode::Proactive, scores(90, 30, 40, 10, 20, 85, 10)), Choice::Investigate);
    assert_eq!(passive(Mode::Proactive, scores(90, 90, 40, 10, 20, 85, 10)), Choice::Answer);
}

#[test]
fn fitting_and_empty_gets_an_emoji() {
    assert_eq!(passive(Mode::Reserved, scores(5, 90, 0, 10, 20, 0, 95)), Choice::Ack);
}

#[test]
fn urgent_and_disruptive_is_answered_in_one_mode_and_looked_into_in_a_stricter_one() {
    let urgent = scores(75, 75, 95, 30, 90, 80, 0);
    assert_eq!(passive(Mode::Proactive, urgent), Choice::Answer);
    assert_eq!(passive(Mode::Reserved, urgent), Choice::Investigate);
}

#[test]
fn right_and_answered_already_is_passed_over() {
    let useful = scores(95, 95, 80, 0, 0, 90, 90);
    let of = |signs: Signs| evaluate(&case(Class::Passive, Mode::Eager, &signs, &NOBODY_SPOKE), &useful);
    let answered = of(Signs { answered: true, ..Signs::default() });
    assert_eq!((answered.choice, answered.word), (Choice::Pass, Word::Answered));
    let others = of(Signs { for_others: true, ..Signs::default() });
    assert_eq!((others.choice, others.word), (Choice::Pass, Word::ForOthers));
}

#[test]
fn explicit_and_light_gets_an_emoji_and_explicit_is_never_passed_over() {
    assert_eq!(explicit(scores(10, 90, 0, 80, 90, 0, 90)).choice, Choice::Ack);
    for nothing in [scores(0, 0, 0, 100, 100, 0, 0), scores(25, 0, 40, 100, 100, 40, 69)] {
        assert_eq!((explicit(nothing).choice, explicit(nothing).word), (Choice::Answer, Word::Asked));
    }
    assert_eq!(explicit(scores(80, 20, 0, 0, 0, 90, 0)).choice, Choice::Investigate);
}

#[test]
fn without_scores_the_asker_is_answered_and_everybody_else_is_left_alone() {
    let signs = Signs::default();
    for word in [Word::NoScores, Word::MalformedScores, Word::NotAsked] {
        let of = |class| outcome(&case(class, Mode::Eager, &signs, &NOBODY_SPOKE), word).choice;
        assert_eq!((of(Class::Explicit), of(Class::Passive)), (Choice::Answer, Choice::Pass));
    }
}

#[test]
fn what_needs_no_model_is_decided_without_one() {
    let of = |class, mode, signs: Signs, spent: Spent| {
        before(&case(class, mode, &signs, &spent)).map(|found| (found.choice, found.word))
    };
    let no = Signs::default();
    let passive = |signs, spent| of(Class::Passive, Mode::Eager, signs, spent);
    assert_eq!(passive(no, NOBODY_SPOKE), None);
    assert_eq!(passive(Signs { muted: true, ..no }, NOBODY_SPOKE), Some((Choice::Pass, Word::Muted)));
    assert_eq!(passive(Signs { turn_open: true, ..no }, NOBODY_SPOKE), Some((Choice::Pass, Word::TurnOpen)));
    assert_eq!(
        passive(Signs { replied_to: true, ..no }, NOBODY_SPOKE),
        Some((Choice::Pass, Word::RepliedTo))
    );
    let spent = Spent { all: 24, acks: 60, ..NOBODY_SPOKE };
    assert_eq!(passive(no, spent), Some((Choice::Pass, Word::AllowanceSpent)));
    assert_eq!(of(Class::Passive, Mode::Quiet, no, NOBODY_SPOKE), Some((Choice::Pass, Word::QuietChannel)));
    let explicit = |signs| of(Class::Explicit, Mode::Quiet, signs, spent);
    assert_eq!(explicit(Signs { muted: true, ..no }), None, "a muted thread still answers who asks");
    assert_eq!(explicit(Signs { turn_open: true, ..no }), Some((Choice::Answer, Word::TurnOpen)));
}

#[test]
fn a_program_gets_so_many_answers_in_a_row_and_then_none() {
    let of = |hops| {
        let signs = Signs { by_program: true, hops, ..Signs::default() };
        before(&case(Class::Explicit, Mode::Quiet, &signs, &NOBODY_SPOKE)).map(|found| found.choice)
    };
    assert_eq!((of(0), of(1), of(2), of(9)), (None, None, Some(Choice::Pass), Some(Choice::Pass)));
}

#[test]
fn an_answer_without_room_becomes_an_emoji_that_fits_or_nothing() {
    let signs = Signs::default();
    let spent = Spent { all: 24, ..NOBODY_SPOKE };
    let of = |fit| {
        let case = case(Class::Passive, Mode::Eager, &signs, &spent);
        let found = evaluate(&case, &scores(95, 95, 95, 0, 0, 95, fit));
        (found.choice, found.word)
    };
    assert_eq!(of(90), (Choice::Ack, Word::Scores));
    assert_eq!(of(10), (Choice::Pass, Word::NoRoom));
}

#[test]
fn going_on_with_the_office_is_easier_and_naming_others_makes_it_harder() {
    let middling = scores(60, 65, 20, 10, 40, 0, 0);
    let of = |signs: Signs| {
        evaluate(
            &case(Class::Passive, Mode::Reserved, &signs, &NOBODY_SPOKE),
            &scores(70, 75, 20, 10, 40, 0, 0),
        )
        .choice
        .max(evaluate(&case(Class::Passive, Mode::Proactive, &signs, &NOBODY_SPOKE), &middling).choice)
    };
    let follows = Signs { follows_office: true, ..Signs::default() };
    let names = Signs { names_others: true, ..Signs::default() };
    assert_eq!((of(follows), of(names)), (Choice::Answer, Choice::Pass));
}

#[test]
fn each_word_is_its_own_and_says_what_it_means() {
    let words: std::collections::BTreeSet<_> = Word::ALL.iter().map(|word| word.word()).collect();
    assert_eq!(words.len(), Word::ALL.len());
    assert!(Word::ALL.iter().all(|word| word.meaning().ends_with('.')));
}

fn any_scores() -> impl Strategy<Value = Scores> {
    proptest::array::uniform7(0_u8..=100).prop_map(|[u, k, g, n, i, v, r]| scores(u, k, g, n, i, v, r))
}

fn any_spent() -> impl Strategy<Value = Spent> {
    let counts = proptest::array::uniform7(0_u32..30);
    let since = || proptest::option::of(0_i64..2_000_000);
    (counts, since(), since()).prop_map(
        |([all, summons, general, low, investigations, investigating, acks], s, p)| Spent {
            all,
            summons,
            general,
            low,
            investigations,
            investigating,
            acks,
            since_spoken_ms: s,
            since_person_ms: p,
        },
    )
}

fn any_signs() -> impl Strategy<Value = Signs> {
    (any::<bool>(), any::<bool>()).prop_map(|(follows_office, names_others)| Signs {
        follows_office,
        names_others,
        ..Signs::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    #[test]
    fn more_of_what_speaks_for_it_is_never_quieter_and_more_of_what_speaks_against_it_never_louder(
        before in any_scores(), more in proptest::array::uniform5(0_u8..=100), spent in any_spent(), signs in any_signs(),
        mode in proptest::sample::select(&Mode::ALL[..]), asked in any::<bool>(),
    ) {
        let class = if asked { Class::Explicit } else { Class::Passive };
        let of = |scores: &Scores| evaluate(&case(class, mode, &signs, &spent), scores).choice;
        let up = |score: u8, by: u8| score.saturating_add(by).min(100);
        let [u, k, g, n, i] = more;
        let louder = Scores {
            usefulness: up(before.usefulness, u),
            confidence: up(before.confidence, k),
            urgency: up(before.urgency, g),
            ..before
        };
        prop_assert!(of(&louder) >= of(&before), "{before:?} {louder:?}");
        let quieter = Scores {
            noise: up(before.noise, n),
            interruption_cost: up(before.interruption_cost, i),
            ..before
        };
        prop_assert!(of(&quieter) <= of(&before), "{before:?} {quieter:?}");
    }

    #[test]
    fn a_more_forward_mode_is_never_quieter_and_a_fuller_hour_never_louder(
        scores in any_scores(), spent in any_spent(), more in 0_u32..5, signs in any_signs(),
    ) {
        let of = |mode, spent: &Spent| evaluate(&case(Class::Passive, mode, &signs, spent), &scores).choice;
        let choices: Vec<Choice> = Mode::ALL.iter().map(|mode| of(*mode, &spent)).collect();
        prop_assert!(choices.is_sorted(), "{choices:?}");
        prop_assert_eq!(choices[0], Choice::Pass);
        let fuller = Spent { all: spent.all + more, general: spent.general + more, low: spent.low + more, ..spent };
        for mode in Mode::ALL {
            prop_assert!(of(mode, &fuller) <= of(mode, &spent));
        }
    }
}
