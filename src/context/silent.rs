//! Overflows that raise no error: the call succeeds, but the model saw less than was sent, or had no room to answer.

use std::fmt;

use crate::usage::Finish;

/// How a call overflowed although it succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SilentOverflow {
    /// The provider counts more input than the window holds, and answers all the same.
    InputAboveWindow,
    /// The output ended for its length before it began, in a window that is full.
    NoRoomForOutput,
    /// The finish reason, or the server's own flag, says that the window was exceeded.
    WindowExceeded,
    /// The provider's count stopped growing though the conversation did: the head of the prompt is cut off.
    PromptNotGrowing,
}

impl SilentOverflow {
    /// The stable name, in kebab-case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InputAboveWindow => "input-above-window",
            Self::NoRoomForOutput => "no-room-for-output",
            Self::WindowExceeded => "window-exceeded",
            Self::PromptNotGrowing => "prompt-not-growing",
        }
    }
}

impl fmt::Display for SilentOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a reply by itself shows, the surest sign first.
pub(super) fn of_reply(used: u64, output: u64, window: Option<u64>, finish: Finish) -> Option<SilentOverflow> {
    // A prompt that leaves less than a hundredth of the window has filled it: templates and rounding take the rest.
    let is_full = |window: u64| used >= window - window / 100;
    match (finish, window) {
        (Finish::Overflow, _) => Some(SilentOverflow::WindowExceeded),
        (_, Some(window)) if used > window => Some(SilentOverflow::InputAboveWindow),
        (Finish::Length, Some(window)) if output == 0 && is_full(window) => Some(SilentOverflow::NoRoomForOutput),
        _ => None,
    }
}

/// Watches the prompt counts of one conversation for the signature of silent truncation.
///
/// A server that cuts the head of a prompt off reports what is left, so a count above the window never comes; what shows is that the count stands still, or falls, while the conversation grows.
/// One still count proves little (thinking that is not sent back can outweigh a short message), so two in a row are asked for, or a fall by two fifths at once. What it costs to compact for
/// nothing is bounded by the [`Governor`](crate::Governor).
///
/// ```
/// use overspill::{PromptGrowth, SilentOverflow};
///
/// let mut growth = PromptGrowth::default();
/// assert_eq!(growth.observe(3_900, 15_000), None);
/// assert_eq!(growth.observe(4_096, 18_000), None);
/// // The conversation is longer, the count is half of it: the server kept 2,050 of 4,096.
/// assert_eq!(growth.observe(2_050, 21_000), Some(SilentOverflow::PromptNotGrowing));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PromptGrowth {
    /// The largest count since the conversation was last made shorter, and what had been sent then.
    counted: u64,
    sent: u64,
    still: u32,
}

impl PromptGrowth {
    /// Takes the provider's count of a prompt, and its size as the caller knows it, in any unit that stays the same: bytes, characters, own tokens.
    ///
    /// A conversation that was not made longer starts afresh, so compaction needs no call of its own. A count of 0 is that of a reply which told none, and shows nothing.
    pub fn observe(&mut self, counted: u64, sent: u64) -> Option<SilentOverflow> {
        if counted == 0 && sent > self.sent {
            return None;
        }
        let grew = self.counted > 0 && sent > self.sent;
        if !grew {
            *self = Self { counted, sent, still: 0 };
            return None;
        }
        self.sent = sent;
        if counted > self.counted {
            self.counted = counted;
            self.still = 0;
            return None;
        }
        self.still = self.still.saturating_add(1);
        let fell = counted < self.counted - self.counted / 5 * 2;
        (fell || self.still >= 2).then_some(SilentOverflow::PromptNotGrowing)
    }
}

#[cfg(test)]
mod tests {
    use super::{PromptGrowth, SilentOverflow, of_reply};
    use crate::usage::Finish;

    #[test]
    fn single_replies() {
        use SilentOverflow::{InputAboveWindow, NoRoomForOutput, WindowExceeded};
        let cases = [
            (200_001, 5, Some(200_000), Finish::Other, Some(InputAboveWindow)),
            (200_000, 5, Some(200_000), Finish::Other, None),
            (198_000, 0, Some(200_000), Finish::Length, Some(NoRoomForOutput)),
            (197_999, 0, Some(200_000), Finish::Length, None),
            (199_000, 1, Some(200_000), Finish::Length, None),
            (199_000, 0, Some(200_000), Finish::Other, None),
            (199_000, 0, None, Finish::Length, None),
            (10, 10, None, Finish::Overflow, Some(WindowExceeded)),
            (u64::MAX, 0, Some(u64::MAX), Finish::Length, Some(NoRoomForOutput)),
            (u64::MAX, 0, None, Finish::Other, None),
        ];
        for (used, output, window, finish, expected) in cases {
            assert_eq!(of_reply(used, output, window, finish), expected, "{used} {output} {window:?} {finish:?}");
        }
    }

    #[test]
    fn growth() {
        let run = |calls: &[(u64, u64)]| {
            let mut growth = PromptGrowth::default();
            calls.iter().map(|&(counted, sent)| growth.observe(counted, sent).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(run(&[(1000, 4000), (2000, 8000), (3000, 12_000)]), [false, false, false]);
        assert_eq!(run(&[(4096, 16_000), (4096, 18_000), (4096, 20_000), (4096, 22_000)]), [false, false, true, true]);
        assert_eq!(run(&[(4000, 16_000), (3900, 16_100), (4200, 17_000)]), [false, false, false], "thinking was not sent back");
        assert_eq!(run(&[(4096, 16_000), (900, 3000), (1200, 5000)]), [false, false, false], "compacted in between");
        assert_eq!(run(&[(0, 0), (0, 10), (0, 20)]), [false, false, false], "no usage told");
        assert_eq!(run(&[(4096, 16_000), (2050, 18_000), (2600, 20_000)]), [false, true, true]);
        assert_eq!(run(&[(u64::MAX, 1), (u64::MAX, 2), (1, u64::MAX)]), [false, false, true]);
        assert_eq!(run(&[(4000, 16_000), (0, 17_000), (0, 18_000), (4400, 19_000)]), [false, false, false, false], "replies without usage");
        assert_eq!(run(&[(4096, 16_000), (0, 17_000), (4096, 18_000), (4096, 20_000)]), [false, false, false, true], "they hide nothing");
        assert_eq!(run(&[(4096, 16_000), (0, 3000), (900, 5000)]), [false, false, false], "compacted, and no usage told");
    }
}
