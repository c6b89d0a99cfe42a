-- The facts of all machines, with the columns of `tables.rs`. Every key begins with the organisation, the person and
-- the machine, so that a machine only ever writes rows of its own, and tables can be distributed or partitioned by
-- it. Text is compared by its bytes, as the program does.

CREATE TABLE backstory.sessions (
    org                       text COLLATE "C" NOT NULL,
    person                    text COLLATE "C" NOT NULL,
    machine                   text COLLATE "C" NOT NULL,
    team                      text COLLATE "C",
    cost_center               text COLLATE "C",
    session                   text COLLATE "C" NOT NULL,
    agent                     text COLLATE "C" NOT NULL,
    kind                      text COLLATE "C" NOT NULL,
    parent                    text COLLATE "C",
    forked_from               text COLLATE "C",
    project                   text COLLATE "C",
    folder                    text COLLATE "C",
    branch                    text COLLATE "C",
    started                   timestamptz,
    updated                   timestamptz,
    prompts                   bigint NOT NULL,
    turns                     bigint NOT NULL,
    messages                  bigint NOT NULL,
    calls                     bigint NOT NULL,
    tool_calls                bigint NOT NULL,
    subagents                 bigint NOT NULL,
    faults                    bigint NOT NULL,
    models                    text COLLATE "C" NOT NULL,
    state                     text COLLATE "C" NOT NULL,
    is_listed                 boolean NOT NULL,
    title                     text COLLATE "C",
    unrecorded_input          bigint,
    unrecorded_cached         bigint,
    unrecorded_cache_write_5m bigint,
    unrecorded_cache_write_1h bigint,
    unrecorded_output         bigint,
    unrecorded_thoughts       bigint,
    unrecorded_tool           bigint,
    unrecorded_other          bigint,
    PRIMARY KEY (org, person, machine, session)
);

CREATE TABLE backstory.calls (
    org            text COLLATE "C" NOT NULL,
    person         text COLLATE "C" NOT NULL,
    machine        text COLLATE "C" NOT NULL,
    team           text COLLATE "C",
    cost_center    text COLLATE "C",
    agent          text COLLATE "C" NOT NULL,
    call           text COLLATE "C" NOT NULL,
    position       bigint NOT NULL,
    call_hash      bigint NOT NULL,
    session        text COLLATE "C" NOT NULL,
    session_kind   text COLLATE "C" NOT NULL,
    is_inherited   boolean NOT NULL,
    owner_rank     text COLLATE "C" NOT NULL,
    project        text COLLATE "C",
    branch         text COLLATE "C",
    occurred_at    timestamptz,
    undated        boolean NOT NULL,
    model          text COLLATE "C",
    class          text COLLATE "C" NOT NULL,
    class_rank     bigint NOT NULL,
    us_only        boolean NOT NULL,
    is_elsewhere   boolean NOT NULL,
    searches       bigint NOT NULL,
    input          bigint NOT NULL,
    cached         bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    output         bigint NOT NULL,
    thoughts       bigint NOT NULL,
    tool           bigint NOT NULL,
    other          bigint NOT NULL,
    at_least       boolean NOT NULL,
    is_current     boolean NOT NULL,
    PRIMARY KEY (org, person, machine, agent, call, position)
);

CREATE TABLE backstory.tool_calls (
    org           text COLLATE "C" NOT NULL,
    person        text COLLATE "C" NOT NULL,
    machine       text COLLATE "C" NOT NULL,
    team          text COLLATE "C",
    cost_center   text COLLATE "C",
    agent         text COLLATE "C" NOT NULL,
    tool_call     text COLLATE "C" NOT NULL,
    session       text COLLATE "C" NOT NULL,
    session_kind  text COLLATE "C" NOT NULL,
    owner_rank    text COLLATE "C" NOT NULL,
    project       text COLLATE "C",
    branch        text COLLATE "C",
    tool          text COLLATE "C" NOT NULL,
    label         text COLLATE "C" NOT NULL,
    category      text COLLATE "C" NOT NULL,
    server        text COLLATE "C",
    status        text COLLATE "C" NOT NULL,
    status_rank   bigint NOT NULL,
    occurred_at   timestamptz,
    lines_added   bigint NOT NULL,
    lines_removed bigint NOT NULL,
    PRIMARY KEY (org, person, machine, agent, tool_call)
);

CREATE TABLE backstory.faults (
    org         text COLLATE "C" NOT NULL,
    person      text COLLATE "C" NOT NULL,
    machine     text COLLATE "C" NOT NULL,
    team        text COLLATE "C",
    cost_center text COLLATE "C",
    source      text COLLATE "C" NOT NULL,
    position    bigint NOT NULL,
    agent       text COLLATE "C" NOT NULL,
    line        bigint,
    kind        text COLLATE "C" NOT NULL,
    reason      text COLLATE "C",
    PRIMARY KEY (org, person, machine, source, position)
);

CREATE TABLE backstory.prices (
    org            text COLLATE "C" NOT NULL,
    person         text COLLATE "C" NOT NULL,
    machine        text COLLATE "C" NOT NULL,
    team           text COLLATE "C",
    cost_center    text COLLATE "C",
    model          text COLLATE "C" NOT NULL,
    class          text COLLATE "C" NOT NULL,
    us_only        boolean NOT NULL,
    is_elsewhere   boolean NOT NULL,
    since          timestamptz NOT NULL,
    above          bigint NOT NULL,
    up_to          bigint NOT NULL,
    until          timestamptz NOT NULL,
    version        text COLLATE "C" NOT NULL,
    input          bigint NOT NULL,
    cached         bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    output         bigint NOT NULL,
    web_search     bigint NOT NULL,
    is_estimate    boolean NOT NULL,
    is_upper_bound boolean NOT NULL,
    PRIMARY KEY (org, person, machine, model, class, us_only, is_elsewhere, since, above)
);

CREATE TABLE backstory.texts (
    org         text COLLATE "C" NOT NULL,
    person      text COLLATE "C" NOT NULL,
    machine     text COLLATE "C" NOT NULL,
    team        text COLLATE "C",
    cost_center text COLLATE "C",
    session     text COLLATE "C" NOT NULL,
    position    bigint NOT NULL,
    agent       text COLLATE "C" NOT NULL,
    project     text COLLATE "C",
    occurred_at timestamptz,
    role        text COLLATE "C" NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    text        text COLLATE "C" NOT NULL,
    words       text COLLATE "C" NOT NULL,
    PRIMARY KEY (org, person, machine, session, position)
);

CREATE INDEX sessions_copies ON backstory.sessions (org, session);
CREATE INDEX calls_copies ON backstory.calls (org, agent, call, position);
CREATE INDEX calls_session ON backstory.calls (org, machine, session);
CREATE INDEX calls_at ON backstory.calls (occurred_at);
CREATE INDEX tool_calls_copies ON backstory.tool_calls (org, agent, tool_call);
CREATE INDEX tool_calls_session ON backstory.tool_calls (org, machine, session);
CREATE INDEX tool_calls_at ON backstory.tool_calls (occurred_at);
-- Words are tokens already, so no configuration of PostgreSQL's own may split or stem them again.
CREATE INDEX texts_words ON backstory.texts
    USING gin (array_to_tsvector(array_remove(string_to_array(words, ' '), '')));
