-- State folded from events, in the transaction that appends them. May be emptied and rebuilt at any time.

create table row (
    -- Which fold.
    projection text not null,
    key text not null,
    -- Canonical JSON.
    value text not null,
    -- The one number a row may be found and ordered by; null for a row found by its key alone.
    rank integer,
    primary key (projection, key)
) strict;

-- For `ranked`: the rows of one projection at or above a rank, lowest first.
create index row_by_rank on row (projection, rank, key) where rank is not null;
