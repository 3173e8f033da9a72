//! Against real device nodes in a temporary folder. Making devices takes root: without it, what takes it is left out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use nix::sys::stat::{Mode as Bits, mknod, umask};
use tempfile::TempDir;

use super::*;
use crate::devices::Major;

#[test]
fn a_folder_that_is_not_there_holds_nothing() {
    let (_dir, channels) = fixture();
    assert_eq!(channels.list().unwrap(), Listing::default());
    assert_eq!(channels.check(ZERO, &spec()).unwrap(), [Fault::FolderMissing]);
    assert_eq!(channels.remove(ZERO).unwrap(), Removed::Before);
}

#[test]
fn a_symbolic_link_is_no_folder() {
    let (dir, channels) = fixture();
    symlink(dir.path(), channels.dir()).unwrap();
    for result in
        [channels.list().map(drop), channels.ensure(ZERO, &spec()).map(drop), channels.remove(ZERO).map(drop)]
    {
        assert!(matches!(result.unwrap_err(), ChannelError::NotAFolder { .. }));
    }
}

#[test]
fn what_is_no_device_is_neither_replaced_nor_removed() {
    let (dir, channels) = fixture();
    fs::create_dir(channels.dir()).unwrap();
    let precious = dir.path().join("precious");
    fs::write(&precious, "data").unwrap();
    let path = channels.path(ZERO);
    for (make, word) in [
        (&(|| symlink(&precious, &path)) as &dyn Fn() -> io::Result<()>, "symbolic link"),
        (&|| fs::write(&path, "data"), "regular file"),
    ] {
        make().unwrap();
        for error in [channels.ensure(ZERO, &spec()).unwrap_err(), channels.remove(ZERO).unwrap_err()] {
            assert!(error.to_string().contains(word), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(fs::read_to_string(precious).unwrap(), "data");
}

#[test]
fn a_channel_is_made_once_listed_and_removed_once() {
    let Some((_dir, channels)) = with_devices() else { return };
    let one = Channel::new(1).unwrap();
    let made = channels.ensure(one, &spec()).unwrap();
    assert_eq!(made, Ensured { folder: FolderOutcome::Created, node: NodeOutcome::Created });
    let again = channels.ensure(one, &spec()).unwrap();
    assert_eq!(again, Ensured { folder: FolderOutcome::Right, node: NodeOutcome::Right });
    channels.ensure(ZERO, &spec()).unwrap();
    fs::write(channels.dir().join("channel01"), "").unwrap();
    let listing = channels.list().unwrap();
    let numbers: Vec<u32> = listing.channels.iter().map(|(channel, _)| channel.number()).collect();
    assert_eq!((numbers, listing.others), (vec![0, 1], vec!["channel01".to_owned()]));
    assert_eq!(listing.channels[1].1.kind, Kind::CharDevice { major: 234, minor: 1 });
    assert_eq!(channels.check(one, &spec()).unwrap(), []);
    assert_eq!(channels.remove(one).unwrap(), Removed::Now);
    assert_eq!(channels.remove(one).unwrap(), Removed::Before);
    assert_eq!(channels.check(one, &spec()).unwrap(), [Fault::Missing]);
}

#[test]
fn each_kind_of_stale_node_is_replaced_and_named() {
    let Some((_dir, channels)) = with_devices() else { return };
    channels.ensure(ZERO, &spec()).unwrap();
    let device = |kind, mode, major, minor| {
        let path = channels.path(ZERO);
        fs::remove_file(&path).unwrap();
        mknod(&path, kind, Bits::empty(), makedev(major, minor)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let chown = |uid| std::os::unix::fs::chown(channels.path(ZERO), Some(uid), None).unwrap();
    let table: [(&dyn Fn(), &str); 5] = [
        (&|| device(SFlag::S_IFCHR, 0o666, 498, 0), "its major is 498, not 234"),
        (&|| device(SFlag::S_IFCHR, 0o666, 234, 3), "its minor is 3, not 0"),
        (&|| device(SFlag::S_IFBLK, 0o666, 234, 0), "it is a block device, not a character device"),
        (&|| device(SFlag::S_IFCHR, 0o600, 234, 0), "its mode is 0600, not 0666"),
        (&|| chown(12), "its owner is 12:0, not 0:0"),
    ];
    for (spoil, expected) in table {
        spoil();
        let NodeOutcome::Replaced { faults } = channels.ensure(ZERO, &spec()).unwrap().node else {
            panic!("{expected}: not replaced");
        };
        assert_eq!(faults.iter().map(Fault::to_string).collect::<Vec<_>>(), [expected]);
        assert_eq!(channels.check(ZERO, &spec()).unwrap(), [], "{expected}");
    }
    assert_eq!(channels.list().unwrap().others, [""; 0], "nothing is left beside");
}

#[test]
fn a_folder_that_others_can_change_is_repaired_and_named() {
    let Some((_dir, channels)) = with_devices() else { return };
    fs::create_dir(channels.dir()).unwrap();
    fs::set_permissions(channels.dir(), fs::Permissions::from_mode(0o777)).unwrap();
    std::os::unix::fs::chown(channels.dir(), Some(12), Some(12)).unwrap();
    let FolderOutcome::Repaired { faults } = channels.ensure(ZERO, &spec()).unwrap().folder else {
        panic!("not repaired");
    };
    let told: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(told, ["the folder's mode is 0777, not 0755", "the folder's owner is 12:12, not 0:0"]);
    assert_eq!(channels.check(ZERO, &spec()).unwrap(), []);
}

#[test]
fn what_a_killed_run_left_beside_is_taken_away() {
    let Some((_dir, channels)) = with_devices() else { return };
    fs::create_dir(channels.dir()).unwrap();
    let beside = channels.dir().join(".channel0.new");
    mknod(&beside, SFlag::S_IFCHR, Bits::empty(), makedev(1, 1)).unwrap();
    assert_eq!(channels.ensure(ZERO, &spec()).unwrap().node, NodeOutcome::Created);
    assert_eq!(channels.list().unwrap().others, [""; 0]);
}

#[test]
fn many_at_the_same_node_at_once_all_end_with_the_right_one() {
    let Some((_dir, channels)) = with_devices() else { return };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    match channels.ensure(ZERO, &spec()) {
                        Ok(_) | Err(ChannelError::Contended { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                    // Removed by one, made by another.
                    channels.remove(ZERO).unwrap();
                }
            });
        }
    });
    channels.ensure(ZERO, &spec()).unwrap();
    assert_eq!(channels.check(ZERO, &spec()).unwrap(), []);
}

const ZERO: Channel = Channel::ZERO;

fn spec() -> Spec {
    Spec { major: Major::new(234).unwrap(), mode: Mode::OPEN, owner: Owner::ROOT }
}

fn fixture() -> (TempDir, Channels) {
    let dir = tempfile::tempdir().unwrap();
    let channels = Channels::at(dir.path().join("channels"));
    (dir, channels)
}

/// A folder in which devices can be made, if this test may make any. The strictest umask must not matter.
fn with_devices() -> Option<(TempDir, Channels)> {
    let (dir, channels) = fixture();
    umask(Bits::from_bits_truncate(0o077));
    let probe = dir.path().join("probe");
    match mknod(&probe, SFlag::S_IFCHR, Bits::empty(), makedev(1, 3)) {
        Ok(()) => Some((dir, channels)),
        Err(errno) => {
            eprintln!("left out: devices cannot be made here ({errno})");
            None
        }
    }
}
