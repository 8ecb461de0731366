//! `when`: comparisons between captures, numbers and what the caller knows, such as `requested > limit` or `estimate >= 0.8 * window`.

use std::fmt;

/// A comparison of two operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// What stands left of the operator.
    pub left: Operand,
    /// How the two are compared.
    pub operator: Operator,
    /// What stands right of it.
    pub right: Operand,
}

/// A number, or a quantity times a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operand {
    /// The factor, or the number itself when there is no quantity.
    pub factor: f64,
    /// What is multiplied.
    pub quantity: Option<Quantity>,
}

/// What a comparison can ask for. A quantity that is not known makes its comparison false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The captured limit.
    Limit,
    /// The captured request, parts added.
    Requested,
    /// The captured excess.
    Excess,
    /// The captured output cap.
    OutputLimit,
    /// The caller's own estimate of the request.
    Estimate,
    /// What the call itself says that it took of the window: input, and cached tokens where they come on top of it.
    Used,
    /// What the call itself says that it wrote.
    Output,
    /// The context window, as the caller or the rule files give it.
    Window,
    /// The HTTP status.
    Status,
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Comparison {
    /// Reads a comparison; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        // Two-character operators first: `<` is also the beginning of `<=`.
        let found = Operator::ALL.iter().filter_map(|(symbol, operator)| Some((text.find(symbol)?, *symbol, *operator)));
        let Some((at, symbol, operator)) = found.min_by_key(|(at, symbol, _)| (*at, usize::MAX - symbol.len())) else {
            return Err("it has no operator".to_owned());
        };
        let left = Operand::parse(&text[..at])?;
        let right = Operand::parse(&text[at + symbol.len()..])?;
        if left.quantity.is_none() && right.quantity.is_none() {
            return Err("it compares two numbers".to_owned());
        }
        Ok(Self { left, operator, right })
    }

    /// Whether it holds, given how to look quantities up.
    pub(crate) fn holds(&self, lookup: impl Fn(Quantity) -> Option<f64>) -> bool {
        let value = |operand: Operand| match operand.quantity {
            Some(quantity) => lookup(quantity).map(|value| value * operand.factor),
            None => Some(operand.factor),
        };
        let (Some(left), Some(right)) = (value(self.left), value(self.right)) else {
            return false;
        };
        match self.operator {
            Operator::Less => left < right,
            Operator::LessOrEqual => left <= right,
            Operator::Greater => left > right,
            Operator::GreaterOrEqual => left >= right,
            Operator::Equal => (left - right).abs() < f64::EPSILON,
            Operator::NotEqual => (left - right).abs() >= f64::EPSILON,
        }
    }

    pub(crate) fn quantities(&self) -> impl Iterator<Item = Quantity> {
        [self.left.quantity, self.right.quantity].into_iter().flatten()
    }
}

impl Operand {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("one side is empty".to_owned());
        }
        let number = |text: &str| text.trim().replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
        if let Some(factor) = number(text) {
            return Ok(Self { factor, quantity: None });
        }
        let quantity = |text: &str| Quantity::from_name(text.trim());
        if let Some((left, right)) = text.split_once('*') {
            let product = number(left).zip(quantity(right)).or_else(|| number(right).zip(quantity(left)));
            return match product {
                Some((factor, quantity)) => Ok(Self { factor, quantity: Some(quantity) }),
                None => Err(format!("`{text}` is no number times a name")),
            };
        }
        match quantity(text) {
            Some(quantity) => Ok(Self { factor: 1.0, quantity: Some(quantity) }),
            None => Err(format!("`{text}` is neither a number nor a known name")),
        }
    }
}

impl Quantity {
    /// Every quantity with its name.
    pub(crate) const NAMES: [(&'static str, Quantity); 9] = [
        ("limit", Self::Limit),
        ("requested", Self::Requested),
        ("excess", Self::Excess),
        ("output_limit", Self::OutputLimit),
        ("estimate", Self::Estimate),
        ("used", Self::Used),
        ("output", Self::Output),
        ("window", Self::Window),
        ("status", Self::Status),
    ];

    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, quantity)| *quantity)
    }

    /// The name as rule files write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, quantity)| *quantity == self).map_or("", |(name, _)| name)
    }
}

impl Operator {
    const ALL: [(&'static str, Operator); 6] =
        [("<=", Self::LessOrEqual), (">=", Self::GreaterOrEqual), ("==", Self::Equal), ("!=", Self::NotEqual), ("<", Self::Less), (">", Self::Greater)];

    /// The operator as rule files write it.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        Self::ALL.iter().find(|(_, operator)| *operator == self).map_or("", |(symbol, _)| symbol)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.left, self.operator.symbol(), self.right)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quantity {
            None => write!(f, "{}", self.factor),
            Some(quantity) if (self.factor - 1.0).abs() < f64::EPSILON => f.write_str(quantity.name()),
            Some(quantity) => write!(f, "{} * {}", self.factor, quantity.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_read_and_printed_back() {
        for text in ["requested > limit", "estimate >= 0.8 * window", "limit <= 100000", "status != 429", "requested == limit", "0.5 * window < estimate"] {
            assert_eq!(Comparison::parse(text).map(|c| c.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Comparison::parse("window*0.8<=estimate").map(|c| c.to_string()), Ok("0.8 * window <= estimate".to_owned()));
    }

    #[test]
    fn what_is_no_comparison_is_refused() {
        for text in ["", "requested", "requested >", "> limit", "foo > limit", "1 > 2", "requested > limit > excess", "requested = limit", "2 * 3 * limit > 1"] {
            assert!(Comparison::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_quantity_makes_it_false() {
        let known = |quantity| (quantity == Quantity::Limit).then_some(10.0);
        let cases = [("limit > 9", true), ("limit > 10", false), ("limit >= 10", true), ("0.5 * limit == 5", true), ("requested != limit", false)];
        for (text, holds) in cases {
            assert_eq!(Comparison::parse(text).map(|c| c.holds(known)), Ok(holds), "{text}");
        }
    }
}
