//! The projects that sessions belong to.

use backstory_core::number::{bytes, count, plural};
use backstory_core::query::projects::projects as summarize;
use maud::html;

use crate::app::Ask;
use crate::chart::strip;
use crate::layout::{Frame, frame, nothing};
use crate::query::Query;
use crate::reply::{Problem, Reply};
use crate::words::{age, cost, dollars, tokens};

pub(crate) fn projects(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let sort = ask.query.get("sort").unwrap_or("updated");
    let sizes = ask.archive.file_sizes()?;
    let mut rows =
        summarize(ask.all(), sizes, &ask.snapshot.costs, &backstory_core::query::Filter::default());
    if sort == "cost" {
        rows.sort_by(|a, b| dollars(&b.cost).total_cmp(&dollars(&a.cost)));
    }
    let most = rows.iter().map(|row| dollars(&row.cost)).fold(0.0, f64::max);
    let sessions =
        |name: &str| Query::default().with("period", Some("all")).with("project", Some(name));
    let unknown = rows.iter().filter(|row| row.project.path.is_none()).count() as u64;
    let body = html! {
        header.row {
            h1 { "Projects" }
            div.switch role="group" aria-label="Order" {
                @for (value, name) in [("updated", "latest"), ("cost", "most expensive")] { a href=(ask.query.with("sort", Some(value)).address("/projects")) aria-current=[(value == sort).then_some("true")] { (name) } }
            }
        }
        p.sum { (plural(rows.len() as u64, "project", "projects")) ", all time" }
        @if rows.is_empty() { (nothing("No projects yet.", &html! {})) }
        @else {
            section.panel { div.scroll tabindex="0" role="region" aria-label="Projects" {
                table.numbers data-rows {
                    thead { tr { th scope="col" { "Project" } th.n scope="col" { "Sessions" } th.n scope="col" { "Tokens" } th.n scope="col" { "Cost" } th.n scope="col" { "Size" } th.n scope="col" { "Updated" } th scope="col" { "Usage" } } }
                    tbody {
                        @for row in &rows {
                            @let query = sessions(&row.project.name);
                            tr {
                                th scope="row" {
                                    a href=(query.address("/sessions")) { (row.project.name) }
                                    @if let Some(path) = &row.project.path { " " small.path title=(format!("known from: {}", row.project.proof.name())) { (path) } }
                                    @else { " " small { "folder not known" } }
                                    (strip(dollars(&row.cost), most))
                                }
                                td.n { (count(row.sessions as u64)) }
                                td.n { (tokens(row.usage.total())) }
                                td.n { (cost(&row.cost)) }
                                td.n { (bytes(row.bytes)) }
                                td.n { (age(row.updated, ask.now, &ask.app.site.zone)) }
                                td { a href=(query.address("/usage/monthly")) { "by month" } }
                            }
                        }
                    }
                }
            } }
            @if unknown > 0 { p.note { (plural(unknown, "project is", "projects are")) " known only by hash; " code { "backstory projects --scan" } " looks for the folders." } }
        }
    };
    Ok(frame(
        ask,
        Frame {
            title: "Projects",
            section: "/projects",
            scope: None,
            class: "projects",
            script: None,
            body,
        },
    ))
}
