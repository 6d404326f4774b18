//! How subjects, moments and spans are written.

use super::{Subject, moment, span_ms};
use event::{RefusalSubject, SeatId, Timestamp, Topic};
use proptest::prelude::*;

fn subject() -> impl Strategy<Value = RefusalSubject> {
    let name = "[a-z][a-z0-9./-]{0,20}";
    let seat = "[a-z-]{1,12}".prop_map(|name| SeatId::parse(&format!("seat_{name}")).unwrap());
    let topic = "[A-Za-z0-9.:_-]{1,30}".prop_map(|text| Topic::parse(&text).unwrap());
    prop_oneof![
        Just(RefusalSubject::Office),
        seat.clone().prop_map(RefusalSubject::Seat),
        name.prop_map(RefusalSubject::Tool),
        name.prop_map(RefusalSubject::Plugin),
        name.prop_map(RefusalSubject::Budget),
        topic.clone().prop_map(RefusalSubject::Topic),
        (seat, topic).prop_map(|(seat, topic)| RefusalSubject::SeatTopic { seat, topic }),
    ]
}

proptest! {
    #[test]
    fn a_subject_is_read_as_it_is_shown(subject in subject()) {
        prop_assert_eq!(subject.to_string().parse::<Subject>(), Ok(Subject(subject)));
    }

    #[test]
    fn a_moment_is_read_as_it_is_shown(ms in 0_i64..250_000_000_000_000) {
        prop_assert_eq!(moment(&Timestamp(ms).to_string()).unwrap(), Timestamp(ms));
    }
}

#[test]
fn what_is_no_subject_is_told_every_form() {
    for wrong in [
        "",
        "everything",
        "office:",
        "seat:x",
        "seat:",
        "tool:",
        "tool:a b",
        "plugin:\u{1b}",
        "topic:",
        "seat-topic:seat_x",
        "seat-topic:x|t",
        "Office",
    ] {
        let said = wrong.parse::<Subject>().unwrap_err().to_string();
        for form in ["`office`", "`seat:seat_x`", "`budget:organisation-day`", "`seat-topic:seat_x|topic`"] {
            assert!(said.contains(form), "{said}");
        }
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn a_moment_has_an_offset_and_is_in_the_calendar() {
    assert_eq!(moment("1970-01-01T01:00:00+01:00").unwrap(), Timestamp(0));
    assert_eq!(moment("2026-11-30T16:47:59.123Z").unwrap(), Timestamp(1_796_057_279_123));
    assert_eq!(moment("2000-02-29T00:00:00-00:30").unwrap(), Timestamp(951_782_400_000 + 1_800_000));
    for wrong in ["", "tomorrow", "2026-12-01", "2026-12-01T09:00:00", "2026-02-30T00:00:00Z", "09:00:00"] {
        assert!(moment(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_span_is_a_whole_number_and_a_unit() {
    assert_eq!(span_ms("90s").unwrap(), 90_000);
    assert_eq!(span_ms("2h").unwrap(), 7_200_000);
    assert_eq!(span_ms("7d").unwrap(), 604_800_000);
    for wrong in ["", "h", "2", "-1h", "0s", "1.5h", "2 h", "2w", "99999999999999999d", "é"] {
        assert!(span_ms(wrong).is_err(), "{wrong}");
    }
}
