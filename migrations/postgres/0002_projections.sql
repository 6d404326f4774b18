-- State folded from events, in the transaction that appends them. May be emptied and rebuilt at any time.

create table row (
    -- Which fold.
    projection text collate "C" not null,
    key text collate "C" not null,
    -- Canonical JSON.
    value text collate "C" not null,
    -- The one number a row may be found and ordered by; null for a row found by its key alone.
    rank bigint,
    primary key (projection, key)
);

-- For `ranked`: the rows of one projection at or above a rank, lowest first.
create index row_by_rank on row (projection, rank, key) where rank is not null;
