//! Debian's packages, installed for those who run a task: one way to ask for them.
//!
//! Deliberately absent: any other system's packages. There the messages say what to install.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether this machine has Debian's packages.
pub fn is_here() -> bool {
    Path::new("/etc/debian_version").is_file()
}

/// Installs `packages`, as root or through `sudo` that asks nothing.
///
/// # Errors
/// The command that did not pass.
pub fn install(packages: &[&str]) -> Result<(), String> {
    println!("   installing {} with apt-get", packages.join(" "));
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let mut wanted = vec!["install", "--yes", "--no-install-recommends"];
    wanted.extend(packages);
    for args in [&["update", "--quiet"][..], &wanted] {
        let mut command = if is_root { Command::new("apt-get") } else { Command::new("sudo") };
        if !is_root {
            // Without asking: a prompt in the middle of a build is easily missed.
            command.args(["-n", "apt-get"]);
        }
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        if !command.status().is_ok_and(|status| status.success()) {
            return Err(format!("`apt-get {}` did not pass", args.join(" ")));
        }
    }
    Ok(())
}
