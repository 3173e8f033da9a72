//! Rules with numbers, for whatever judges a file of somebody else's: one table per file, which the documents have too.

use crate::problem::Severity;

/// A rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id, which never changes its meaning.
    pub id: &'static str,
    /// Its name, for people.
    pub name: &'static str,
    /// How bad a breach is.
    pub severity: Severity,
    /// What breaks it, and what comes of that.
    pub meaning: &'static str,
    /// What to do about a breach.
    pub fix: &'static str,
}

/// A table of rules: a constant each, and all of them as `ALL`, in the order of their ids.
#[macro_export]
macro_rules! rules {
    ($($rule:ident = $id:literal $name:literal $severity:ident: $meaning:literal, $fix:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $rule: $crate::Rule = $crate::Rule {
                id: $id,
                name: $name,
                severity: $crate::Severity::$severity,
                meaning: $meaning,
                fix: $fix,
            };
        )*
        /// All rules, by id.
        pub const ALL: &[&$crate::Rule] = &[$(&$rule),*];
    };
}
