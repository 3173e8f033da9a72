//! `~/.aws/config` and `~/.aws/credentials`: named sets of settings.
//!
//! The format is that of "Configuration and credential file settings" in the AWS command line's user guide: sections in
//! brackets, `profile NAME` in the one file and plain names in the other, `key = value` lines, comments on lines of
//! their own. Sections of other kinds and indented sub-settings are passed over.

use std::collections::BTreeMap;

/// The profiles of one or both files, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profiles(BTreeMap<String, Profile>);

/// One profile. Its values may be secrets: it has no `Debug` output of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Profile(BTreeMap<String, String>);

/// Why a profile cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// It was asked for and is in neither file.
    #[error("no profile is named `{0}`")]
    Unknown(String),
    /// A line is neither a section, a setting nor a comment.
    #[error("line {line} is neither `[section]` nor `key = value`")]
    Line {
        /// The line, from 1.
        line: usize,
    },
}

/// Which of the two files a text is: they name sections in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sections {
    Config,
    Credentials,
}

impl Profiles {
    /// Reads the texts of both files; a file that is not there is an empty text. Where both have a key, the credentials
    /// file's value counts.
    ///
    /// # Errors
    ///
    /// If a line of one cannot be understood.
    pub fn parse(config: &str, credentials: &str) -> Result<Self, ProfileError> {
        let mut profiles = Profiles::default();
        profiles.add(config, Sections::Config)?;
        profiles.add(credentials, Sections::Credentials)?;
        Ok(profiles)
    }

    /// The profile of this name.
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.0.get(name)
    }

    fn add(&mut self, text: &str, sections: Sections) -> Result<(), ProfileError> {
        let mut current: Option<String> = None;
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) || line.starts_with([' ', '\t']) {
                continue;
            }
            if let Some(section) = trimmed.strip_prefix('[') {
                let (section, _) = section.split_once(']').ok_or(ProfileError::Line { line: index + 1 })?;
                current = sections.profile(section.trim());
                if let Some(name) = &current {
                    self.0.entry(name.clone()).or_default();
                }
                continue;
            }
            let (key, value) = trimmed.split_once('=').ok_or(ProfileError::Line { line: index + 1 })?;
            if let Some(profile) = current.as_ref().and_then(|name| self.0.get_mut(name)) {
                profile.0.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
            }
        }
        Ok(())
    }
}

impl Sections {
    /// The profile that a section is, if it is one.
    fn profile(self, section: &str) -> Option<String> {
        let name = match self {
            Sections::Credentials => Some(section),
            Sections::Config if section == "default" => Some(section),
            Sections::Config => section.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t'])),
        };
        name.map(|name| name.trim().trim_matches(['"', '\'']).to_owned())
    }
}

impl Profile {
    /// The value of a key; an empty one counts as none.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "# mine\n[default]\nregion = us-east-1\n\n[profile rack]\nregion=us-west-2\ns3 =\n  max_queue_size = 7\n\
                          [sso-session x]\nregion = nowhere\n[profilex]\nregion = nowhere\n";

    #[test]
    fn profiles_of_both_files_are_one() {
        let credentials = "[rack]\naws_access_key_id = AK\nAWS_Secret_Access_Key = a=b\n";
        let profiles = Profiles::parse(CONFIG, credentials).unwrap();
        let rack = profiles.get("rack").unwrap();
        let keys = ["region", "aws_access_key_id", "aws_secret_access_key", "s3", "max_queue_size"];
        assert_eq!(keys.map(|key| rack.get(key)), [Some("us-west-2"), Some("AK"), Some("a=b"), None, None]);
        assert_eq!(profiles.get("default").unwrap().get("region"), Some("us-east-1"));
        assert_eq!(profiles.get("x"), None);
        assert!(!format!("{profiles:?}").contains("a=b"));
    }

    #[test]
    fn a_line_that_is_nothing_is_named() {
        assert_eq!(Profiles::parse("[default\n", ""), Err(ProfileError::Line { line: 1 }));
        assert_eq!(Profiles::parse("", "[a]\n\nkey\n"), Err(ProfileError::Line { line: 3 }));
    }
}
