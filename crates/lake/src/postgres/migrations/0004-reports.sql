-- What readers see. Saved chats and restore points repeat calls and are left out.

CREATE VIEW backstory.tool_calls_once AS
    SELECT org, agent, tool_call,
        CASE WHEN (SELECT backstory.sees_people()) THEN machine END AS machine, session, session_kind,
        coalesce(known, project) AS project, branch, t.team, k.cost_center,
        tool, label, category, server,
        (ARRAY['unfinished', 'cancelled', 'success', 'error'])[max_status + 1] AS status,
        own_at AS occurred_at, max_added AS lines_added, max_removed AS lines_removed
    FROM (
        SELECT tool_calls.*,
            row_number() OVER (PARTITION BY org, agent, tool_call
                ORDER BY owner_rank, person, machine) AS place,
            max(status_rank) OVER copies AS max_status,
            min(occurred_at) OVER copies AS own_at,
            max(lines_added) OVER copies AS max_added,
            max(lines_removed) OVER copies AS max_removed
        FROM backstory.tool_calls
        WINDOW copies AS (PARTITION BY org, agent, tool_call)
    ) AS c
    LEFT JOIN backstory.shown_teams AS t USING (org, team)
    LEFT JOIN backstory.shown_cost_centers AS k USING (org, cost_center)
    LEFT JOIN (SELECT org, folder AS project, known FROM backstory.known_projects) AS p USING (org, project)
    WHERE place = 1;

CREATE VIEW backstory.tools AS
    SELECT org, agent, tool, label, category, server, count(*) AS calls,
        count(*) FILTER (WHERE status = 'success') AS success,
        count(*) FILTER (WHERE status = 'error') AS error,
        count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
        count(*) FILTER (WHERE status = 'unfinished') AS unfinished,
        sum(lines_added) AS lines_added, sum(lines_removed) AS lines_removed
    FROM backstory.tool_calls_once
    WHERE session_kind <> 'checkpoint'
    GROUP BY org, agent, tool, label, category, server;

-- Of several copies of a session, the one that was updated last describes it.
CREATE VIEW backstory.sessions_once AS
    SELECT org, agent, session,
        CASE WHEN (SELECT backstory.sees_people()) THEN person END AS person,
        CASE WHEN (SELECT backstory.sees_people()) THEN machine END AS machine,
        kind, parent, forked_from, coalesce(known, project) AS project, branch, t.team, k.cost_center,
        min_started AS started, updated, max_prompts AS prompts, max_turns AS turns,
        max_messages AS messages, max_subagents AS subagents, max_faults AS faults, models, state,
        any_listed AS is_listed, title, unrecorded_input, unrecorded_cached, unrecorded_cache_write_5m,
        unrecorded_cache_write_1h, unrecorded_output, unrecorded_thoughts, unrecorded_tool, unrecorded_other
    FROM (
        SELECT sessions.*,
            row_number() OVER (PARTITION BY org, session
                ORDER BY updated DESC NULLS LAST, state = 'gone', person, machine) AS place,
            min(started) OVER copies AS min_started,
            max(prompts) OVER copies AS max_prompts,
            max(turns) OVER copies AS max_turns,
            max(messages) OVER copies AS max_messages,
            bool_or(is_listed) OVER copies AS any_listed,
            max(subagents) OVER copies AS max_subagents,
            max(faults) OVER copies AS max_faults
        FROM backstory.sessions
        WINDOW copies AS (PARTITION BY org, session)
    ) AS s
    LEFT JOIN backstory.shown_teams AS t USING (org, team)
    LEFT JOIN backstory.shown_cost_centers AS k USING (org, cost_center)
    LEFT JOIN (SELECT org, folder AS project, known FROM backstory.known_projects) AS p USING (org, project)
    WHERE place = 1;

-- The records that could not be read. Every file is on one machine.
CREATE VIEW backstory.faults_once AS
    SELECT count(DISTINCT (org, machine, source)) AS files, count(*) AS records FROM backstory.faults;

DO $migration$
DECLARE
    -- Each view, the keys it groups calls by, and how they are computed.
    views CONSTANT text[][] := ARRAY[
        ARRAY['day', 'day', '(occurred_at AT TIME ZONE ''UTC'')::date AS day'],
        ARRAY['model', 'model', 'coalesce(model, ''unknown'') AS model'],
        ARRAY['project', 'project', 'project'],
        ARRAY['agent', 'agent', 'agent'],
        ARRAY['person', 'person', 'person'],
        ARRAY['team', 'team', 'team'],
        ARRAY['cost_center', 'cost_center', 'cost_center'],
        ARRAY['branch', 'project, branch', 'project, branch']];
    item text[];
BEGIN
    FOREACH item SLICE 1 IN ARRAY views LOOP
        -- Sums of sessions first: counting distinct sessions would sort all calls.
        EXECUTE format($$
            CREATE VIEW backstory.usage_by_%1$s AS
            SELECT org, %2$s, sum(calls) AS calls, count(*) AS sessions, sum(undated_calls) AS undated_calls,
                sum(input) AS input, sum(cached) AS cached, sum(cache_write_5m) AS cache_write_5m,
                sum(cache_write_1h) AS cache_write_1h, sum(output) AS output, sum(thoughts) AS thoughts,
                sum(tool) AS tool, sum(other) AS other,
                sum(input + cached + cache_write_5m + cache_write_1h + output + thoughts + tool + other) AS total,
                sum(cost_pico) AS cost_pico, sum(cost_pico) * 0.000000000001 AS cost_usd,
                sum(unpriced_calls) AS unpriced_calls, sum(estimated_calls) AS estimated_calls,
                sum(upper_bound_calls) AS upper_bound_calls, bool_or(at_least) AS at_least
            FROM (
                SELECT org, session, %3$s,
                    count(*) FILTER (WHERE position = 0) AS calls,
                    count(*) FILTER (WHERE position = 0 AND undated) AS undated_calls,
                    sum(input) AS input, sum(cached) AS cached, sum(cache_write_5m) AS cache_write_5m,
                    sum(cache_write_1h) AS cache_write_1h, sum(output) AS output, sum(thoughts) AS thoughts,
                    sum(tool) AS tool, sum(other) AS other, sum(cost_pico) AS cost_pico,
                    count(*) FILTER (WHERE position = 0 AND cost_pico IS NULL) AS unpriced_calls,
                    count(*) FILTER (WHERE position = 0 AND is_estimate) AS estimated_calls,
                    count(*) FILTER (WHERE is_upper_bound) AS upper_bound_calls,
                    bool_or(at_least) AS at_least
                FROM backstory.costs_between(NULL, NULL)
                WHERE session_kind <> 'checkpoint'
                GROUP BY org, session, %4$s
            ) AS of_sessions
            GROUP BY org, %2$s$$,
            item[1], item[2], item[3], regexp_replace(item[3], ' AS \w+$', ''));
    END LOOP;
END
$migration$;

-- Finds messages that contain all words, which are tokens of `backstory search`.
CREATE FUNCTION backstory.search(words text[])
    RETURNS TABLE (org text, agent text, session text, "position" bigint, kind text, occurred_at timestamptz, text text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT DISTINCT ON (org, session, texts.position) org, agent, session, texts.position, kind, occurred_at, text
    FROM backstory.texts
    WHERE array_to_tsvector(array_remove(string_to_array(texts.words, ' '), ''))
        @@ (SELECT string_agg(quote_literal(word), ' & ')::tsquery FROM unnest($1) AS word)
    ORDER BY org, session, texts.position, person, machine
$$;

REVOKE ALL ON FUNCTION backstory.costs_between, backstory.search FROM public;
GRANT EXECUTE ON FUNCTION backstory.costs_between, backstory.search TO backstory_reader, backstory_admin;
GRANT SELECT ON backstory.calls_once, backstory.costs, backstory.tool_calls_once, backstory.tools,
    backstory.sessions_once, backstory.prices_once, backstory.faults_once, backstory.usage_by_day, backstory.usage_by_model,
    backstory.usage_by_project, backstory.usage_by_agent, backstory.usage_by_person, backstory.usage_by_team,
    backstory.usage_by_cost_center, backstory.usage_by_branch
    TO backstory_reader, backstory_admin;
