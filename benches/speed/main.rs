//! How fast failures are evaluated and rules are loaded, and what the machine allows.
//!
//! `cargo bench --bench speed -- typical` runs what has "typical" in its name. `fastest` is what the code costs; on a machine that is busy, the others tell of its neighbours.

#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark stops at the first surprise and prints its figures")]

mod compile;
mod corpus;
mod evaluate;
mod first;
mod inputs;
mod limits;
mod rulesets;

fn main() {
    // A listing or a filtered run is about something else.
    if std::env::args().len() <= 2 {
        first::print();
    }
    divan::main();
}
