-- Each call once, with its price. Several machines have a call when sessions were copied, shared or continued elsewhere.

-- Whether the session may see single people and groups of any size: administrators and the owner, as whom this runs.
CREATE FUNCTION backstory.sees_people() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT min_group <= 1 OR pg_has_role(session_user, current_user, 'MEMBER')
        OR pg_has_role(session_user, 'backstory_admin', 'MEMBER')
    FROM backstory.settings
$$;

-- The teams and cost centres that readers may see: those with enough people. Without a barrier, a condition of the reader
-- would be tried on the others as well, and could name them in an error.
CREATE VIEW backstory.shown_teams WITH (security_barrier) AS
    SELECT org, team FROM backstory.sessions WHERE team IS NOT NULL
    GROUP BY org, team
    HAVING (SELECT backstory.sees_people()) OR count(DISTINCT person) >= (SELECT min_group FROM backstory.settings);
CREATE VIEW backstory.shown_cost_centers WITH (security_barrier) AS
    SELECT org, cost_center FROM backstory.sessions WHERE cost_center IS NOT NULL
    GROUP BY org, cost_center
    HAVING (SELECT backstory.sees_people()) OR count(DISTINCT person) >= (SELECT min_group FROM backstory.settings);

-- For each model, the rows of the machine with the newest price table.
CREATE VIEW backstory.prices_once AS
    SELECT org, model, class, us_only, is_elsewhere, since, until, above, up_to, version,
        input, cached, cache_write_5m, cache_write_1h, output, web_search, is_estimate, is_upper_bound
    FROM backstory.prices JOIN (
        SELECT DISTINCT ON (org, model) org, model, person, machine
        FROM backstory.prices CROSS JOIN backstory.settings
        WHERE prices_machine IS NULL OR machine = prices_machine
        ORDER BY org, model, version DESC, machine DESC, person
    ) AS chosen USING (org, model, person, machine);

-- The names of projects that some machines know only by a pseudonym of their path.
CREATE VIEW backstory.known_projects AS
    SELECT org, folder, min(project) AS known FROM backstory.sessions
    WHERE folder IS NOT NULL AND project <> folder
    GROUP BY org, folder;

DO $migration$
DECLARE
    -- The calls that several machines have, or several logins of one.
    copied CONSTANT text := $$
        SELECT org, agent, call, position FROM backstory.calls
        GROUP BY org, agent, call, position HAVING count(*) > 1$$;
    -- Those of which any copy is in a period. The time of a call is that of one of its copies.
    copied_within CONSTANT text := $$
        SELECT org, agent, call, position FROM (
            SELECT org, agent, call, position FROM backstory.calls
            WHERE occurred_at >= coalesce(since, '-infinity') AND occurred_at < coalesce(until, 'infinity')
            OFFSET 0
        ) AS c CROSS JOIN LATERAL (
            SELECT count(*) AS copies FROM backstory.calls AS d
            WHERE d.org = c.org AND d.agent = c.agent AND d.call = c.call AND d.position = c.position
        ) AS n
        WHERE n.copies > 1
        GROUP BY org, agent, call, position$$;
    within CONSTANT text := $$
        AND c.occurred_at >= coalesce(since, '-infinity') AND c.occurred_at < coalesce(until, 'infinity')$$;
    -- Most calls have no copies. A call that has some belongs to the session that made it, which is the row with the
    -- smallest rank, and its copies are merged as the library merges them.
    once CONSTANT text := $$
        WITH copied AS MATERIALIZED ({copied}),
        calls AS (
            SELECT org, agent, call, position, person, machine, session, session_kind, project, branch, team,
                cost_center, occurred_at, undated, model, class_rank, us_only, is_elsewhere, searches, input, cached,
                cache_write_5m, cache_write_1h, output, thoughts, tool, other, at_least, is_current
            FROM backstory.calls AS c
            WHERE NOT EXISTS (
                SELECT FROM copied AS d
                WHERE d.org = c.org AND d.agent = c.agent AND d.call = c.call AND d.position = c.position)
                {within}
            UNION ALL
            SELECT o.org, o.agent, o.call, o.position, o.person, o.machine, o.session, o.session_kind, l.project, l.branch,
                o.team, o.cost_center, coalesce(m.occurred_at, o.occurred_at), m.undated, coalesce(o.model, m.model),
                m.class_rank, m.us_only, m.is_elsewhere, m.searches, m.input, m.cached,
                (m.writes[1] - m.writes[2])::bigint, m.writes[2]::bigint, m.output, m.thoughts, m.tool, m.other,
                m.at_least, l.is_current
            FROM copied AS k
            CROSS JOIN LATERAL (
                SELECT d.* FROM backstory.calls AS d
                WHERE d.org = k.org AND d.agent = k.agent AND d.call = k.call AND d.position = k.position
                ORDER BY owner_rank, person, machine LIMIT 1
            ) AS o
            CROSS JOIN LATERAL (
                SELECT min(d.occurred_at) FILTER (WHERE NOT d.undated
                        AND (NOT d.is_inherited OR o.is_inherited OR d.call LIKE 'm%')) AS occurred_at,
                    bool_and(d.undated) AS undated, max(d.model) AS model, max(d.class_rank) AS class_rank,
                    bool_or(d.us_only) AS us_only, bool_or(d.is_elsewhere) AS is_elsewhere,
                    max(d.searches) AS searches, max(d.input) AS input, max(d.cached) AS cached,
                    max(ARRAY[d.cache_write_5m::numeric + d.cache_write_1h, d.cache_write_1h]) AS writes,
                    max(d.output) AS output, max(d.thoughts) AS thoughts, max(d.tool) AS tool, max(d.other) AS other,
                    bool_and(d.at_least) AS at_least
                FROM backstory.calls AS d
                WHERE d.org = o.org AND d.agent = o.agent AND d.call = o.call AND d.position = o.position
            ) AS m
            CROSS JOIN LATERAL (
                -- Of several copies of the session, the one that was updated last says where it belongs.
                SELECT d.project, d.branch, d.is_current
                FROM backstory.calls AS d LEFT JOIN backstory.sessions AS s USING (org, person, machine, session)
                WHERE d.org = o.org AND d.agent = o.agent AND d.call = o.call AND d.position = o.position
                    AND d.session = o.session
                ORDER BY s.updated DESC NULLS LAST, d.owner_rank, d.person, d.machine LIMIT 1
            ) AS l
        )
        SELECT org, agent, call, position,
            CASE WHEN (SELECT backstory.sees_people()) THEN person END AS person,
            CASE WHEN (SELECT backstory.sees_people()) THEN machine END AS machine,
            session, session_kind, coalesce(known, project) AS project, branch,
            CASE WHEN (org, team) IN (SELECT org, team FROM backstory.shown_teams) THEN team END AS team,
            CASE WHEN (org, cost_center) IN (SELECT org, cost_center FROM backstory.shown_cost_centers)
                THEN cost_center END AS cost_center,
            occurred_at, undated, model,
            (ARRAY['standard', 'flex', 'batch', 'fast', 'priority', 'ultrafast', 'other'])[class_rank + 1] AS class,
            us_only, is_elsewhere, searches, input, cached, cache_write_5m, cache_write_1h, output, thoughts, tool,
            other, at_least, is_current
        FROM calls LEFT JOIN (
            SELECT org AS known_org, folder, known FROM backstory.known_projects
        ) AS k ON known_org = org AND folder = project$$;
    -- The price of a call is that of its time and the size of its prompt.
    priced CONSTANT text := $$
        SELECT c.*, p.is_estimate, p.is_upper_bound AND c.cached > 0 AS is_upper_bound,
            (c.input::numeric + c.tool) * p.input + c.cached::numeric * p.cached
                + c.cache_write_5m::numeric * p.cache_write_5m + c.cache_write_1h::numeric * p.cache_write_1h
                + (c.output::numeric + c.thoughts + c.other) * p.output + c.searches::numeric * p.web_search
                AS cost_pico
        FROM ({once}) AS c
        LEFT JOIN backstory.prices_once AS p
            ON p.org = c.org AND p.model = c.model AND p.class = c.class AND p.us_only = c.us_only
            AND p.is_elsewhere = c.is_elsewhere
            AND greatest(least(c.occurred_at, '2199-01-01 00:00:00+00'), '1970-01-01 00:00:00+00') >= p.since
            AND greatest(least(c.occurred_at, '2199-01-01 00:00:00+00'), '1970-01-01 00:00:00+00') < p.until
            AND c.input::numeric + c.cached + c.cache_write_5m + c.cache_write_1h > p.above
            AND c.input::numeric + c.cached + c.cache_write_5m + c.cache_write_1h <= p.up_to$$;
BEGIN
    EXECUTE 'CREATE VIEW backstory.calls_once AS '
        || replace(replace(once, '{copied}', copied), '{within}', '');
    EXECUTE 'CREATE VIEW backstory.costs AS ' || replace(priced, '{once}', 'SELECT * FROM backstory.calls_once');
    -- The same for a period, without looking at all calls. The planner cannot know how many there are.
    EXECUTE 'CREATE FUNCTION backstory.costs_between(since timestamptz, until timestamptz)
        RETURNS SETOF backstory.costs LANGUAGE plpgsql STABLE SECURITY DEFINER
        SET search_path = pg_catalog, pg_temp SET enable_nestloop = off
        SET enable_mergejoin = off SET jit = off AS $body$
        #variable_conflict use_variable
        BEGIN
            IF since IS NULL AND until IS NULL THEN
                RETURN QUERY SELECT * FROM backstory.costs;
            ELSE
                RETURN QUERY SELECT * FROM ('
                    || replace(priced, '{once}',
                        replace(replace(once, '{copied}', copied_within), '{within}', within))
                    || ') AS costs
                WHERE costs.occurred_at >= coalesce(since, ''-infinity'')
                    AND costs.occurred_at < coalesce(until, ''infinity'');
            END IF;
        END $body$';
END
$migration$;
