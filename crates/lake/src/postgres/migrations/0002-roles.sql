-- Who may do what. A machine writes and sees its own rows, a reader sees views, an administrator everything.

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['backstory_reader', 'backstory_machine', 'backstory_admin'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END
$$;

-- The stamp of each unit (a session, the faults of a file, the prices) as it was last pushed, written together with
-- its rows.
CREATE TABLE backstory.progress (
    org      text NOT NULL,
    person   text NOT NULL,
    machine  text NOT NULL,
    unit     text NOT NULL,
    stamp    text NOT NULL,
    pushed   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org, person, machine, unit)
);

-- The login of each machine. Only administrators write it: a setting of the session would let every machine claim to
-- be another.
CREATE TABLE backstory.machines (
    login    text PRIMARY KEY,
    org      text NOT NULL,
    person   text NOT NULL,
    machine  text NOT NULL
);

CREATE TABLE backstory.settings (
    -- Groups of fewer people are not shown.
    min_group      bigint NOT NULL DEFAULT 5 CHECK (min_group > 0),
    -- The machine whose prices count; NULL for the machine with the newest ones.
    prices_machine text,
    -- Everything older was purged, and is not accepted again.
    purged_before  timestamptz,
    is_only_row    boolean PRIMARY KEY DEFAULT true CHECK (is_only_row)
);
INSERT INTO backstory.settings DEFAULT VALUES;

-- The machines of the login that asks.
CREATE VIEW backstory.own_machines WITH (security_barrier) AS
    SELECT org, person, machine FROM backstory.machines WHERE login = current_user;

CREATE FUNCTION backstory.add_machine(login text, org text, person text, machine text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    INSERT INTO backstory.machines VALUES (login, org, person, machine)
    ON CONFLICT ON CONSTRAINT machines_pkey DO UPDATE
        SET org = excluded.org, person = excluded.person, machine = excluded.machine;
    EXECUTE format('GRANT backstory_machine TO %I', login);
END
$$;
REVOKE ALL ON FUNCTION backstory.add_machine FROM public;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['sessions', 'calls', 'tool_calls', 'faults', 'prices', 'texts', 'progress'] LOOP
        EXECUTE format('ALTER TABLE backstory.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_rows ON backstory.%I TO backstory_machine
                USING ((org, person, machine) IN (SELECT org, person, machine FROM backstory.own_machines))
                WITH CHECK ((org, person, machine) IN (SELECT org, person, machine FROM backstory.own_machines))',
            name);
        EXECUTE format('CREATE POLICY all_rows ON backstory.%I TO backstory_admin USING (true)', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON backstory.%I TO backstory_machine', name);
    END LOOP;
END
$$;

GRANT USAGE ON SCHEMA backstory TO backstory_reader, backstory_machine, backstory_admin;
GRANT SELECT ON backstory.own_machines, backstory.settings TO backstory_machine;
GRANT SELECT ON backstory.migrations TO backstory_machine, backstory_reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA backstory TO backstory_admin;
GRANT EXECUTE ON FUNCTION backstory.add_machine TO backstory_admin;
GRANT backstory_machine TO backstory_admin WITH ADMIN OPTION;
