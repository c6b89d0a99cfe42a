-- Fills the tables of the lake with the calls of 2,000 machines in a year and asks for a month's report:
--   backstory-lake migrate postgres://owner@localhost/scale
--   psql -v calls=10000000 -f bench/lake-postgres.sql postgres://owner@localhost/scale
-- Of each 20 calls, one is a copy of another machine's.
\set ON_ERROR_STOP on
\timing on
SET maintenance_work_mem = '512MB';
SET work_mem = '128MB';
-- As after a restore: the indexes are made when the rows are there.
DROP INDEX backstory.calls_copies, backstory.calls_session, backstory.calls_at;
ALTER TABLE backstory.calls DROP CONSTRAINT calls_pkey;

INSERT INTO backstory.sessions (org, person, machine, team, session, agent, kind, project, branch, started, updated,
    prompts, turns, messages, calls, tool_calls, subagents, faults, models, state, is_listed)
SELECT 'acme', 'person-' || n % 2000, 'machine-' || n % 2000, 'team-' || n % 150, 'session-' || n, 'claude', 'main',
    'github.com/acme/project-' || n % 500, 'main', '2025-09-01'::timestamptz + n % 365 * interval '1 day',
    '2025-09-02'::timestamptz + n % 365 * interval '1 day', 5, 20, 40, 40, 0, 0, 0, 'claude-sonnet-4-5', 'live', true
FROM generate_series(0, :calls / 40) AS n;

INSERT INTO backstory.calls (org, person, machine, team, agent, call, position, call_hash, session, session_kind, is_inherited,
    owner_rank, project, branch, occurred_at, undated, model, class, class_rank, us_only, is_elsewhere, searches, input,
    cached, cache_write_5m, cache_write_1h, output, thoughts, tool, other, at_least, is_current)
SELECT 'acme', 'person-' || m, 'machine-' || m, 'team-' || m % 150, (ARRAY['claude', 'codex', 'gemini'])[1 + k % 3],
    'm' || md5(k::text), 0, hashint8extended(k, 0), 'session-' || k / 40, 'main', false, '00 2025-09-01T00:00:00Z session-' || k / 40,
    'github.com/acme/project-' || k / 40 % 500, 'main',
    '2025-09-01'::timestamptz + k / 40 % 365 * interval '1 day' + k % 86400 * interval '1 second', false,
    (ARRAY['claude-sonnet-4-5', 'gpt-5.4', 'gemini-2.5-pro'])[1 + k % 3], 'standard', 0, false, false, 0,
    k % 5000, k % 90000, k % 3000, 0, k % 2000, k % 700, 0, 0, false, true
FROM (
    SELECT (n / 40 + CASE WHEN n % 20 = 0 THEN 1 ELSE 0 END) % 2000 AS m, CASE WHEN n % 20 = 0 THEN n - 3 ELSE n END AS k
    FROM generate_series(1::bigint, :calls) AS n
) AS numbered;

ALTER TABLE backstory.calls ADD CONSTRAINT calls_pkey PRIMARY KEY (org, person, machine, agent, call, position);
CREATE INDEX calls_copies ON backstory.calls (org, agent, call, position);
CREATE INDEX calls_session ON backstory.calls (org, machine, session);
CREATE INDEX calls_at ON backstory.calls (occurred_at);

INSERT INTO backstory.prices (org, person, machine, model, class, us_only, is_elsewhere, since, above, up_to, until, version,
    input, cached, cache_write_5m, cache_write_1h, output, web_search, is_estimate, is_upper_bound)
SELECT 'acme', 'person-0', 'machine-0', model, 'standard', false, false, since, above, up_to, until, '2026-09-01',
    3000000, 300000, 3750000, 6000000, 15000000, 0, false, false
FROM unnest(ARRAY['claude-sonnet-4-5', 'gpt-5.4', 'gemini-2.5-pro']) AS model,
    (VALUES (-1, 50000), (50000, 9223372036854775807)) AS tier (above, up_to),
    (VALUES ('1970-01-01'::timestamptz, '2026-01-01'::timestamptz), ('2026-01-01', '2200-01-01')) AS days (since, until);
ANALYZE;
SELECT pg_size_pretty(pg_total_relation_size('backstory.calls')) AS size, count(*) AS rows FROM backstory.calls;

\echo a month by project
SELECT count(*), sum(calls) AS calls, sum(cost) AS cost FROM (
    SELECT project, count(*) FILTER (WHERE position = 0) AS calls, count(DISTINCT session), sum(cost_pico) / 1e12 AS cost
    FROM backstory.costs_between('2026-03-01', '2026-04-01') GROUP BY project
) AS report;
\echo a year by project
SELECT count(*), sum(calls) AS calls, sum(cost_usd) AS cost FROM backstory.usage_by_project;
