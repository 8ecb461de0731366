//! The stable names of findings; scripts and suppressions rely on them.

use std::fmt;

use super::Severity;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal $severity:ident,)+) => {
        /// A kind of finding, with a stable kebab-case name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $variant,)+ }

        impl Code {
            /// Every code, in the order of this list.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];

            /// The stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// How bad it is; fixed for each code.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }

            /// One sentence about what the finding means.
            #[must_use]
            pub fn explanation(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)+),)+ }
            }
        }
    };
}

codes! {
    /// The file cannot be read.
    Unreadable = "unreadable-file" Error,
    /// The file is larger than a rule file may be.
    FileTooLarge = "file-too-large" Error,
    /// The file is not UTF-8 text.
    NotUtf8 = "not-utf-8" Error,
    /// The entry of the rules directory is no regular file, or its name ends in `.TOML` or the like: it is passed over.
    NotAFile = "not-a-file" Warning,
    /// The directory has no rule file, which is taken for a mistake and not for "no rules".
    NoRuleFiles = "no-rule-files" Error,
    /// The text is not TOML.
    Syntax = "toml-syntax" Error,
    /// The file has more errors than are told.
    MoreErrors = "more-errors" Error,
    /// The key means nothing here.
    UnknownKey = "unknown-key" Error,
    /// A key that must be given is missing.
    MissingKey = "missing-key" Error,
    /// The value has another type than the key takes.
    WrongType = "wrong-type" Error,
    /// The value is of the right type but not one that the key takes.
    InvalidValue = "invalid-value" Error,
    /// The file is written for a format that this version does not know.
    UnknownFormat = "unknown-format" Error,
    /// The class is not one of the fixed classes.
    UnknownClass = "unknown-class" Error,
    /// The duration cannot be read.
    InvalidDuration = "invalid-duration" Error,
    /// The status is no HTTP status, class or range.
    InvalidStatus = "invalid-status" Error,
    /// The regular expression does not compile.
    InvalidPattern = "invalid-pattern" Error,
    /// The regular expression is larger than a pattern may be.
    PatternTooLarge = "pattern-too-large" Error,
    /// All patterns together are larger than a ruleset may be.
    RulesetTooLarge = "ruleset-too-large" Error,
    /// A capture group has a name that is no fact.
    UnknownCapture = "unknown-capture" Error,
    /// The comparison cannot be read.
    InvalidComparison = "invalid-comparison" Error,
    /// A value is asked for that no pattern captures.
    UncapturedName = "uncaptured-name" Error,
    /// Two rules of one file have the same id.
    DuplicateRule = "duplicate-rule" Error,
    /// Two files of one layer are for the same provider.
    DuplicateProvider = "duplicate-provider" Error,
    /// Two tables of one list in one file are for the same models.
    DuplicateModel = "duplicate-model" Error,
    /// Two providers answer to the same name.
    DuplicateName = "duplicate-name" Error,
    /// `extends` names a file that does not exist.
    UnknownExtends = "unknown-extends" Error,
    /// Files extend each other in a circle.
    ExtendsCycle = "extends-cycle" Error,
    /// A change of a rule that no earlier layer has.
    NothingToOverride = "nothing-to-override" Error,
    /// The rule or the veto has no condition and would match every failure.
    NoCondition = "no-condition" Error,
    /// The rule has no example that shows what it catches.
    NoExample = "no-example" Error,
    /// The example has nothing in it that could be matched.
    EmptyExample = "empty-example" Error,
    /// A rule does not win its own example, or wins a negative one.
    ExampleFails = "example-fails" Error,
    /// The example's facts are not the ones that the rule reads.
    ExampleFacts = "example-facts" Error,
    /// There is no base layer with the settings that every provider inherits.
    NoDefaults = "no-defaults" Error,
    /// The longest wait is shorter than the first.
    CapBelowBase = "cap-below-base" Error,
    /// The settings forbid every retry, without saying so.
    RetryImpossible = "retry-impossible" Warning,
    /// The most input is more than the window.
    InputAboveWindow = "input-above-window" Warning,
    /// A name that nothing has, a slip away from one that something has.
    MisspeltName = "misspelt-name" Warning,
    /// The reserve leaves nothing of the context window.
    ReserveAboveWindow = "reserve-above-window" Warning,
    /// A table or value that only the base layer may set.
    OnlyInDefault = "only-in-default" Error,
    /// A pattern that the normalised text can never match.
    DeadPattern = "dead-pattern" Warning,
    /// A name, or a glob over names, that looks like a regular expression.
    LooksLikePattern = "looks-like-a-pattern" Warning,
    /// A pattern of digits alone matches ids, sizes and prices too.
    DigitsOnly = "digits-only-pattern" Warning,
    /// A rule that matches examples of nearly every class.
    OverBroad = "over-broad-rule" Warning,
    /// A rule that an earlier one always keeps from its turn.
    Shadowed = "shadowed-rule" Warning,
    /// A rule whose example means something else when the provider is not known.
    Contradicted = "contradicted-rule" Warning,
    /// A veto that never fires.
    DeadVeto = "dead-veto" Warning,
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_kebab_case() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let kebab = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(names.iter().all(|name| kebab(name)), "{names:?}");
    }
}
