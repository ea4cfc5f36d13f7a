use super::*;

fn report() -> Html {
    let curve = |name: &str, slope: f64| Curve {
        name: name.to_owned(),
        points: (1..=10)
            .map(|n| (f64::from(n), slope * f64::from(n)))
            .collect(),
    };
    Html {
        title: "a < b & \"c\"".to_owned(),
        parts: vec![Part {
            title: "<script>alert(1)</script>".to_owned(),
            blocks: vec![
                Block::Figure(Figure {
                    caption: "</figure><img src=x>".to_owned(),
                    x: "n".to_owned(),
                    y: "</text>".to_owned(),
                    is_log: false,
                    curves: vec![curve("</script><b>", 1.0), curve("nb", f64::NAN)],
                }),
                Block::Table(Table {
                    caption: "<i>".to_owned(),
                    head: vec!["crawler".to_owned(), "<th>".to_owned()],
                    rows: vec![("<td>".to_owned(), vec![Cell::new("<b>")])],
                }),
                Block::Words("<p>".to_owned()),
            ],
        }],
        spec: "</pre><script>".to_owned(),
        made_with: vec![("<dt>".to_owned(), "<dd>".to_owned())],
        ..Html::default()
    }
}

/// How often `tag` is opened.
fn opened(page: &str, tag: &str) -> usize {
    page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count()
}

#[test]
fn whatever_a_name_holds_it_stays_text() {
    let page = report().render();
    // The page's own two: the data of the figure, and the code.
    assert_eq!(opened(&page, "script"), 2, "{page}");
    assert_eq!(page.matches("</script>").count(), 2);
    for tag in ["img", "b", "i"] {
        assert_eq!(opened(&page, tag), 0, "{tag}");
    }
    for (tag, times) in [("figure", 1), ("pre", 1), ("dt", 1), ("td", 1)] {
        assert_eq!(opened(&page, tag), times, "{tag}");
    }
    assert!(page.contains("a &lt; b &amp;"));
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let page = report().render();
    for word in ["http:", "https:", "src=\"", "@import", "url(", "<link"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn the_script_finds_the_points_of_the_curves() {
    let page = report().render();
    let (_, rest) = page.split_once("application/json\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["curves"][0]["name"], "</script><b>");
    assert_eq!(
        data["curves"][0]["points"][9],
        serde_json::json!([10.0, 10.0])
    );
    // What is no number is drawn nowhere.
    assert!(page.contains("d=\"\""), "{page}");
    assert!(!page.contains("NaN"), "{page}");
}

#[test]
fn without_two_points_there_is_no_picture() {
    let mut report = report();
    let Block::Figure(figure) = &mut report.parts[0].blocks[0] else {
        panic!("a figure comes first");
    };
    figure.curves.clear();
    assert!(report.render().contains("nothing to draw"));
}

#[test]
fn the_best_of_a_column_is_marked() {
    let row = |name: &str| (name.to_owned(), vec![Cell::new("x")]);
    let mut rows = vec![row("a"), row("b"), row("c"), row("d")];
    mark_best(&mut rows, 0, &[Some(2.0), None, Some(1.0), Some(1.0)], true);
    let best: Vec<bool> = rows.iter().map(|(_, cells)| cells[0].is_best).collect();
    assert_eq!(best, [false, false, true, true]);
    let mut alone = vec![row("a"), row("b")];
    mark_best(&mut alone, 0, &[Some(2.0), None], false);
    assert!(!alone[0].1[0].is_best);
}
