//! Tests prices against sums computed by hand, for each class of price of each vendor, and that costs add up.

use std::collections::BTreeMap;

use backstory_core::archive::Archive;
use backstory_core::model::{Service, ServiceClass, Usage};
use backstory_core::pricing::{Bill, Calls, Table};
use backstory_core::query::Reports;
use backstory_core::query::usage::{Group, Question};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use crate::support::discover_at;

fn service(class: ServiceClass) -> Service {
    Service { class, ..Service::default() }
}

/// Returns the cost in dollars on a day, and whether it is an estimate.
#[track_caller]
fn cost(model: &str, day: &str, usage: &Usage, service: Service) -> (String, bool) {
    let at: Timestamp = format!("{day}T12:00:00Z").parse().unwrap();
    let bill = Table::embedded().bill(Some(model), Some(at), usage, service);
    assert_eq!(bill.unpriced, 0, "{model}");
    (bill.usd.unwrap().to_string(), bill.estimated > 0)
}

#[track_caller]
fn sure(model: &str, day: &str, usage: &Usage, service: Service, want: &str) {
    assert_eq!(cost(model, day, usage, service), (want.to_owned(), false), "{model} {service:?}");
}

const DAY: &str = "2026-11-20";

#[test]
fn claude_bills_cache_writes_by_their_duration() {
    let usage = Usage {
        input: 1_000,
        cached: 100_000,
        cache_write_5m: 10_000,
        cache_write_1h: 20_000,
        output: 2_000,
        thoughts: 1_000,
        ..Usage::default()
    };
    // 1,000 × 3 + 100,000 × 0.3 + 10,000 × 3.75 + 20,000 × 6 + 3,000 × 15 = 235,500 millionths
    sure("claude-sonnet-4-5", DAY, &usage, Service::default(), "0.235500");
    // 1,000 × 4 + 100,000 × 0.2 + 10,000 × 5 + 20,000 × 8 + 3,000 × 20 = 294,000
    sure("claude-opus-5-5", DAY, &usage, Service::default(), "0.294000");
    // The first models with a cache have prices of one hour too: 20,000 × 30 of 820,500.
    // 1,000 × 15 + 100,000 × 1.5 + 10,000 × 18.75 + 20,000 × 30 + 3,000 × 75 = 1,177,500
    sure("claude-3-opus-20240229", "2024-09-10", &usage, Service::default(), "1.177500");
}

#[test]
fn claudes_long_prompts_cost_more_while_the_list_says_so() {
    let at = |prompt: u64| Usage { input: prompt, output: 1_000, ..Usage::default() };
    let plain = Service::default();
    // 200,000 × 3 + 1,000 × 15, then 200,001 × 6 + 1,000 × 22.5
    sure("claude-sonnet-4-5", "2026-01-10", &at(200_000), plain, "0.615000");
    sure("claude-sonnet-4-5", "2026-01-10", &at(200_001), plain, "1.222506");
    sure("claude-sonnet-4-5", DAY, &at(200_001), plain, "0.615003");
    // Cache writes count towards the limit: 1 × 0.5 + 100,000 × 0.625 + 1,000 × 2.5
    let written = Usage { cache_write_5m: 100_000, ..at(1) };
    sure("claude-haiku-5-5", DAY, &written, plain, "0.0650005");
}

#[test]
fn claudes_fast_mode_regions_and_searches() {
    let usage = Usage { input: 10_000, cached: 50_000, output: 4_000, ..Usage::default() };
    let fast = service(ServiceClass::Fast);
    // 10,000 × 5 + 50,000 × 0.5 + 4,000 × 25 = 175,000; six times that in fast mode, later twice
    sure("claude-opus-4-6", DAY, &usage, Service::default(), "0.175000");
    sure("claude-opus-4-6", DAY, &usage, fast, "1.050000");
    sure("claude-opus-4-8", DAY, &usage, fast, "0.350000");
    // A tenth more in the United States, and a cent per search, without that tenth.
    let us = Service { us_only: true, ..fast };
    sure("claude-opus-4-8", DAY, &usage, us, "0.385000");
    let searching = Service { searches: 3, ..us };
    sure("claude-opus-4-8", DAY, &usage, searching, "0.415000");
    let searching = Service { searches: 2, ..Service::default() };
    sure("claude-haiku-4-5", DAY, &Usage::default(), searching, "0.020000");
    // A model without a surcharge.
    let us = Service { us_only: true, ..Service::default() };
    sure("claude-haiku-4-5", DAY, &Usage { input: 1_000, ..Usage::default() }, us, "0.001000");
}

#[test]
fn gpts_tiers_and_classes() {
    let usage = |input: u64| Usage {
        input,
        cached: 100_000,
        cache_write_5m: 10_000,
        output: 3_000,
        thoughts: 1_000,
        ..Usage::default()
    };
    let plain = Service::default();
    // 2,000 × 2 + 100,000 × 0.1 + 10,000 × 2.5 + 4,000 × 10 = 79,000
    sure("gpt-6.1-sol", DAY, &usage(2_000), plain, "0.079000");
    // 162,000 + 100,000 + 10,000 tokens are within the limit; with one more, input costs twice and
    // output 1.5 times as much: 162,001 × 4 + 100,000 × 0.2 + 10,000 × 5 + 4,000 × 15 = 778,004
    sure("gpt-6.1-sol", DAY, &usage(162_000), plain, "0.399000");
    sure("gpt-6.1-sol", DAY, &usage(162_001), plain, "0.778004");
    for (class, short, long) in [
        (ServiceClass::Priority, "0.158000", "1.556008"),
        (ServiceClass::Flex, "0.039500", "0.389002"),
        (ServiceClass::Ultrafast, "0.474000", "4.668024"),
    ] {
        sure("gpt-6.1-sol", DAY, &usage(2_000), service(class), short);
        sure("gpt-6.1-sol", DAY, &usage(162_001), service(class), long);
    }
    // The list says 3.5 / 0.875 / 14: 2,000 × 3.5 + 100,000 × 0.875 + 10,000 × 3.5 + 4,000 × 14
    sure("o3", DAY, &usage(2_000), service(ServiceClass::Priority), "0.185500");
}

#[test]
fn gpts_prices_by_day() {
    let usage = Usage { input: 100_000, output: 10_000, ..Usage::default() };
    let priority = service(ServiceClass::Priority);
    sure("gpt-5.6-sol", "2026-08-20", &usage, Service::default(), "0.800000");
    sure("gpt-5.6-sol", "2026-08-21", &usage, Service::default(), "0.600000");
    sure("gpt-5.6-sol", "2026-08-20", &usage, priority, "1.600000");
    sure("gpt-5.6-sol", "2026-08-21", &usage, priority, "1.200000");
    sure("gpt-5.6-luna", "2026-07-29", &usage, Service::default(), "0.160000");
    sure("gpt-5.6-luna", "2026-07-30", &usage, Service::default(), "0.032000");
}

#[test]
fn a_class_without_prices_is_an_estimate() {
    let usage = Usage { input: 1_000_000, ..Usage::default() };
    let estimate = ("5.000000".to_owned(), true);
    assert_eq!(cost("claude-opus-5", DAY, &usage, service(ServiceClass::Priority)), estimate);
    assert_eq!(cost("claude-opus-5", DAY, &usage, service(ServiceClass::Other)), estimate);
    sure("claude-opus-5", DAY, &usage, service(ServiceClass::Fast), "10.000000");
}

#[test]
fn another_provider_has_only_the_users_prices() {
    let usage = Usage { input: 1_000_000, ..Usage::default() };
    let elsewhere = Service { is_elsewhere: true, ..Service::default() };
    let table = Table::embedded();
    let bill = |table: &Table, service| table.bill(Some("gpt-5.4"), None, &usage, service);
    assert_eq!(bill(&table, elsewhere), Bill { unpriced: 1, ..Bill::default() });
    let own = r#"[{"model": "gpt-5.4", "input": 7, "output": 8}]"#;
    let table = table.with_file(own, "own.json").unwrap();
    assert_eq!(bill(&table, elsewhere).short().as_deref(), Some("$7.00"));
}

#[test]
fn the_users_prices_win_in_every_class() {
    let usage = Usage { input: 1_000_000, ..Usage::default() };
    let priority = |rows: &str, day: &str| {
        let table = Table::embedded().with_file(&format!("[{rows}]"), "own.json").unwrap();
        let at: Timestamp = format!("{day}T12:00:00Z").parse().unwrap();
        let bill = table.bill(Some("gpt-5.4"), Some(at), &usage, service(ServiceClass::Priority));
        (bill.short().unwrap(), bill.estimated)
    };
    let whole = r#"{"model": "gpt-5.4", "input": 7, "output": 8}"#;
    let dated = r#"{"model": "gpt-5.4", "input": 7, "output": 8, "from": "2026-11-01"}"#;
    let class = r#"{"model": "gpt-5.4", "service": "priority", "input": 9, "output": 9}"#;
    assert_eq!(priority(whole, DAY), ("$7.00".to_owned(), 1));
    assert_eq!(priority(dated, DAY), ("$7.00".to_owned(), 1));
    assert_eq!(priority(dated, "2026-10-20"), ("$5.00".to_owned(), 0), "of the list");
    assert_eq!(priority(class, DAY), ("$9.00".to_owned(), 0));
    assert_eq!(priority(&format!("{class}, {whole}"), DAY), ("$9.00".to_owned(), 0));
    let alone = r#"[{"model": "new", "service": "flex", "input": 9, "output": 9}]"#;
    let error = Table::embedded().with_file(alone, "own.json").unwrap_err().to_string();
    assert_eq!(error, "`own.json`: `new`: it has no row for the standard service");
}

#[test]
fn every_row_names_a_source_of_the_table() {
    let table = Table::embedded();
    for row in table.rows() {
        let source = row.source.as_deref();
        assert!(table.sources().iter().any(|known| Some(known.id.as_str()) == source), "{row:?}");
    }
}

#[test]
fn litellms_classes_and_factors() {
    let text = r#"{"claude-x": {"litellm_provider": "anthropic", "input_cost_per_token": 5e-06,
            "output_cost_per_token": 2.5e-05, "cache_read_input_token_cost": 5e-07,
            "provider_specific_entry": {"us": 1.1, "fast": 6.0},
            "search_context_cost_per_query": {"search_context_size_medium": 0.01}},
        "gpt-x": {"litellm_provider": "openai", "input_cost_per_token": 1e-06,
            "output_cost_per_token": 1e-05, "input_cost_per_token_priority": 2e-06,
            "output_cost_per_token_priority": 2e-05, "input_cost_per_token_above_272k_tokens": 2e-06,
            "input_cost_per_token_above_272k_tokens_priority": 4e-06,
            "search_context_cost_per_query": {"search_context_size_medium": 0.01}}}"#;
    let table = Table::embedded().with_file(text, "l.json").unwrap();
    let usage = |input| Usage { input, ..Usage::default() };
    let cost = |model: &str, input, service| {
        table.bill(Some(model), None, &usage(input), service).usd.unwrap().to_string()
    };
    let fast = Service { us_only: true, searches: 1, ..service(ServiceClass::Fast) };
    assert_eq!(cost("claude-x", 1_000, fast), "0.043000", "1,000 × 5 × 6 × 1.1 and a cent");
    assert_eq!(cost("gpt-x", 1_000, service(ServiceClass::Priority)), "0.002000");
    assert_eq!(cost("gpt-x", 300_000, service(ServiceClass::Priority)), "1.200000");
    assert_eq!(cost("gpt-x", 300_000, service(ServiceClass::Flex)), "0.600000");
    assert_eq!(cost("gpt-x", 0, Service { searches: 5, ..Service::default() }), "0.000000");
}

/// Writes a session of Codex CLI with one call before and one after its settings change.
fn codex(home: &std::path::Path, provider: &str, settings: &str) {
    let id = "01a1e052-b824-7e22-8be3-facf0c5fcd7d";
    let folder = home.join(".codex/sessions/2026/11/15");
    std::fs::create_dir_all(&folder).unwrap();
    let line = |second: u8, kind: &str, payload: &str| {
        format!(
            "{{\"timestamp\":\"2026-11-15T10:00:{second:02}.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n"
        )
    };
    let count = |calls: u64| {
        let tokens = |calls: u64| {
            let (input, output) = (calls * 100_000, calls * 1_000);
            format!(
                r#"{{"input_tokens":{input},"output_tokens":{output},"total_tokens":{}}}"#,
                input + output
            )
        };
        let (total, last) = (tokens(calls), tokens(1));
        format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{total},"last_token_usage":{last}}}}}"#
        )
    };
    let meta = format!(
        r#"{{"id":"{id}","timestamp":"2026-11-15T10:00:00.000Z","cwd":"/p","model_provider":"{provider}"}}"#
    );
    let settings = format!(
        r#"{{"type":"thread_settings_applied","thread_settings":{{"model_provider_id":"{provider}"{settings}}}}}"#
    );
    let text = [
        line(0, "session_meta", &meta),
        line(1, "turn_context", r#"{"model":"gpt-6.1-sol"}"#),
        line(2, "event_msg", r#"{"type":"user_message","message":"go"}"#),
        line(3, "event_msg", &count(1)),
        line(4, "event_msg", &settings),
        line(5, "event_msg", &count(2)),
    ];
    let name = format!("rollout-2026-11-15T10-00-00-{id}.jsonl");
    std::fs::write(folder.join(name), text.concat()).unwrap();
}

#[test]
fn codex_calls_are_billed_as_they_were_served() {
    // 100,000 × 2 + 1,000 × 10 millionths, twice that for priority, half for flex.
    let cases = [
        ("openai", "", Some("0.420000"), 0),
        ("openai", r#","service_tier":"default""#, Some("0.420000"), 0),
        ("openai", r#","service_tier":"priority""#, Some("0.630000"), 0),
        ("openai", r#","service_tier":"fast""#, Some("0.630000"), 0),
        ("openai", r#","service_tier":"flex""#, Some("0.315000"), 0),
        ("ollama-launch", "", None, 2),
    ];
    for (provider, settings, cost, unpriced) in cases {
        let home = tempfile::tempdir().unwrap();
        codex(home.path(), provider, settings);
        let archive = Archive::of(&discover_at(home.path())).unwrap();
        let prices = Table::embedded();
        let reports = Reports::new(&archive, &TimeZone::UTC, &prices);
        // Prompts are answered from single calls, models from sums.
        for group in [Group::Model, Group::Prompt] {
            let answer = reports.usage(&Question::new(group)).unwrap();
            let bill = &answer.total.bill;
            let usd = bill.usd.map(|usd| usd.to_string());
            assert_eq!((usd.as_deref(), bill.unpriced), (cost, unpriced), "{provider} {settings}");
            assert_eq!(answer.unpriced_models.is_empty(), unpriced == 0);
        }
        // Their costs alone are answered from sums as well.
        let single = reports.usage(&Question::new(Group::Prompt)).unwrap();
        let summed = reports.prompt_costs(&Question::new(Group::Model)).unwrap();
        let prompts = single.rows.iter().filter(|row| row.text.is_some());
        assert_eq!(summed, prompts.map(|row| row.sum.bill.usd).collect::<Vec<_>>());
        assert_eq!(summed.len(), 1);
        let cost = reports.cost(&Question::new(Group::Prompt)).unwrap();
        assert_eq!(cost, single.total.bill);
    }
}

prop_compose! {
    fn call()(
        model in prop::sample::select(vec![
            "claude-opus-4-8", "claude-sonnet-4-5", "claude-haiku-5-5", "gpt-6.1-sol", "gpt-5.4", "o3",
            "gemini-2.5-pro", "gemini-2.5-pro-002", "no-such-model",
        ]),
        day in prop::sample::select(vec!["2025-11-01", "2026-08-20", DAY]),
        class in prop::sample::select(ServiceClass::ALL.to_vec()),
        us_only: bool,
        is_elsewhere: bool,
        searches in 0..3u32,
        counts in prop::array::uniform8(0..150_000u64),
    ) -> (&'static str, &'static str, Usage, Service) {
        let [input, cached, cache_write_5m, cache_write_1h, output, thoughts, tool, other] = counts;
        let usage =
            Usage { input, cached, cache_write_5m, cache_write_1h, output, thoughts, tool, other };
        (model, day, usage, Service { class, us_only, is_elsewhere, searches })
    }
}

proptest! {
    /// Sums are stored by model, time and class of price; however calls are split into such groups, the
    /// groups cost what the calls cost.
    #[test]
    fn the_cost_of_a_sum_is_the_sum_of_the_costs(
        calls in prop::collection::vec((call(), 0..3u8), 0..40),
    ) {
        let table = Table::embedded();
        let limits = [100_000u64, 128_000, 200_000, 272_000];
        let mut groups: BTreeMap<_, Calls> = BTreeMap::new();
        let mut single = Bill::default();
        let at = |day: &str| Some(format!("{day}T12:00:00Z").parse::<Timestamp>().unwrap());
        for ((model, day, usage, service), part) in &calls {
            single.add(&table.bill(Some(model), at(day), usage, *service));
            let one = Calls::one(usage, *service);
            let class = limits.iter().filter(|limit| usage.prompt() > **limit).count();
            let key = (*model, *day, Service { searches: 0, ..*service }, class, *part);
            groups.entry(key).and_modify(|sum| {
                sum.usage += one.usage;
                sum.service.searches += one.service.searches;
                sum.count += 1;
                sum.caching += one.caching;
                sum.prompt = sum.prompt.max(one.prompt);
            }).or_insert(one);
        }
        let bills = groups.iter().map(|((model, day, ..), sum)| {
            table.bill_calls(Some(model), at(day), sum)
        });
        let grouped = bills.fold(Bill::default(), |mut all, bill| {
            all.add(&bill);
            all
        });
        prop_assert_eq!(grouped, single);
    }
}
