//! Every limit a guest lives under, in one place.
//!
//! There is no default for any of them: wasmtime's own are unlimited, 600 s or 128 MiB, and a knob nobody set
//! is a knob somebody turns. Three sets are worked out here, for tools, models and guards, with the reason beside
//! each figure. Operators and manifests cannot raise them yet.

/// How often the epoch moves, in milliseconds: how long a guest that never waits can keep a thread from
/// others. Spin and Golem tick as often.
pub const TICK_MS: u64 = 10;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// What one call of one guest may use. Sizes are in bytes unless the name says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All linear memories of the call together. Bulk memory operations look at the epoch once each, so this
    /// also bounds how long one of them takes.
    pub memory_bytes: usize,
    /// All table elements of the call together.
    pub table_elements: usize,
    /// Core instances.
    pub instances: usize,
    /// Tables.
    pub tables: usize,
    /// Linear memories.
    pub memories: usize,
    /// Host objects a guest may have open: streams, requests, pollables.
    pub resources: usize,
    /// Handles of the component model that are alive at once.
    pub handles: usize,
    /// What a guest may hand to the host in one host call.
    pub hostcall_bytes: usize,
    /// What it may ask of `wasi:random` at once.
    pub random_bytes: u64,
    /// One set of HTTP headers, either way, counted as the host keeps it in memory.
    pub header_bytes: usize,
    /// One HTTP request body.
    pub request_bytes: usize,
    /// One HTTP response body. The way out has a cap of its own; the lower one counts.
    pub response_bytes: usize,
    /// HTTP requests of one call, refused ones included.
    pub http_requests: usize,
    /// Log lines of one call, those on its standard output included; what comes after is dropped.
    pub log_lines: usize,
    /// One log line; the rest of it is cut.
    pub log_line_bytes: usize,
    /// The arguments or the conversation passed to the guest.
    pub input_bytes: usize,
    /// What it gives back, and for a model all deltas together.
    pub output_bytes: usize,
    /// Parts of a model's response.
    pub parts: usize,
    /// The sentence of a failure; the rest of it is cut.
    pub message_bytes: usize,
    /// Running time: how much of a processor guest code, and host functions that do not wait, may take.
    pub cpu_ms: u64,
    /// The whole call on the wall clock, waiting included: epochs do not interrupt a host function.
    pub wall_ms: u64,
}

impl Limits {
    /// For calls of tools.
    ///
    /// Source of the first nine figures: security research 3.1, raised where an interpreter compiled to a
    /// component needs it.
    #[must_use]
    pub const fn for_tools() -> Self {
        Self {
            memory_bytes: 64 * MIB,
            // Interpreters in debug builds have more than 10,000 functions in a table.
            table_elements: 20_000,
            // A Python component is some thirty modules linked together; a Rust one is three.
            instances: 64,
            tables: 16,
            // One for the program, one for an adapter that brings its own, two in reserve.
            memories: 4,
            resources: 1_000,
            handles: 1_000,
            hostcall_bytes: 4 * MIB,
            random_bytes: 64 * KIB as u64,
            header_bytes: 32 * KIB,
            request_bytes: MIB,
            response_bytes: 8 * MIB,
            // A tool reads a page, or a page and its parts; a crawler is a worker's job, not one call's.
            http_requests: 20,
            // As `chancery:host/log` says.
            log_lines: 100,
            log_line_bytes: 4 * KIB,
            input_bytes: MIB,
            output_bytes: MIB,
            parts: 0,
            message_bytes: 2 * KIB,
            // Parsing a megabyte of HTML takes some tens of milliseconds.
            cpu_ms: 2_000,
            wall_ms: 30_000,
        }
    }

    /// For calls of models: as tools, but for long conversations and providers that take their time.
    #[must_use]
    pub const fn for_models() -> Self {
        Self {
            hostcall_bytes: 16 * MIB,
            // A window of a million tokens is about four megabytes, and JSON escapes some of it.
            input_bytes: 8 * MIB,
            request_bytes: 16 * MIB,
            // The host alone retries, and counts on it: what one answer says of the call, it says of all of it.
            http_requests: 1,
            parts: 256,
            cpu_ms: 5_000,
            // Providers stream for minutes; a turn's lease is longer than this.
            wall_ms: 180_000,
            ..Self::for_tools()
        }
    }

    /// For guards: they look at one call and answer with a word or a sentence, and every call they see waits for
    /// them. Of the host they are lent nothing, so what is counted there is zero.
    #[must_use]
    pub const fn for_guards() -> Self {
        Self {
            // The longest input, read into a tree and looked at in a few spellings.
            memory_bytes: 48 * MIB,
            table_elements: 10_000,
            resources: 0,
            handles: 0,
            // A verdict, and room to tell one that is too long from one that does not end.
            hostcall_bytes: 64 * KIB,
            random_bytes: 0,
            header_bytes: 0,
            request_bytes: 0,
            response_bytes: 0,
            http_requests: 0,
            log_lines: 0,
            log_line_bytes: 0,
            // What a model may be asked: a guard may see that too.
            input_bytes: 8 * MIB,
            // As `chancery:guard/checks` says.
            output_bytes: 4 * KIB,
            message_bytes: 0,
            cpu_ms: 1_000,
            // Sixteen guards, one after the other, end within half of a turn's lease.
            wall_ms: 2_000,
            ..Self::for_tools()
        }
    }
}

/// What the process sets aside for guests: address space, mostly, since untouched memory costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Tools and models that run at the same time. One more waits for a place, within its own wall clock.
    pub calls: u32,
    /// Guards that run at the same time, in places of their own: a guard never waits for a tool that takes long.
    pub checks: u32,
    /// Limits of tools.
    pub tools: Limits,
    /// Limits of models.
    pub models: Limits,
    /// Limits of guards.
    pub guards: Limits,
}

impl Pool {
    /// For a small machine: 32 guests and eight guards at once take 2.4 GiB at the very worst, and less than a
    /// terabyte of addresses.
    #[must_use]
    pub const fn for_small_machine() -> Self {
        Self {
            calls: 32,
            checks: 8,
            tools: Limits::for_tools(),
            models: Limits::for_models(),
            guards: Limits::for_guards(),
        }
    }

    /// All guests at the same time.
    pub(crate) fn all(&self) -> u32 {
        self.calls.saturating_add(self.checks)
    }

    /// The largest of the three figures that `of` picks.
    pub(crate) fn largest(&self, of: impl Fn(&Limits) -> usize) -> usize {
        of(&self.tools).max(of(&self.models)).max(of(&self.guards))
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, Pool, TICK_MS};

    #[test]
    fn what_a_guest_hands_over_fits_the_limits_it_is_held_to_later() {
        for limits in [Limits::for_tools(), Limits::for_models(), Limits::for_guards()] {
            assert!(
                limits.output_bytes <= limits.hostcall_bytes,
                "an output must reach the check of its length"
            );
            assert!(limits.input_bytes < limits.memory_bytes, "a guest must have room for what it is given");
            assert!(limits.cpu_ms < limits.wall_ms && limits.cpu_ms > TICK_MS);
        }
    }

    #[test]
    fn a_pool_is_as_large_as_its_largest_guest() {
        let mut pool = Pool::for_small_machine();
        pool.models.tables = pool.tools.tables + 1;
        assert_eq!(pool.largest(|limits| limits.tables), pool.models.tables);
        pool.guards.tables = pool.models.tables + 1;
        assert_eq!(pool.largest(|limits| limits.tables), pool.guards.tables);
    }
}
