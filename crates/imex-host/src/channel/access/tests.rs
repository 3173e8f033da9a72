//! The rule as a table, and attempts on real nodes where this test may make them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use nix::sys::stat::{Mode as Bits, SFlag, makedev, mknod};

use super::*;

#[test]
fn the_first_of_owner_group_and_others_decides_alone() {
    let owner = Owner { uid: 7, gid: 70 };
    let (member, stranger) = (&[9, 70][..], &[9][..]);
    for (mode, uid, gids, granted) in [
        (0o666, 8, stranger, true),
        (0o660, 8, stranger, false),
        (0o660, 8, member, true),
        (0o660, 7, stranger, true),
        (0o066, 7, member, false),
        (0o606, 8, member, false),
        (0o640, 8, member, false),
        (0o400, 7, stranger, false),
        (0o000, 0, stranger, true),
    ] {
        let mode = Mode::of(mode);
        let answer = permits(mode, owner, &Credentials { uid, gids }, Want::ReadWrite);
        assert_eq!(answer, granted, "{mode} for {uid} in {gids:?}");
    }
    let passing = permits(Mode::of(0o711), owner, &Credentials { uid: 8, gids: stranger }, Want::Pass);
    assert!(passing);
}

#[test]
fn a_missing_node_is_not_a_refused_one() {
    let dir = tempfile::tempdir().unwrap();
    let report = access(&dir.path().join("channel0"), &myself());
    assert_eq!((report.access, report.evidence), (Access::Missing, Evidence::Tried));
}

#[test]
fn a_node_without_a_driver_is_told_from_one_without_permission() {
    if !geteuid().is_root() {
        return eprintln!("left out: it takes root to be somebody else");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = dir.path().join("channel0");
    // No driver has this minor: mem(4) ends at 11.
    mknod(&path, SFlag::S_IFCHR, Bits::empty(), makedev(1, 200)).unwrap();
    let nobody = Person::find("nobody").unwrap();

    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let allowed = access(&path, &nobody);
    assert_eq!((allowed.access, allowed.evidence), (Access::NoDriver, Evidence::Tried));

    fs::set_permissions(&path, fs::Permissions::from_mode(0o660)).unwrap();
    let refused = access(&path, &nobody);
    let obstacle = Obstacle { path: path.clone(), mode: Mode::of(0o660), owner: Owner::ROOT };
    assert_eq!((refused.access, refused.obstacle), (Access::Denied, Some(obstacle)));

    chown(&path, None, Some(nobody.gid())).unwrap();
    assert_eq!(access(&path, &nobody).access, Access::NoDriver, "the group may");

    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let behind = access(&path, &nobody);
    assert_eq!(behind.access, Access::Denied);
    assert_eq!(behind.obstacle.unwrap().path, dir.path());

    assert_eq!(access(&path, &myself()).access, Access::NoDriver, "this program keeps its rights");
    assert!(fs::write(dir.path().join("file"), "").is_ok());
}

#[test]
fn an_open_device_is_granted() {
    assert_eq!(access(Path::new("/dev/null"), &myself()).access, Access::Granted);
}

fn myself() -> Person {
    Person::find(&geteuid().to_string()).unwrap()
}
