-- A role that records and decides, and cannot change or remove an event.
--
-- Make the ledger first (bygones ledger new postgresql://…). Then, as the owner of its tables:
--     psql postgresql://owner@host/name -f append-only-role.sql
-- Give every person or program a user of their own in this role:
--     CREATE ROLE ana LOGIN PASSWORD '…' IN ROLE ledger_writer;
-- After an upgrade of bygones that changes the tables, open the ledger once as the owner.

CREATE ROLE ledger_writer NOLOGIN;

-- Events are appended, never changed: no UPDATE, no DELETE, no TRUNCATE.
GRANT SELECT, INSERT ON events TO ledger_writer;

-- Everything else follows from the events, and moves on with every event: the snapshot of each agent, and the single
-- row with the head of the chain, which writers lock. Whoever tampers with these is found by `bygones ledger verify`,
-- and `bygones ledger rebuild` puts them right.
GRANT SELECT, INSERT, UPDATE ON agents TO ledger_writer;
GRANT USAGE ON SEQUENCE agents_id_seq TO ledger_writer;
GRANT SELECT, UPDATE ON ledger TO ledger_writer;
GRANT SELECT ON schema_version TO ledger_writer;

-- Which events are void follows from the events too. The seed of the next draw is secret: whoever can decide can read it.
GRANT SELECT, INSERT, UPDATE ON voids TO ledger_writer;
GRANT SELECT, UPDATE ON draws TO ledger_writer;

-- Nobody records in another user's name.
CREATE FUNCTION check_author() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.author <> session_user AND right(NEW.author, length(session_user) + 4) <> ' as ' || session_user THEN
        RAISE EXCEPTION 'events recorded by % must name it as their author, got %', session_user, NEW.author;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER events_author BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION check_author();
