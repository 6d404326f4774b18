-- No migration: the role that a host needs to run, for whoever administers the database.
--
-- It owns nothing, so it can drop no table and no trigger; it may add events and bodies, and neither change nor remove
-- any. Run this as the owner of the tables, after a first start as that owner has made them (`chancery serve`, or any
-- command that opens the record for writing); then give the host the URL of this role. To take up a newer version of
-- chancery that brings a migration, start once as the owner again.
--
--     psql "$OWNER_URL" -f migrations/postgres/role.sql
--     psql "$OWNER_URL" -c "alter role chancery password '...'"

do $$
begin
    create role chancery login;
exception when duplicate_object then
    null;
end
$$;

do $$
begin
    execute format('grant usage on schema %I to chancery', current_schema());
end
$$;

grant select, insert on event, blob to chancery;
grant select, insert, update, delete on row to chancery;
grant select, insert, update on lease, cursor to chancery;
