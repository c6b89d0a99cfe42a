-- Hashes of calls with several rows. Hardly any has, so that grouping by whole keys is left to those. The hints are for
-- Spark, which would otherwise move all calls between its workers for each join.
@create(copied_calls)
SELECT call_hash AS copied FROM calls GROUP BY call_hash HAVING count(*) > 1;

-- Each call once. Rows of several machines that are copies of one call are merged: counts only grow while an answer arrives, so
-- the largest of each is right. The row with the smallest rank made the call.
@create(calls_once)
SELECT org, agent, call, position, person, machine, team, cost_center, session, session_kind, project, branch,
  occurred_at, undated, model, class, us_only, is_elsewhere, searches, input, cached, cache_write_5m,
  cache_write_1h, output, thoughts, tool, other, at_least, is_current
FROM calls
WHERE session_kind <> 'checkpoint' AND call_hash NOT IN (SELECT /*+ BROADCAST(copied_calls) */ copied FROM copied_calls)
UNION ALL
SELECT org, agent, call, position,
  @field(owner; person) AS person, @field(owner; machine) AS machine, @field(owner; team) AS team,
  @field(owner; cost_center) AS cost_center, @field(owner; session) AS session,
  @field(owner; session_kind) AS session_kind, @field(owner; project) AS project,
  @field(owner; branch) AS branch,
  coalesce(CASE WHEN all_inherited = 1 THEN any_at ELSE own_at END, @field(owner; occurred_at)) AS occurred_at,
  CASE WHEN all_inherited = 1 THEN any_at IS NULL ELSE own_at IS NULL END AS undated,
  coalesce(@field(owner; model), any_model) AS model,
  most_class AS class, any_us_only = 1 AS us_only, any_elsewhere = 1 AS is_elsewhere,
  most_searches AS searches, most_input AS input, most_cached AS cached,
  most_write_5m AS cache_write_5m, most_write_1h AS cache_write_1h, most_output AS output,
  most_thoughts AS thoughts, most_tool AS tool, most_other AS other,
  all_at_least = 1 AS at_least, any_current = 1 AS is_current
FROM (
  SELECT org, agent, call, position,
    @min_by(@struct(person, machine, team, cost_center, session, session_kind, project, branch, occurred_at, model); owner_rank) AS owner,
    min(CASE WHEN NOT undated THEN occurred_at END) AS any_at,
    min(CASE WHEN NOT undated AND NOT (is_inherited AND call LIKE 'k%') THEN occurred_at END) AS own_at,
    min(CASE WHEN is_inherited THEN 1 ELSE 0 END) AS all_inherited,
    max(model) AS any_model,
    @max_by(class; class_rank) AS most_class,
    max(CASE WHEN us_only THEN 1 ELSE 0 END) AS any_us_only,
    max(CASE WHEN is_elsewhere THEN 1 ELSE 0 END) AS any_elsewhere,
    max(searches) AS most_searches, max(input) AS most_input, max(cached) AS most_cached,
    @max_by(cache_write_5m; @struct(cache_write_5m + cache_write_1h AS writes, cache_write_1h)) AS most_write_5m,
    @max_by(cache_write_1h; @struct(cache_write_5m + cache_write_1h AS writes, cache_write_1h)) AS most_write_1h,
    max(output) AS most_output, max(thoughts) AS most_thoughts, max(tool) AS most_tool,
    max(other) AS most_other,
    min(CASE WHEN at_least THEN 1 ELSE 0 END) AS all_at_least,
    max(CASE WHEN is_current THEN 1 ELSE 0 END) AS any_current
  FROM calls WHERE call_hash IN (SELECT /*+ BROADCAST(copied_calls) */ copied FROM copied_calls)
  GROUP BY org, agent, call, position
) AS merged
WHERE @field(owner; session_kind) <> 'checkpoint';

-- The names of projects that some machines know only by a pseudonym of their path.
@create(known_projects)
SELECT org, folder, min(project) AS known FROM sessions
WHERE folder IS NOT NULL AND project <> folder GROUP BY org, folder;

-- The newest prices of each model, from one machine.
@create(price_list)
SELECT prices.* FROM prices JOIN (
  SELECT org AS of_org, model AS of_model, max(concat(version, ' ', machine)) AS newest
  FROM prices GROUP BY org, model
) AS latest ON org = of_org AND model = of_model AND concat(version, ' ', machine) = newest;

-- Each call with its cost in 10^-12 US dollars; none if its model has no price.
@create(costs)
SELECT /*+ BROADCAST(k, p) */ c.org AS org, c.agent AS agent, c.call AS call, c.position AS position, c.person AS person,
  c.machine AS machine, c.team AS team, c.cost_center AS cost_center, c.session AS session,
  c.session_kind AS session_kind, coalesce(k.known, c.project) AS project, c.branch AS branch, c.occurred_at AS occurred_at,
  @day(c.occurred_at) AS day, c.undated AS undated, c.model AS model, c.class AS class, c.searches AS searches,
  c.input AS input, c.cached AS cached, c.cache_write_5m AS cache_write_5m,
  c.cache_write_1h AS cache_write_1h, c.output AS output, c.thoughts AS thoughts, c.tool AS tool,
  c.other AS other, c.at_least AS at_least, c.is_current AS is_current,
  @big(c.input) * @big(p.input) + @big(c.tool) * @big(p.input) + @big(c.cached) * @big(p.cached)
    + @big(c.cache_write_5m) * @big(p.cache_write_5m) + @big(c.cache_write_1h) * @big(p.cache_write_1h)
    + @big(c.output) * @big(p.output) + @big(c.thoughts) * @big(p.output)
    + @big(c.other) * @big(p.output) + @big(c.searches) * @big(p.web_search) AS cost_pico,
  CASE WHEN c.position = 0 AND p.input IS NULL THEN 1 ELSE 0 END AS unpriced,
  CASE WHEN c.position = 0 AND p.is_estimate THEN 1 ELSE 0 END AS estimated,
  CASE WHEN c.cached > 0 AND p.is_upper_bound THEN 1 ELSE 0 END AS upper_bound
FROM calls_once AS c
LEFT JOIN known_projects AS k ON k.org = c.org AND k.folder = c.project
LEFT JOIN price_list AS p
  ON p.org = c.org AND p.model = c.model AND p.class = c.class AND p.us_only = c.us_only
  AND p.is_elsewhere = c.is_elsewhere
  AND p.since <= greatest(least(coalesce(c.occurred_at, @time(2199-01-01)), @time(2199-01-01)), @time(1970-01-01))
  AND p.until > greatest(least(coalesce(c.occurred_at, @time(2199-01-01)), @time(2199-01-01)), @time(1970-01-01))
  AND p.above < c.input + c.cached + c.cache_write_5m + c.cache_write_1h
  AND p.up_to >= c.input + c.cached + c.cache_write_5m + c.cache_write_1h
@nulls();

@usage(usage_by_day; day)
@usage(usage_by_model; model)
@usage(usage_by_agent; agent)
@usage(usage_by_project; project)
@usage(usage_by_branch; project, branch)
-- Every row about people covers at least @people() of them.
@usage_of_people(usage_by_person; person)
@usage_of_people(usage_by_team; team)
@usage_of_people(usage_by_cost_center; cost_center)

-- Each tool call once.
@create(tool_calls_once)
SELECT org, agent, tool_call,
  @field(owner; person) AS person, @field(owner; machine) AS machine, @field(owner; team) AS team,
  @field(owner; cost_center) AS cost_center, @field(owner; session) AS session,
  @field(owner; project) AS project, @field(owner; branch) AS branch, @field(owner; tool) AS tool,
  @field(owner; label) AS label, @field(owner; category) AS category, @field(owner; server) AS server,
  last_status AS status, first_at AS occurred_at, most_added AS lines_added, most_removed AS lines_removed
FROM (
  SELECT org, agent, tool_call,
    @min_by(@struct(person, machine, team, cost_center, session, session_kind, project, branch, tool, label, category, server); owner_rank) AS owner,
    @max_by(status; status_rank) AS last_status, min(occurred_at) AS first_at,
    max(lines_added) AS most_added, max(lines_removed) AS most_removed
  FROM tool_calls GROUP BY org, agent, tool_call
) AS merged
WHERE @field(owner; session_kind) <> 'checkpoint';

@create(tools)
SELECT org, tool, label, category, server, count(*) AS calls,
  sum(CASE WHEN status = 'success' THEN 1 ELSE 0 END) AS success,
  sum(CASE WHEN status = 'error' THEN 1 ELSE 0 END) AS error,
  sum(CASE WHEN status = 'cancelled' THEN 1 ELSE 0 END) AS cancelled,
  sum(CASE WHEN status = 'unfinished' THEN 1 ELSE 0 END) AS unfinished,
  sum(lines_added) AS lines_added, sum(lines_removed) AS lines_removed
FROM tool_calls_once GROUP BY org, tool, label, category, server;

-- Each session once, from the machine that has the most recent state of it.
@create(sessions_once)
SELECT org, agent, session,
  @field(newest; person) AS person, @field(newest; machine) AS machine, @field(newest; team) AS team,
  @field(newest; cost_center) AS cost_center, @field(newest; kind) AS kind,
  @field(newest; parent) AS parent, @field(newest; forked_from) AS forked_from,
  @field(newest; project) AS project, @field(newest; branch) AS branch,
  @field(newest; title) AS title, first_started AS started, last_updated AS updated,
  most_prompts AS prompts, most_turns AS turns, most_messages AS messages, most_faults AS faults
FROM (
  SELECT org, agent, session,
    @max_by(@struct(person, machine, team, cost_center, kind, parent, forked_from, project, branch, title);
      @struct(coalesce(updated, @time(1970-01-01)) AS of, machine AS by)) AS newest,
    min(started) AS first_started, max(updated) AS last_updated, max(prompts) AS most_prompts,
    max(turns) AS most_turns, max(messages) AS most_messages, max(faults) AS most_faults
  FROM sessions GROUP BY org, agent, session
) AS merged;
