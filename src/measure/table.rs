//! L(n) as a table, as CSV and as JSON lines.

use std::collections::BTreeSet;
use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use super::series::{NamedCurve, shown_name};

/// A name longer than this would push the next column off the terminal.
const NAME_CHARS_MAX: usize = 24;

/// L(n) of several curves side by side, one row for each n that any of them has; `-` where a curve
/// has no such point. The lines are a table in Markdown too. The last row is the harvest at each curve's own end.
pub fn loss_table(curves: &[NamedCurve]) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let names = curves
        .iter()
        .map(|curve| shown_name(&curve.name, NAME_CHARS_MAX));
    table.set_header(std::iter::once("n".to_owned()).chain(names));
    let places: BTreeSet<u64> = curves
        .iter()
        .flat_map(|curve| curve.points.iter().map(|point| point.n))
        .collect();
    for n in places {
        let cells = curves.iter().map(|curve| loss_at(curve, n));
        table.add_row(std::iter::once(n.to_string()).chain(cells));
    }
    let harvests = curves.iter().map(|curve| {
        let last = curve.last();
        last.map_or("-".to_owned(), |point| format!("{:.3}", point.harvest))
    });
    table.add_row(std::iter::once("harvest".to_owned()).chain(harvests));
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

fn loss_at(curve: &NamedCurve, n: u64) -> String {
    match curve.points.binary_search_by_key(&n, |point| point.n) {
        Ok(place) => format!("{:.1}", curve.points[place].loss),
        Err(_) => "-".to_owned(),
    }
}

/// One line of CSV or JSON.
#[derive(serde::Serialize)]
struct Row<'a> {
    crawl: &'a str,
    n: u64,
    loss: f64,
    harvest: f64,
}

fn rows(curves: &[NamedCurve]) -> impl Iterator<Item = Row<'_>> {
    curves.iter().flat_map(|curve| {
        curve.points.iter().map(|point| Row {
            crawl: &curve.name,
            n: point.n,
            loss: point.loss,
            harvest: point.harvest,
        })
    })
}

/// The columns crawl, n, loss, harvest, with a header even when there is no point. Numbers are
/// written with as many digits as give the same f64 again.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(curves: &[NamedCurve], out: impl Write) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(out);
    writer.write_record(["crawl", "n", "loss", "harvest"])?;
    for row in rows(curves) {
        writer.serialize(row)?;
    }
    writer.flush()
}

/// One object a line with the fields crawl, n, loss, harvest.
///
/// # Errors
/// Those of `out`.
pub fn write_json_lines(curves: &[NamedCurve], mut out: impl Write) -> io::Result<()> {
    for row in rows(curves) {
        serde_json::to_writer(&mut out, &row)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use crate::measure::LossCurve;

    use super::*;

    fn two() -> Vec<NamedCurve> {
        let bees: LossCurve = (0..60).map(|_| 0.75).collect();
        let comma: LossCurve = [1.0, 0.5].into_iter().collect();
        vec![
            NamedCurve::checkpoints("bees", &bees),
            NamedCurve::checkpoints("a,\"b\"", &comma),
        ]
    }

    #[test]
    fn the_table_sets_curves_side_by_side() {
        insta::assert_snapshot!(loss_table(&two()), @r#"
        |       n |  bees | a,"b" |
        |---------|-------|-------|
        |       2 |     - |   0.5 |
        |      50 |  12.5 |     - |
        |      60 |  15.0 |     - |
        | harvest | 0.750 | 0.750 |
        "#);
    }

    #[test]
    fn csv_quotes_names_and_keeps_numbers_exact() {
        let mut out = Vec::new();
        write_csv(&two(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        insta::assert_snapshot!(text, @r#"
        crawl,n,loss,harvest
        bees,50,12.5,0.75
        bees,60,15.0,0.75
        "a,""b""",2,0.5,0.75
        "#);
        let mut empty = Vec::new();
        write_csv(&[], &mut empty).unwrap();
        assert_eq!(empty, b"crawl,n,loss,harvest\n");
    }

    #[test]
    fn each_json_line_is_an_object_of_its_own() {
        let mut out = Vec::new();
        write_json_lines(&two(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        insta::assert_snapshot!(text, @r#"
        {"crawl":"bees","n":50,"loss":12.5,"harvest":0.75}
        {"crawl":"bees","n":60,"loss":15.0,"harvest":0.75}
        {"crawl":"a,\"b\"","n":2,"loss":0.5,"harvest":0.75}
        "#);
    }
}
