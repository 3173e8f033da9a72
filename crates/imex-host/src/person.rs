//! A user of this machine, as the permissions of files know one: number, primary group, further groups.

use std::ffi::CString;
use std::io;

use nix::unistd::{Gid, Uid, User, getegid, geteuid, getgrouplist, getgroups};
use thiserror::Error;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    name: String,
    uid: u32,
    gids: Vec<u32>,
}

/// Why a user is not known.
#[derive(Debug, Error)]
pub enum PersonError {
    /// Nobody has this name or number.
    #[error("there is no user `{name}`")]
    Unknown {
        /// The name or number.
        name: String,
    },
    /// The user database does not answer.
    #[error("the user database does not tell who `{name}` is")]
    Database {
        /// The name or number.
        name: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Person {
    /// The user with this name, or this number in digits. Asks the user database, which may be a network away.
    ///
    /// # Errors
    ///
    /// If there is none, or the database does not answer.
    pub fn find(name: &str) -> Result<Self, PersonError> {
        let failed =
            |errno: nix::Error| PersonError::Database { name: name.to_owned(), source: errno.into() };
        let by_name = User::from_name(name).map_err(failed)?;
        let number = name.parse().ok().map(Uid::from_raw);
        let user = match (by_name, number) {
            (Some(user), _) => Some(user),
            (None, Some(uid)) => User::from_uid(uid).map_err(failed)?,
            (None, None) => None,
        };
        let user = user.ok_or_else(|| PersonError::Unknown { name: name.to_owned() })?;
        // A name from the database has no zero byte.
        let named = CString::new(user.name.as_str()).unwrap_or_default();
        let groups = getgrouplist(&named, user.gid).map_err(failed)?;
        Ok(Person::new(user.name, user.uid.as_raw(), user.gid.as_raw(), &groups))
    }

    /// Who runs this program, by number: the user database is not asked.
    pub fn own() -> Self {
        let groups = getgroups().unwrap_or_default();
        Person::new(geteuid().to_string(), geteuid().as_raw(), getegid().as_raw(), &groups)
    }

    fn new(name: String, uid: u32, gid: u32, groups: &[Gid]) -> Self {
        let mut others: Vec<u32> = groups.iter().map(|group| group.as_raw()).filter(|g| *g != gid).collect();
        others.sort_unstable();
        others.dedup();
        others.insert(0, gid);
        Person { name, uid, gids: others }
    }

    /// The user's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user's number.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// The number of the primary group.
    pub fn gid(&self) -> u32 {
        self.gids[0]
    }

    /// The numbers of all groups, the primary one first.
    pub fn gids(&self) -> &[u32] {
        &self.gids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_this_is_known_without_the_user_database() {
        let own = Person::own();
        assert_eq!((own.uid(), own.gid()), (geteuid().as_raw(), getegid().as_raw()));
        assert_eq!(own.name(), geteuid().to_string());
    }

    #[test]
    fn a_user_is_found_by_name_and_by_number() {
        let root = Person::find("root").unwrap();
        assert_eq!((root.uid(), root.gid(), root.gids()[0]), (0, 0, 0));
        assert_eq!(Person::find("0").unwrap(), root);
    }

    #[test]
    fn a_user_that_is_not_there_is_named() {
        let error = Person::find("no-such-user").unwrap_err();
        assert_eq!(error.to_string(), "there is no user `no-such-user`");
        assert!(matches!(Person::find("4294967294"), Err(PersonError::Unknown { .. })));
    }
}
