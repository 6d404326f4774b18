//! Bounds on the text of policies, and room to read it: Cedar's reader and validator recurse as deep as the text
//! nests, and a stack that overflows ends the process, which no error handling mends.
//!
//! Always holds: nothing is parsed that is beyond the bounds, and what is within them is read on a stack that it
//! fits. Deliberately absent: evaluation, which looks at its stack by itself and errs, and an error is a no.

/// How deep brackets may nest in a policy. People write four or five.
const BRACKETS_MAX: usize = 32;

/// How much of a policy may stand outside of texts and comments, in bytes. It bounds how long a chain of operators can
/// be; a list of a thousand names is within it.
const CODE_BYTES_MAX: usize = 8 * 1024;

/// How many `if` a policy may have: the validator's work doubles with each that stands in another.
const IFS_MAX: usize = 12;

/// The stack on which policies are read, in bytes. The longest chain within the bounds takes a third of it in a build
/// without optimisation; what is not used is never touched.
const STACK_BYTES: usize = 512 * 1024 * 1024;

/// The first place in `text` that is beyond the bounds, as an offset and a sentence.
pub(super) fn beyond(text: &str) -> Option<(usize, String)> {
    let (mut depth, mut code, mut ifs) = (0_usize, 0_usize, 0_usize);
    let mut word = 0_usize;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => {
                while let Some((_, inside)) = rest.next() {
                    match inside {
                        '\\' => _ = rest.next(),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if rest.peek().is_some_and(|(_, next)| *next == '/') => {
                _ = rest.by_ref().find(|(_, inside)| matches!(inside, '\n' | '\r'));
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => (code, ifs) = (0, 0),
            _ => {}
        }
        code += c.len_utf8();
        word = if c.is_ascii_alphanumeric() || c == '_' { word + 1 } else { 0 };
        let ends = !rest.peek().is_some_and(|(_, next)| next.is_ascii_alphanumeric() || *next == '_');
        if c == 'f' && word == 2 && ends && text.get(..at).is_some_and(|before| before.ends_with('i')) {
            ifs += 1;
        }
        for (is, most, what) in [
            (depth, BRACKETS_MAX, "brackets within one another"),
            (ifs, IFS_MAX, "`if` in one policy"),
            (code, CODE_BYTES_MAX, "bytes of one policy outside of texts and comments"),
        ] {
            if is > most {
                return Some((at, format!("at most {most} {what}: say it in several policies")));
            }
        }
    }
    None
}

/// Runs `read` on a stack of its own. Nothing when there is no such stack to be had, or `read` panicked.
pub(super) fn with_room<T: Send>(read: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("policies".to_owned()).stack_size(STACK_BYTES);
        thread.spawn_scoped(scope, read).ok()?.join().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::{BRACKETS_MAX, CODE_BYTES_MAX, IFS_MAX, beyond};
    use crate::policy::PolicyError;
    use crate::policy::tests::load;

    fn nested(open: &str, leaf: &str, close: &str, times: usize) -> String {
        format!(
            "@id(\"a\") forbid (principal, action, resource) when {{ {}{leaf}{} }};",
            open.repeat(times),
            close.repeat(times)
        )
    }

    #[test]
    fn text_that_nests_without_end_is_a_fault_and_not_the_end_of_the_process() {
        for times in [5_000, 100_000] {
            for (open, leaf, close) in [
                ("(", "true", ")"),
                ("!(", "true", ")"),
                ("[", "1", "]"),
                ("{a: ", "1", "}"),
                ("true && ", "true", ""),
                ("1 + ", "1 == 1", ""),
                ("if true then ", "true", " else true"),
                ("context", ".flow", ".flow"),
                ("((((", "", ""),
            ] {
                let text = nested(open, leaf, close, times);
                assert!(matches!(load(&text), Err(PolicyError::Texts(_))), "{open} {times}");
            }
        }
    }

    #[test]
    fn the_most_that_is_within_the_bounds_is_read() {
        let all = ["1 + 1 > 1", "context.approved"];
        for (open, leaf, close, times) in [
            ("(", all[1], ")", BRACKETS_MAX - 1),
            ("context.approved && ", all[1], "", CODE_BYTES_MAX / 24),
            ("if context.approved then true else ", all[1], "", IFS_MAX),
            ("!", all[1], "", 4),
        ] {
            let text = nested(open, leaf, close, times);
            assert_eq!(beyond(&text), None, "{open}");
            assert!(load(&text).is_ok(), "{open}: {:?}", load(&text).err());
        }
    }

    #[test]
    fn brackets_in_texts_and_comments_do_not_count_and_the_place_is_told() {
        let within = format!("// {0}\n@reason(\"{0} \\\" {0}\") permit", "(".repeat(100));
        assert_eq!(beyond(&within), None);
        assert_eq!(beyond(&format!("ab{}", "(".repeat(40))).map(|(at, _)| at), Some(2 + BRACKETS_MAX));
        assert_eq!(beyond(&"permit (principal); ".repeat(10_000)), None, "each policy by itself");
        assert_eq!(
            beyond(&format!("when {{ {} }}", "elif iffy _if ".repeat(20))),
            None,
            "no `if` among them"
        );
    }
}
