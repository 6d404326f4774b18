//! Everything that can be tried with a folder: reading, writing, and every way out of it.

use serde_json::{Map, Value, json};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

/// How much of a file is read.
const READ_BYTES: u64 = 4_096;

/// What became of each, in the first folder that was granted: `{deed: "done" | text | code}`.
pub(crate) fn tried() -> Value {
    let folders = get_directories();
    let Some((folder, at)) = folders.first() else { return json!({"folders": 0}) };
    let mut said = Map::new();
    let mut say = |deed: &str, outcome: Result<Value, ErrorCode>| {
        said.insert(deed.to_owned(), outcome.unwrap_or_else(|code| json!(format!("{code:?}"))));
    };
    say("at", Ok(json!(at)));
    let none = OpenFlags::empty();
    for path in [
        "inside.txt",
        "deep/er.txt",
        "../outside.txt",
        "deep/../../outside.txt",
        "/etc/passwd",
        "escape",
        "away/outside.txt",
    ] {
        say(path, read(folder, path));
    }
    let reading = DescriptorFlags::READ;
    let writing = DescriptorFlags::READ | DescriptorFlags::WRITE;
    say("truncate while reading", open(folder, "inside.txt", OpenFlags::TRUNCATE, reading));
    say("open to write", open(folder, "inside.txt", none, writing));
    say("create", open(folder, "new.txt", OpenFlags::CREATE, writing));
    say("write", write(folder, "written.txt"));
    say("folder", done(folder.create_directory_at("made")));
    say("rename", done(folder.rename_at("movable.txt", folder, "moved.txt")));
    say("link", done(folder.link_at(PathFlags::empty(), "inside.txt", folder, "linked.txt")));
    say("symlink", done(folder.symlink_at("../outside.txt", "pointed")));
    say("through it", read(folder, "pointed"));
    say("out", done(folder.rename_at("deep/er.txt", folder, "../out.txt")));
    say(
        "size",
        folder
            .open_at(PathFlags::empty(), "inside.txt", none, reading)
            .and_then(|file| done(file.set_size(0))),
    );
    say("remove", done(folder.unlink_file_at("removable.txt")));
    Value::Object(said)
}

fn done(outcome: Result<(), ErrorCode>) -> Result<Value, ErrorCode> {
    outcome.map(|()| json!("done"))
}

fn open(
    folder: &Descriptor,
    path: &str,
    how: OpenFlags,
    rights: DescriptorFlags,
) -> Result<Value, ErrorCode> {
    folder.open_at(PathFlags::SYMLINK_FOLLOW, path, how, rights).map(|_| json!("done"))
}

fn read(folder: &Descriptor, path: &str) -> Result<Value, ErrorCode> {
    let file = folder.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ)?;
    let (bytes, _) = file.read(READ_BYTES, 0)?;
    Ok(json!(String::from_utf8_lossy(&bytes)))
}

fn write(folder: &Descriptor, path: &str) -> Result<Value, ErrorCode> {
    let file = folder.open_at(PathFlags::empty(), path, OpenFlags::CREATE, DescriptorFlags::WRITE)?;
    done(file.write(b"by the guest", 0).map(|_| ()))
}
