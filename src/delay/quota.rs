//! The state of quotas in one header, as the IETF drafts of `RateLimit` write it.

use std::time::Duration;

use super::duration::{self, SECOND};
use super::scan::Decimal;

/// The longest time until a quota that is used up is full again: `limit=10, remaining=0, reset=5` (drafts 07
/// and 08), `"minute";r=0;t=5, "day";r=700;t=3600` (from draft 09 on).
///
/// A quota that has something left is no reason to wait. Zero is none either: it is what an unset field says.
pub(super) fn read(value: &str) -> Option<Duration> {
    const MAX_QUOTAS: usize = 16;
    if value.contains(';') { value.split(',').take(MAX_QUOTAS).filter_map(quota).max() } else { quota(value) }
}

fn quota(item: &str) -> Option<Duration> {
    const MAX_PARAMETERS: usize = 16;
    let mut reset = None;
    for parameter in item.split([';', ',']).take(MAX_PARAMETERS) {
        let Some((key, value)) = parameter.split_once('=') else { continue };
        let nanos = || Decimal::whole(value.trim()).and_then(|number| number.times(SECOND));
        match key.trim() {
            "r" | "remaining" if nanos() != Some(0) => return None,
            "t" | "reset" => reset = nanos(),
            _ => {}
        }
    }
    reset.and_then(duration::bounded).filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_quota_that_is_used_up() {
        #[rustfmt::skip]
        let table = [
            (r#""default";r=0;t=5"#, Some(5)),
            (r#""minute"; r=0; t=5, "hour"; r=0; t=90, "day"; r=7; t=3600"#, Some(90)),
            ("limit=10, remaining=0, reset=5", Some(5)),
            ("limit=10,remaining=0,reset=5", Some(5)),
            (r#""default";t=5"#, Some(5)),
            // Something is left.
            (r#""default";r=3;t=5"#, None),
            ("limit=10, remaining=3, reset=5", None),
            // Nothing that says when.
            (r#""default";r=0"#, None),
            (r#""default";r=0;t=0"#, None),
            (r#""default";r=0;t=soon"#, None),
            (r#""default";r=0;t=-5"#, None),
            (r#""default";r=0;t=99999999999"#, None),
            (r#""default";q=100;w=60"#, None),
            ("10", None),
            ("", None),
            (";,=;", None),
        ];
        for (value, seconds) in table {
            assert_eq!(read(value), seconds.map(Duration::from_secs), "{value}");
        }
    }
}
