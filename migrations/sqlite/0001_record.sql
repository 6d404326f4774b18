-- The one history. Nothing in this file is ever changed or removed: the triggers below refuse it, whoever asks.

-- Bodies too large to stand beside their event, each once, by the SHA-256 of its bytes.
create table blob (
    digest text primary key,
    bytes blob not null
) strict;

create table event (
    -- The order of commits, from 1, gapless: one integer is a safe cursor. Never a sequence, whose numbers are taken
    -- at insert and seen at commit, so that a follower can pass an event that is not there yet.
    global_position integer primary key,
    -- `category-name`: the subject.
    stream text not null,
    -- Place in the stream, from 1, gapless.
    position integer not null,
    -- The event's own name. A derived name makes an append that is tried again one event.
    id text not null unique,
    kind text not null,
    schema integer not null,
    -- UTC milliseconds; never earlier than the event before.
    at integer not null,
    -- Actor, label and body are canonical JSON (RFC 8785), kept as text so that the bytes are what was hashed.
    actor text not null,
    cause text,
    label text not null,
    -- The body stands here, or its digest stands in `blob`; never both, never neither.
    body text,
    blob text references blob (digest),
    -- Over the event without time, positions and chain: an honest retry has the same.
    digest text not null,
    -- Over the chain before, global position, time, digest and every column as it is stored.
    chain text not null,
    -- Also the index of every read of one stream, and of its newest position.
    unique (stream, position),
    check ((body is null) <> (blob is null))
) strict;

create trigger event_update before update on event
begin
    select raise(abort, 'an event is never changed');
end;

create trigger event_delete before delete on event
begin
    select raise(abort, 'an event is never removed');
end;

-- `insert or replace` fires neither of the two above, so an insert must stand next, under a new name.
create trigger event_insert before insert on event
begin
    select raise(abort, 'an event stands directly after the last of the record')
    where new.global_position is not (select coalesce(max(global_position), 0) + 1 from event);
    select raise(abort, 'an event stands directly after the last of its stream')
    where new.position is not (select coalesce(max(position), 0) + 1 from event where stream = new.stream);
    select raise(abort, 'an event of this id stands already')
    where exists (select 1 from event where id = new.id);
end;

create trigger blob_update before update on blob
begin
    select raise(abort, 'a body is never changed');
end;

create trigger blob_delete before delete on blob
begin
    select raise(abort, 'a body is never removed');
end;

create trigger blob_insert before insert on blob
begin
    select raise(abort, 'a body of this digest stands already')
    where exists (select 1 from blob where digest = new.digest);
end;
