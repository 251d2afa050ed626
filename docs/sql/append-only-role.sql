-- A role that records and decides, and cannot change or remove an event.
--
-- Make the ledger first (bygones ledger new postgresql://…). Then, as the owner of its tables, who may create roles:
--     psql postgresql://owner@host/name -v ON_ERROR_STOP=1 -f append-only-role.sql
-- It can be run again, and in several databases of a server. Give every person or program a user of their own in this
-- role:
--     CREATE ROLE ana LOGIN PASSWORD '…' IN ROLE ledger_writer;
-- After an upgrade of bygones that changes the tables, open the ledger once as the owner, and run this again.

BEGIN;

DO $$
BEGIN
    CREATE ROLE ledger_writer NOLOGIN;
EXCEPTION WHEN duplicate_object THEN
    NULL;
END
$$;

-- Events are appended, never changed: no UPDATE, no DELETE, no TRUNCATE.
GRANT SELECT, INSERT ON events TO ledger_writer;

-- Everything else follows from the events, and moves on with every event: the snapshot of each agent, and the single
-- row with the head of the chain, which writers lock. Whoever tampers with these is found by `bygones ledger verify`,
-- and `bygones ledger rebuild` puts them right. An agent's number and name stay, since events refer to them.
REVOKE UPDATE ON agents FROM ledger_writer;
GRANT SELECT, INSERT ON agents TO ledger_writer;
GRANT UPDATE (participation, as_of, last, counters) ON agents TO ledger_writer;
GRANT USAGE ON SEQUENCE agents_id_seq TO ledger_writer;
GRANT SELECT, UPDATE ON ledger TO ledger_writer;
GRANT SELECT ON schema_version TO ledger_writer;

-- So does what is void, corrected, linked or given: it is added to, and never removed.
GRANT SELECT, INSERT, UPDATE ON revised TO ledger_writer;
GRANT SELECT, INSERT ON links TO ledger_writer;
GRANT SELECT, INSERT ON given TO ledger_writer;

-- The ends of the chains of seeds are secret: whoever can decide can read them. One moves on when a chain is used up.
GRANT SELECT, UPDATE ON draws TO ledger_writer;

-- Nobody records in another user's name.
CREATE OR REPLACE FUNCTION check_author() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF NEW.author <> session_user AND right(NEW.author, length(session_user) + 4) <> ' as ' || session_user THEN
        RAISE EXCEPTION 'events recorded by % must name it as their author, got %', session_user, NEW.author;
    END IF;
    RETURN NEW;
END
$$;

-- The head is the last event. Both functions below look in the schema public, not among somebody's temporary tables.
CREATE OR REPLACE FUNCTION check_head() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF (SELECT (head, head_hash) FROM ledger) IS DISTINCT FROM
        (SELECT (seq, hash) FROM events ORDER BY seq DESC LIMIT 1) THEN
        RAISE EXCEPTION 'the head of the ledger must be its last event, got event %', (SELECT head FROM ledger);
    END IF;
    RETURN NULL;
END
$$;

-- The secret of decisions stays until the last decision of its chain has revealed it, and the secret of days for ever.
CREATE OR REPLACE FUNCTION check_seed() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF (NEW.seed, NEW.before) <> (OLD.seed, OLD.before) AND NOT (NEW.before = OLD.before + 10000 AND EXISTS (
        SELECT FROM events WHERE seq > coalesce(OLD.event, 0) AND kind = 'decision'
            AND details::jsonb #>> '{draw,seed}' = OLD.seed
            AND details::jsonb #>> '{draw,number}' = CAST(NEW.before AS text)
    )) THEN
        RAISE EXCEPTION 'the secret of the draws must stay until a decision reveals it';
    END IF;
    IF (NEW.days, coalesce(OLD.days_event, NEW.days_event)) IS DISTINCT FROM (OLD.days, NEW.days_event) THEN
        RAISE EXCEPTION 'the secret of the days must stay';
    END IF;
    RETURN NULL;
END
$$;

DROP TRIGGER IF EXISTS events_author ON events;
DROP TRIGGER IF EXISTS ledger_head ON ledger;
DROP TRIGGER IF EXISTS draws_seed ON draws;
CREATE TRIGGER events_author BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION check_author();
-- Within a transaction head, seed and events move on one after the other; at its end all must fit.
CREATE CONSTRAINT TRIGGER ledger_head AFTER UPDATE ON ledger
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_head();
CREATE CONSTRAINT TRIGGER draws_seed AFTER UPDATE ON draws
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_seed();

COMMIT;
