-- What is agreed between hosts and is no fact of the office: who may do a thing now, and how far a follower has come.

create table lease (
    -- What is leased, such as a turn.
    name text primary key,
    -- Empty after a release.
    holder text not null,
    -- Grows with every new holder and never falls, so that an append can be refused for an old one.
    token integer not null,
    -- UTC milliseconds; the lease is free from this moment.
    until integer not null
) strict;

create table cursor (
    -- Whose.
    name text primary key,
    -- The last event it has dealt with.
    global_position integer not null
) strict;
