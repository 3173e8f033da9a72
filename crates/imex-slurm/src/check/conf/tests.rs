use super::*;

#[test]
fn the_later_line_counts_whatever_the_case_of_its_key() {
    let conf = text("PrologFlags=Alloc # first\nclustername=c prologflags = Alloc,DeferBatch\n");
    let counts = conf.get("PROLOGFLAGS").unwrap();
    assert_eq!(
        (counts.value.as_str(), counts.place.to_string().as_str()),
        ("Alloc,DeferBatch", "/e/s.conf:2")
    );
    let replaced: Vec<_> =
        conf.replaced().map(|(one, last)| (one.value.as_str(), last.value.as_str())).collect();
    assert_eq!(replaced, [("Alloc", "Alloc,DeferBatch")]);
    assert_eq!(conf.words("prologFlags"), ["Alloc", "DeferBatch"]);
}

#[test]
fn each_line_of_a_list_counts() {
    let conf = text("Prolog=/a\nProlog=/b\n");
    let prologs: Vec<_> = conf.all("Prolog").iter().map(|one| one.value.as_str()).collect();
    assert_eq!(prologs, ["/a", "/b"]);
    assert_eq!(conf.replaced().count(), 0);
}

#[test]
fn lines_are_continued_quoted_and_commented() {
    let conf = text("Prolog=\\\n  /a\nLicenses=\"a b\" MailProg=/x\\#y # z\n#Epilog=/no\n");
    assert_eq!(conf.get("Prolog").unwrap().value, "/a");
    assert_eq!(conf.get("Licenses").unwrap().value, "a b");
    assert_eq!(conf.get("MailProg").unwrap().value, "/x#y");
    assert_eq!(conf.get("MailProg").unwrap().place.to_string(), "/e/s.conf:3");
    assert_eq!(conf.get("Epilog"), None);
    assert_eq!(conf.faults, []);
}

#[test]
fn partitions_have_what_the_default_line_before_them_gives() {
    let conf = text(
        "NodeName=n1 CPUs=4\nPartitionName=a Nodes=n1\nPartitionName=DEFAULT OverSubscribe=EXCLUSIVE\n\
         PartitionName=b Nodes=n1\nPartitionName=c oversubscribe=NO\n",
    );
    let shared: Vec<_> =
        conf.partitions.iter().map(|one| (one.name.as_str(), one.option("OverSubscribe"))).collect();
    assert_eq!(shared, [("a", None), ("b", Some("EXCLUSIVE")), ("c", Some("NO"))]);
    assert_eq!(conf.get("CPUs"), None);
}

#[test]
fn included_files_are_read_in_their_place() {
    let files = Fake(&[
        ("/e/s.conf", "ClusterName=Rack\nEpilog=/1\nInclude more/%c.conf\nEpilog=/3\ninclude gone\n"),
        ("/e/more/rack.conf", "\nEpilog=/2\n"),
    ]);
    let conf = read(Path::new("/e/s.conf"), &files).unwrap();
    let epilogs: Vec<_> = conf.all("Epilog").iter().map(|one| one.value.as_str()).collect();
    assert_eq!(epilogs, ["/1", "/2", "/3"]);
    assert_eq!(conf.all("Epilog")[1].place.to_string(), "/e/more/rack.conf:2");
    let [Fault { place, kind: FaultKind::Include { file, .. } }] = conf.faults.as_slice() else {
        panic!("{:?}", conf.faults);
    };
    assert_eq!((place.to_string().as_str(), file.to_str()), ("/e/s.conf:5", Some("/e/gone")));
}

#[test]
fn a_file_that_includes_itself_ends() {
    let files = Fake(&[("/e/s.conf", "Include s.conf\nInclude s.conf\n")]);
    let conf = read(Path::new("/e/s.conf"), &files).unwrap();
    assert!(!conf.faults.is_empty());
}

#[test]
fn what_is_no_setting_is_told_and_the_rest_is_read() {
    let conf = text("SlurmUser=root and more\nnonsense\n=x\nSlurmdUser=root\n");
    let told: Vec<_> = conf.faults.iter().map(|fault| fault.place.to_string()).collect();
    assert_eq!(told, ["/e/s.conf:1", "/e/s.conf:2", "/e/s.conf:3"]);
    assert!(conf.get("SlurmUser").is_some() && conf.get("SlurmdUser").is_some());
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(text in "(?s).{0,300}") {
        parse(Path::new("x"), &text);
    }

    #[test]
    fn any_lines_of_its_alphabet_are_read(text in "[ \\t\\n\\\\#=\"+%cA-Dinclude]{0,200}") {
        let conf = parse(Path::new("x"), &text);
        for (one, last) in conf.replaced() {
            assert!(one.key.eq_ignore_ascii_case(&last.key));
        }
    }
}

struct Fake(&'static [(&'static str, &'static str)]);

impl Files for Fake {
    fn read(&self, path: &Path) -> io::Result<String> {
        let found = self.0.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn text(text: &str) -> Conf {
    parse(Path::new("/e/s.conf"), text)
}
