//! The embedded rules, compiled once a process.

use std::sync::{Arc, LazyLock};

use super::Ruleset;

static EMBEDDED: LazyLock<Arc<Ruleset>> = LazyLock::new(|| {
    let built = Ruleset::builder().build();
    #[expect(clippy::expect_used, reason = "the texts are constants of this crate, and a test builds them")]
    Arc::new(built.expect("the embedded rules compile"))
});

pub(super) fn ruleset() -> Arc<Ruleset> {
    Arc::clone(&EMBEDDED)
}
