//! The cases: one call a file, in `cases/NO` or `cases/PASS`. The name of the file says why.
//!
//! Nothing in the files looks like a credential: `{"join": [...]}` is put together here, and `{"base64": …}`,
//! `{"percent": …}`, `{"escape": …}` and `{"hex": …}` are encoded here. All credentials are made up. The same cases
//! are put to the component in `host/component`.

use base64::Engine;
use serde_json::Value;
use std::path::Path;

/// One case.
pub struct Case {
    /// `NO/….json` or `PASS/….json`.
    pub name: String,
    /// The tool, its effect class and what it touches, as the file has them.
    pub call: Value,
    /// The arguments, put together.
    pub arguments: Value,
    /// What the reason names, when the answer is a no.
    pub found: Option<String>,
    /// Texts that were put together: no reason may repeat one.
    pub secrets: Vec<String>,
}

/// All cases in `folder`, in order of name.
pub fn cases(folder: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for verdict in ["NO", "PASS"] {
        let listing = std::fs::read_dir(folder.join(verdict)).unwrap();
        let mut paths: Vec<_> = listing.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = format!("{verdict}/{}", path.file_name().unwrap().to_string_lossy());
            let mut call: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut secrets = Vec::new();
            let arguments = made(&call["arguments"].take(), &mut secrets);
            let found = call["found"].as_str().map(str::to_owned);
            assert_eq!(found.is_some(), verdict == "NO", "{name}: `found` is for a no");
            cases.push(Case { name, call, arguments, found, secrets });
        }
    }
    cases
}

/// The value with everything put together and encoded.
fn made(value: &Value, secrets: &mut Vec<String>) -> Value {
    let Value::Object(fields) = value else {
        return match value {
            Value::Array(items) => items.iter().map(|item| made(item, secrets)).collect(),
            other => other.clone(),
        };
    };
    if let (1, Some((how, inside))) = (fields.len(), fields.iter().next())
        && let Some(encode) = encoder(how)
    {
        let text = match inside {
            Value::Array(parts) => parts
                .iter()
                .map(|part| made(part, secrets))
                .map(|part| part.as_str().unwrap().to_owned())
                .collect(),
            other => made(other, secrets).as_str().unwrap().to_owned(),
        };
        if how == "join" {
            secrets.push(text.clone());
        }
        return encode(&text).into();
    }
    fields.iter().map(|(key, inside)| (key.clone(), made(inside, secrets))).collect()
}

fn encoder(how: &str) -> Option<fn(&str) -> String> {
    Some(match how {
        "join" | "text" => |text| text.to_owned(),
        "base64" => |text| base64::engine::general_purpose::STANDARD.encode(text),
        "base64url" => |text| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text),
        "percent" => |text| text.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        "escape" => |text| text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
        "hex" => |text| text.bytes().map(|byte| format!("{byte:02x}")).collect(),
        "spaced" => |text| text.chars().map(|c| format!("{c} ")).collect(),
        "hidden" => |text| text.chars().map(|c| format!("{c}\u{200b}")).collect(),
        "wide" => |text| text.chars().map(|c| char::from_u32(u32::from(c) + 0xfee0).unwrap()).collect(),
        _ => return None,
    })
}

/// What a reason must hold, and must not.
pub fn check(case: &Case, reason: Option<&str>) {
    let name = &case.name;
    match (&case.found, reason) {
        (None, None) => {}
        (None, Some(reason)) => panic!("{name}: refused: {reason}"),
        (Some(_), None) => panic!("{name}: let through"),
        (Some(found), Some(reason)) => {
            assert!(reason.contains(found.as_str()), "{name}: {reason}");
            assert!(case.secrets.iter().all(|secret| !reason.contains(secret.as_str())), "{name}: {reason}");
        }
    }
}
