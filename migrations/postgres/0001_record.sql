-- The one history. Nothing in this file is ever changed or removed: the triggers below refuse it, whoever asks.
-- Text is compared by its bytes (collation "C"), so that every database has one order. PostgreSQL keeps no zero byte
-- in text, so in names from outside the code writes 01 01 for it, and 01 02 for a byte 01.

-- What the functions below read must be the tables made here, also for somebody who makes a temporary table of the
-- same name: that schema is searched last.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Bodies too large to stand beside their event, each once, by the SHA-256 of its bytes.
create table blob (
    digest text collate "C" primary key,
    bytes bytea not null
);

create table event (
    -- The order of commits, from 1, gapless: one integer is a safe cursor. Never a sequence, whose numbers are taken
    -- at insert and seen at commit, so that a follower can pass an event that is not there yet.
    global_position bigint primary key,
    -- `category-name`: the subject.
    stream text collate "C" not null,
    -- Place in the stream, from 1, gapless.
    position bigint not null,
    -- The event's own name. A derived name makes an append that is tried again one event.
    id text collate "C" not null unique,
    kind text collate "C" not null,
    schema bigint not null,
    -- UTC milliseconds; never earlier than the event before.
    at bigint not null,
    -- Actor, label and body are canonical JSON (RFC 8785), kept as text so that the bytes are what was hashed.
    actor text collate "C" not null,
    cause text collate "C",
    label text collate "C" not null,
    -- The body stands here, or its digest stands in `blob`; never both, never neither.
    body text collate "C",
    blob text collate "C" references blob (digest),
    -- Over the event without time, positions and chain: an honest retry has the same.
    digest text collate "C" not null,
    -- Over the chain before, global position, time, digest and every column as it is stored.
    chain text collate "C" not null,
    -- Also the index of every read of one stream, and of its newest position.
    unique (stream, position),
    check ((body is null) <> (blob is null))
);

create function refuse() returns trigger language plpgsql as $$
begin
    raise exception '%', tg_argv[0];
end
$$;

create function event_stands_next() returns trigger language plpgsql set search_path from current as $$
begin
    if new.global_position is distinct from (select coalesce(max(global_position), 0) + 1 from event) then
        raise exception 'an event stands directly after the last of the record';
    end if;
    if new.position is distinct from
        (select coalesce(max(e.position), 0) + 1 from event e where e.stream = new.stream) then
        raise exception 'an event stands directly after the last of its stream';
    end if;
    if exists (select 1 from event where id = new.id) then
        raise exception 'an event of this id stands already';
    end if;
    return new;
end
$$;

create function blob_is_new() returns trigger language plpgsql set search_path from current as $$
begin
    if exists (select 1 from blob where digest = new.digest) then
        raise exception 'a body of this digest stands already';
    end if;
    return new;
end
$$;

create trigger event_update before update on event
    for each row execute function refuse('an event is never changed');
create trigger event_delete before delete on event
    for each row execute function refuse('an event is never removed');
create trigger event_truncate before truncate on event
    for each statement execute function refuse('an event is never removed');
create trigger event_insert before insert on event
    for each row execute function event_stands_next();

create trigger blob_update before update on blob
    for each row execute function refuse('a body is never changed');
create trigger blob_delete before delete on blob
    for each row execute function refuse('a body is never removed');
create trigger blob_truncate before truncate on blob
    for each statement execute function refuse('a body is never removed');
create trigger blob_insert before insert on blob
    for each row execute function blob_is_new();

-- `always`: also for a session that says it is a replica (`session_replication_role`), where others sleep.
alter table event enable always trigger event_update;
alter table event enable always trigger event_delete;
alter table event enable always trigger event_truncate;
alter table event enable always trigger event_insert;
alter table blob enable always trigger blob_update;
alter table blob enable always trigger blob_delete;
alter table blob enable always trigger blob_truncate;
alter table blob enable always trigger blob_insert;
