//! Which keys of a structured body mean what.

/// What the value under a key tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A sentence for humans.
    Message,
    /// A machine-readable type or code.
    Code,
    /// An HTTP status.
    Status,
    /// Why a generation ended.
    FinishReason,
    /// A scalar that a rule reads by name.
    Field,
}

/// The roles of one key: none, one or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles(u16);

impl Roles {
    /// No role at all.
    pub(super) const NONE: Self = Self(0);
    /// What the caller sent comes back under this key: nothing below it is evidence.
    pub(super) const ECHO: Self = Self(1 << 8);
    /// The model's output is under this key: a string in it is no upstream error.
    pub(super) const REPLY: Self = Self(1 << 9);
    /// Never a message, not even when nothing better is found.
    pub(super) const QUIET: Self = Self(1 << 10);

    /// Roles that a rule file can give.
    const GIVEN: u16 = 0xff;

    /// Whether the key has this role.
    pub(super) fn has(self, role: Role) -> bool {
        self.0 & bit(role) != 0
    }

    /// Whether any mark of `other` is set here.
    pub(super) fn marked(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the key has a role that a rule file gave it.
    pub(super) fn given(self) -> bool {
        self.0 & Self::GIVEN != 0
    }

    /// The marks that hold for everything below a key too.
    pub(super) fn inherited(self) -> Self {
        Self(self.0 & !Self::GIVEN)
    }

    /// Both sets together.
    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Keys that hold the caller's own words, whatever the provider.
const ECHOES: [&str; 30] = [
    "arguments",
    "config",
    "contents",
    "failed_generation",
    "function_call",
    "function_declarations",
    "function_response",
    "functions",
    "generation_config",
    "input",
    "input_value",
    "inputs",
    "instances",
    "instructions",
    "json_schema",
    "messages",
    "original_request",
    "parameters",
    "prompt",
    "prompts",
    "query",
    "request",
    "request_body",
    "request_options",
    "response_format",
    "schema",
    "system",
    "system_instruction",
    "tool_choice",
    "tools",
];

/// Keys that hold the model's output.
const REPLIES: [&str; 5] = ["choices", "candidates", "output", "delta", "content_block"];

/// Keys whose strings say nothing about a failure.
const QUIETS: [&str; 20] = [
    "content",
    "text",
    "data",
    "image",
    "image_url",
    "url",
    "id",
    "user_id",
    "user",
    "request_id",
    "req_id",
    "rid",
    "trace",
    "trace_id",
    "model",
    "model_version",
    "response_id",
    "object",
    "create_time",
    "provider_name",
];

/// Longest canonical key that can have a role.
const KEY: usize = 32;

/// A key without case and separators, padded with zeros, in words because those compare fast.
type Canonical = [u64; KEY / 8];

/// The keys that have roles: a hash table with open addressing, built once and read often.
#[derive(Clone, Debug)]
pub(crate) struct Vocabulary {
    /// A power of two of slots, at most half of them in use, so that every search ends.
    slots: Vec<(Canonical, Roles)>,
    /// How many slots are in use.
    used: usize,
}

impl Vocabulary {
    /// A vocabulary that knows only what is never evidence.
    pub(crate) fn new() -> Self {
        let mut vocabulary = Self { slots: vec![(EMPTY, Roles::NONE); 128], used: 0 };
        for key in ECHOES {
            vocabulary.insert(key, Roles::ECHO.with(Roles::QUIET));
        }
        for key in REPLIES {
            vocabulary.insert(key, Roles::REPLY);
        }
        for key in QUIETS {
            vocabulary.insert(key, Roles::QUIET);
        }
        vocabulary
    }

    /// Gives a key a role, next to those that it has.
    pub(crate) fn add(&mut self, key: &str, role: Role) {
        self.insert(key, Roles(bit(role)));
    }

    /// The roles of a key as it is written in a body.
    pub(super) fn role(&self, key: &str) -> Roles {
        let Some(canonical) = canonical(key) else { return Roles::NONE };
        self.slots.get(self.find(&canonical)).map_or(Roles::NONE, |slot| slot.1)
    }

    /// Adds marks to a key.
    fn insert(&mut self, key: &str, roles: Roles) {
        let Some(canonical) = canonical(key) else { return };
        if self.used * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.find(&canonical);
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.0 == EMPTY {
            self.used += 1;
        }
        let mut roles = slot.1.with(roles);
        if roles.given() {
            // A rule file that asks for a key knows better than the built-in caution.
            roles.0 &= !Roles::ECHO.0;
        }
        *slot = (canonical, roles);
    }

    /// Where a key is, or the empty slot where it would be.
    fn find(&self, key: &Canonical) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash(key) & mask;
        while let Some((found, _)) = self.slots.get(at)
            && found != key
            && *found != EMPTY
        {
            at = (at + 1) & mask;
        }
        at
    }

    /// Doubles the table.
    fn grow(&mut self) {
        let doubled = vec![(EMPTY, Roles::NONE); self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, doubled);
        for (key, roles) in old.into_iter().filter(|slot| slot.0 != EMPTY) {
            let at = self.find(&key);
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = (key, roles);
            }
        }
    }
}

/// A slot without a key.
const EMPTY: Canonical = [0; KEY / 8];

/// The bit of a role.
fn bit(role: Role) -> u16 {
    1 << role as u16
}

/// ASCII lower case without separators, so that `errorMessage`, `error_message` and
/// `Error-Message` are one key. `None`: too long or empty, so no role.
fn canonical(key: &str) -> Option<Canonical> {
    let mut bytes = [0; KEY];
    let mut length = 0;
    for &byte in key.as_bytes() {
        // Without a branch: a separator is overwritten by what comes next.
        let separator = matches!(byte, b'_' | b'-' | b' ');
        if length == KEY {
            if separator {
                continue;
            }
            return None;
        }
        *bytes.get_mut(length)? = if separator { 0 } else { byte.to_ascii_lowercase() };
        length += usize::from(!separator);
    }
    let mut canonical = EMPTY;
    for (word, bytes) in canonical.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    (canonical != EMPTY).then_some(canonical)
}

/// Mixes the words of a key, each on its own so that they need not wait for one another.
fn hash(key: &Canonical) -> usize {
    const FACTORS: Canonical = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x27d4_eb2f_1656_67c5];
    let products = key.iter().zip(FACTORS).map(|(word, factor)| word.wrapping_mul(factor));
    let mixed = products.fold(0, |mixed, product| mixed ^ product);
    usize::try_from(mixed >> 40).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_key_in_many_spellings() {
        let mut vocabulary = Vocabulary::new();
        vocabulary.add("error_message", Role::Message);
        vocabulary.add("ErrorMessage", Role::Code);
        for key in ["error_message", "errorMessage", "ErrorMessage", "Error-Message", "error message"] {
            let roles = vocabulary.role(key);
            assert!(roles.has(Role::Message) && roles.has(Role::Code), "{key}");
            assert!(!roles.has(Role::Field), "{key}");
        }
        for key in ["", "_", "error", "errormessages", &"x".repeat(33), &"é".repeat(20)] {
            assert_eq!(vocabulary.role(key), Roles::NONE, "{key}");
        }
    }

    #[test]
    fn grows() {
        let mut vocabulary = Vocabulary::new();
        for number in 0..1000 {
            vocabulary.add(&format!("key{number}"), Role::Field);
        }
        for number in 0..1000 {
            assert!(vocabulary.role(&format!("KEY_{number}")).has(Role::Field));
        }
        assert_eq!(vocabulary.role("key1000"), Roles::NONE);
    }

    #[test]
    fn a_given_role_lifts_the_echo() {
        let mut vocabulary = Vocabulary::new();
        assert!(vocabulary.role("messages").marked(Roles::ECHO));
        vocabulary.add("messages", Role::Message);
        assert!(!vocabulary.role("messages").marked(Roles::ECHO));
    }
}
