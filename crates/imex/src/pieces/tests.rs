use super::*;

#[test]
fn each_line_is_short_and_comes_by_one_write() {
    let name = "n".repeat(64);
    for text in [report(1), report(18), "ä→".repeat(4_000), String::new()] {
        let lines = sent(&name, &text);
        for line in &lines {
            assert!(
                line.len() <= LONGEST && line.ends_with('\n') && line.matches('\n').count() == 1,
                "{line}"
            );
        }
        let stream = lines.concat();
        assert_eq!(gather(&stream).whole, BTreeMap::from([(name.as_str(), text)]));
    }
}

#[test]
fn eighteen_large_reports_are_whole_in_whatever_order_their_lines_come() {
    let nodes: Vec<String> = (1..=18).map(|number| format!("n{number}")).collect();
    let mut queues: Vec<Vec<String>> = nodes.iter().map(|node| sent(node, &report(18))).collect();
    let mut stream = String::from("Welcome to this machine\n");
    // Each queue keeps its order, as each task's output does; which comes next is anybody's.
    let mut turn = 7_usize;
    while queues.iter().any(|queue| !queue.is_empty()) {
        turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let open: Vec<usize> = (0..queues.len()).filter(|index| !queues[*index].is_empty()).collect();
        let line = queues[open[(turn >> 33) % open.len()]].remove(0);
        stream.push_str(&line);
    }
    let gathered = gather(&stream);
    let expected = nodes.iter().map(|node| (node.as_str(), report(18))).collect();
    assert_eq!(
        gathered,
        Gathered { whole: expected, broken: BTreeSet::new(), others: vec!["Welcome to this machine"] }
    );
}

/// Whoever mixes at bytes and not at lines can damage a report, and never make another one of it.
#[test]
fn a_report_that_is_cut_anywhere_by_another_is_whole_or_told_to_be_broken() {
    let (one, two) = (report(3), report(4));
    let (cut, between) = (sent("n1", &one).concat(), sent("n2", &two).concat());
    for at in 0..=cut.len() {
        let stream = format!("{}{between}{}", &cut[..at], &cut[at..]);
        let gathered = gather(&stream);
        assert_eq!(gathered.whole.get("n2"), Some(&two), "{at}");
        match gathered.whole.get("n1") {
            Some(text) => assert_eq!(*text, one, "{at}"),
            None => assert!(gathered.broken.contains("n1"), "{at}"),
        }
        // At the end of a line nothing is lost.
        if cut[..at].ends_with('\n') || at == 0 {
            assert!(gathered.broken.is_empty() && gathered.whole.len() == 2, "{at}");
        }
    }
}

#[test]
fn a_lost_line_a_changed_letter_and_a_cut_end_are_told_by_name() {
    let lines = sent("n1", &report(10));
    assert!(lines.len() > 3);
    let without: String =
        lines.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, line)| line.as_str()).collect();
    let changed = lines.concat().replacen("READY", "REALY", 1);
    let cut: String = lines.concat().chars().take(900).collect();
    for stream in [without, changed, cut] {
        let gathered = gather(&stream);
        assert_eq!((gathered.whole.len(), gathered.broken), (0, BTreeSet::from(["n1"])), "{stream}");
    }
}

#[test]
fn a_line_that_comes_twice_is_one_and_of_two_texts_one_is_taken_whole() {
    let lines = sent("n1", &report(2));
    let twice: String = lines.iter().map(|line| line.repeat(2)).collect();
    assert_eq!(gather(&twice).whole["n1"], report(2));
    let both = format!("{}{}", lines[0], sent("n1", &report(3)).concat());
    let gathered = gather(&both);
    assert_eq!((gathered.whole["n1"].as_str(), gathered.broken.len()), (report(3).as_str(), 0));
}

#[test]
fn labels_of_srun_and_lines_of_others_do_not_hurt() {
    let labelled: String = sent("n1", "{}").iter().map(|line| format!("11: {line}motd\n")).collect();
    let gathered = gather(&labelled);
    assert_eq!((gathered.whole["n1"].as_str(), gathered.others), ("{}", vec!["motd"]));
    for text in
        ["imex-piece ", "imex-piece n1", "imex-piece n1 0/1 0 0 ", "imex-piece n1 2/1 0 0 x", "imex-piece ä"]
    {
        assert_eq!(gather(text).whole.len(), 0, "{text}");
    }
}

/// As large as that of a domain with so many nodes.
fn report(nodes: usize) -> String {
    let row = |node: usize| {
        format!(
            "{{\"address\":\"10.0.0.{node}\",\"state\":\"READY\",\"links\":\"{}\"}}",
            "C".repeat(nodes * 12)
        )
    };
    (0..nodes).map(row).collect()
}

/// What is written, one text for each write.
fn sent(node: &str, text: &str) -> Vec<String> {
    let mut writes = Writes::default();
    send(node, text, &mut writes).unwrap();
    writes.0
}

#[derive(Default)]
struct Writes(Vec<String>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(String::from_utf8_lossy(bytes).into_owned());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
