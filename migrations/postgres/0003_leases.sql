-- What is agreed between hosts and is no fact of the office: who may do a thing now, and how far a follower has come.

create table lease (
    -- What is leased, such as a turn.
    name text collate "C" primary key,
    -- Empty after a release.
    holder text collate "C" not null,
    -- Grows with every new holder and never falls, so that an append can be refused for an old one.
    token bigint not null,
    -- UTC milliseconds; the lease is free from this moment.
    until bigint not null
);

create table cursor (
    -- Whose.
    name text collate "C" primary key,
    -- The last event it has dealt with.
    global_position bigint not null
);
