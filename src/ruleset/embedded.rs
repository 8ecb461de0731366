//! The embedded rules, compiled once a process.

use std::sync::{Arc, LazyLock};

use super::Ruleset;

static EMBEDDED: LazyLock<Arc<Ruleset>> = LazyLock::new(|| {
    // The tests have run the examples; at every start of a program that would be lost time.
    let built = Ruleset::builder().without_examples().build();
    #[expect(clippy::expect_used, reason = "the texts are constants of this crate, and a test builds them")]
    Arc::new(built.expect("the embedded rules compile"))
});

pub(super) fn ruleset() -> Arc<Ruleset> {
    Arc::clone(&EMBEDDED)
}
